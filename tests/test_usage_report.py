"""The Markdown of `/usage` (reference 10.10): every part of it as a golden text, and answers that are otherwise."""

from __future__ import annotations

import copy
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from middleware.usage_report import bar, compact, duration, usage_report

GOLDEN = Path(__file__).parent / "golden" / "usage"

MODEL = {
    "inputTokens": 1_234,
    "outputTokens": 999_960,
    "cacheReadInputTokens": 37_000_000,
    "cacheCreationInputTokens": 12,
    "costUSD": 1.0,
}
PERIOD = {
    "request_count": 34,
    "session_count": 3,
    "behaviors": [],
    "recommendations": [
        {"key": "cache_miss", "pct": 40, "title": "Go on with a session sooner", "detail": "12 *misses*"},
        {"key": "mcp_server", "pct": 12.5, "title": "Turn off a server"},
    ],
    "agents": [],
    "mcp_servers": [
        {"name": "small", "pct": 0.5},
        {"name": "a|b", "pct": 13},
        {"name": "most", "pct": 60},
        {"name": "fourth", "pct": 0},
    ],
}
FULL: dict[str, Any] = {
    "session": {
        "total_cost_usd": 1.234,
        "total_api_duration_ms": 95_400,
        "total_duration_ms": 3_600_000,
        "total_lines_added": 0,
        "total_lines_removed": 0,
        "model_usage": {"opus": MODEL, "haiku": MODEL},
    },
    "subscription_type": "max",
    "rate_limits_available": True,
    "rate_limits": {
        "five_hour": {"utilization": 3, "resets_at": "2026-10-07T20:00:00Z"},
        "seven_day": {"utilization": 0, "resets_at": None},
        "seven_day_oauth_apps": None,
        "seven_day_opus": {"utilization": 99, "resets_at": None},
        "model_scoped": [
            {"display_name": "Fable", "utilization": 42.5, "resets_at": "soon"},
            {"display_name": "Unused", "utilization": None, "resets_at": None},
        ],
        "extra_usage": {
            "is_enabled": True,
            "monthly_limit": 5_000,
            "used_credits": 250,
            "utilization": 5,
            "currency": "USD",
        },
    },
    "behaviors": {
        "day": PERIOD,
        "week": {"request_count": 43, "session_count": 5, "behaviors": [], "mcp_servers": []},
    },
}
API_KEY: dict[str, Any] = {
    "session": {
        "total_cost_usd": 0.00044,
        "total_api_duration_ms": 73,
        "total_duration_ms": 955,
        "model_usage": {"opus": {**MODEL, "inputTokens": 100, "outputTokens": 2, "cacheReadInputTokens": 0}},
    },
    "subscription_type": None,
    "rate_limits_available": False,
    "rate_limits": None,
    "behaviors": None,
}
"""As Claude Code 2.1.332 answers with an API key."""


@pytest.mark.parametrize(("name", "answer"), [("subscription", FULL), ("api_key", API_KEY)])
def test_golden(name: str, answer: dict[str, Any]) -> None:
    """The whole text, with every part and with none but the session's."""
    report = usage_report(answer, UTC)
    assert f"{report}\n" == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


def test_models_without_a_list() -> None:
    """Where no list of models is given, the two that were known before there was one are told."""
    answer = copy.deepcopy(FULL)
    answer["rate_limits"]["model_scoped"] = []
    answer["rate_limits"]["seven_day_sonnet"] = {"utilization": 7, "resets_at": None}
    report = str(usage_report(answer, UTC))
    assert "**Weekly · Opus** — **99%**" in report
    assert "**Weekly · Sonnet** — **7%**" in report
    assert "Weekly · Opus" not in str(usage_report(FULL, UTC))


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        (UTC, "Oct 7, 8:00 PM UTC"),
        (timezone(timedelta(hours=5, minutes=30)), "Oct 8, 1:30 AM GMT+5:30"),
        (timezone(timedelta(hours=-8)), "Oct 7, 12:00 PM GMT-8"),
        (timezone(timedelta(hours=2), "W. Europe Daylight Time"), "Oct 7, 10:00 PM GMT+2"),
        (timezone(timedelta(hours=2), "CEST"), "Oct 7, 10:00 PM CEST"),
    ],
)
def test_when_a_limit_resets(zone: timezone, told: str) -> None:
    """In the person's time zone, by its short name where it has one."""
    assert f"Resets {told}\n" in str(usage_report(FULL, zone))


@pytest.mark.parametrize(
    ("percent", "cells"), [(0, 0), (0.1, 1), (2, 1), (7.4, 1), (7.5, 2), (50, 10), (99, 20), (100, 20)]
)
def test_bar(percent: float, cells: int) -> None:
    """20 cells, rounded, and one at least for what is more than nothing."""
    assert bar(percent) == "█" * cells + "░" * (20 - cells)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1K"),
        (1_234, "1.2K"),
        (999_949, "999.9K"),
        (999_960, "1M"),
        (37_000_000, "37M"),
        (2_500_000_000, "2.5B"),
        (1_000_000_000_000, "1T"),
        (5_000_000_000_000_000, "5000T"),
    ],
)
def test_compact(count: int, text: str) -> None:
    """Thousands, millions, ... with one decimal where it is not zero."""
    assert compact(count) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0s"), (499, "0s"), (500, "1s"), (59_499, "59s"), (60_000, "1m"), (95_000, "1m 35s")]
)
def test_duration(milliseconds: int, text: str) -> None:
    """Seconds, or minutes and seconds."""
    assert duration(milliseconds) == text


def _broken(*path: str | int, value: Any) -> dict[str, Any]:
    answer = copy.deepcopy(FULL)
    inner: Any = answer
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        [],
        {},
        _broken("session", value=None),
        _broken("session", "total_cost_usd", value="1"),
        _broken("session", "total_cost_usd", value=float("nan")),
        _broken("session", "total_duration_ms", value=-1),
        _broken("session", "total_api_duration_ms", value=True),
        _broken("session", "model_usage", value=[]),
        _broken("session", "model_usage", "opus", "inputTokens", value=None),
        _broken("subscription_type", value=7),
        _broken("rate_limits", value="none"),
        _broken("rate_limits", "five_hour", "utilization", value=101),
        _broken("rate_limits", "model_scoped", value={}),
        _broken("rate_limits", "model_scoped", 0, "display_name", value=None),
        _broken("behaviors", value={}),
        _broken("behaviors", "day", "request_count", value=None),
        _broken("behaviors", "day", "mcp_servers", 0, "pct", value="x"),
        _broken("behaviors", "day", "recommendations", 0, "title", value=None),
    ],
)
def test_not_readable(answer: object) -> None:
    """An answer of another shape gives no text, rather than a wrong one."""
    assert usage_report(answer, UTC) is None


def test_what_does_not_apply() -> None:
    """Limits that do not apply are not shown, whatever stands there."""
    answer = {**FULL, "rate_limits_available": False}
    assert "### Limits" not in str(usage_report(answer, UTC))
