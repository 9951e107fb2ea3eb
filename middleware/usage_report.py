"""What `/usage` says, in Markdown: how much of the plan's limits is used, and what this session cost (reference 10.10).

Pure: Claude Code's answer to `get_usage` in, the text out. The answer is marked as experimental by Claude Code, so what
it must have is checked here, and one that is otherwise gives no text at all: then Claude Code's own stands. When it is
asked, and what becomes of its text, is the `UsageCommand` stage's business.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Any, NoReturn

import attrs

from middleware.mcp.markdown import escaped

CELLS = 20
"""How wide a bar is."""

_SERVERS = 3
"""Of how many MCP servers the share is told, the largest first."""

_WINDOWS = (
    ("five_hour", "5-hour limit"),
    ("seven_day", "Weekly · all models"),
    ("seven_day_oauth_apps", "Weekly · OAuth apps"),
)
_BY_MODEL = (("seven_day_opus", "Weekly · Opus"), ("seven_day_sonnet", "Weekly · Sonnet"))
"""The limits as Claude Code names them, and as the person reads them. The last are for an answer without a list."""

_TOKENS = (
    ("Input", "inputTokens"),
    ("Output", "outputTokens"),
    ("Cache read", "cacheReadInputTokens"),
    ("Cache write", "cacheCreationInputTokens"),
)

_PERIODS = (("Last 24h", "day"), ("Last 7d", "week"))

Answer = Mapping[str, Any]


class _Unreadable(Exception):
    """The answer is not of the shape that is known here."""


@attrs.frozen
class _Limit:
    label: str
    percent: float
    resets: str | None


def usage_report(answer: object, zone: tzinfo | None = None) -> str | None:
    """The text for an answer to `get_usage`; None for one that cannot be read.

    Args:
        answer: Claude Code's answer.
        zone: the time zone in which times are told; None for the machine's.
    """
    try:
        return "\n".join(_lines(_object(answer), zone))
    except _Unreadable:
        return None


def bar(percent: float) -> str:
    """A percentage as a bar; what is more than nothing has one cell at least."""
    filled = math.floor(min(max(percent, 0), 100) / 100 * CELLS + 0.5)
    filled = max(filled, 1) if percent > 0 else 0
    return "█" * filled + "░" * (CELLS - filled)


def compact(count: float) -> str:
    """A number in three or four characters: 950, 1.2K, 37M."""
    units = ["T", "B", "M", "K", ""]
    while len(units) > 1 and round(count, 1) >= 1000:
        count /= 1000
        units.pop()
    return f"{count:.1f}".removesuffix(".0") + units[-1]


def duration(milliseconds: float) -> str:
    """`12s`, or `3m 5s`; no hours, as in the reference."""
    minutes, seconds = divmod(math.floor(milliseconds / 1000 + 0.5), 60)
    if not minutes:
        return f"{seconds}s"
    return f"{minutes}m {seconds}s" if seconds else f"{minutes}m"


def _lines(answer: Answer, zone: tzinfo | None) -> Iterator[str]:
    yield "## Usage"
    subscription = _text_or_none(answer, "subscription_type")
    if subscription:
        yield from ("", f"> Claude {escaped(subscription)} subscription usage")
    limits = list(_limits(answer))
    if limits:
        yield from ("", "### Limits")
    for limit in limits:
        heading = f"**{escaped(limit.label)}** — **{limit.percent:g}%**{_resets(limit.resets, zone)}"
        yield from ("", heading, "", f"`{bar(limit.percent)}`")
    yield from _session(_object(answer.get("session")))
    behaviors = answer.get("behaviors")
    if behaviors is not None:
        yield from ("", "---", "", "### What’s using your limits?", "")  # noqa: RUF001  # the reference's text
        yield "> Approximate, overlapping measures · this machine only · excludes claude.ai"
        for label, key in _PERIODS:
            yield from _period(label, _object(_object(behaviors).get(key)))


def _session(session: Answer) -> Iterator[str]:
    models = [_object(figures) for figures in _object(session.get("model_usage")).values()]
    cost = _count(session, "total_cost_usd")
    times = (_count(session, key) for key in ("total_api_duration_ms", "total_duration_ms"))
    yield from ("", "---", "", "### This session", "", "| Cost | API time | Active |", "|:--|:--|:--|")
    yield f"| ${cost:.2f} | {' | '.join(duration(time) for time in times)} |"
    yield from ("", "| Breakdown | Tokens |", "|:--|--:|")
    for label, key in _TOKENS:
        yield f"| {label} | {compact(sum(_count(figures, key) for figures in models))} |"


def _limits(answer: Answer) -> Iterator[_Limit]:
    """The limits that apply, in the order in which they are shown."""
    known = answer.get("rate_limits")
    if answer.get("rate_limits_available") is not True or known is None:
        return
    limits = _object(known)
    windows = [(label, limits.get(key)) for key, label in _WINDOWS]
    by_model = [_object(model) for model in _list(limits, "model_scoped")]
    windows += [(f"Weekly · {_text(model, 'display_name')}", model) for model in by_model]
    if not by_model:
        windows += [(label, limits.get(key)) for key, label in _BY_MODEL]
    for label, window in windows:
        if window is not None and _object(window).get("utilization") is not None:
            yield _Limit(label, _percent(window, "utilization"), _text_or_none(window, "resets_at"))
    extra = _object(limits.get("extra_usage") or {})
    if extra.get("is_enabled") is True and extra.get("utilization") is not None:
        yield _Limit(f"Extra usage{_amount(extra)}", _percent(extra, "utilization"), None)


def _amount(extra: Answer) -> str:
    if extra.get("used_credits") is None or extra.get("monthly_limit") is None:
        return ""
    currency = _text_or_none(extra, "currency")
    used, most = (compact(_count(extra, key)) for key in ("used_credits", "monthly_limit"))
    return f" · {used} / {most}" + (f" {currency}" if currency else "")


def _period(label: str, period: Answer) -> Iterator[str]:
    requests, sessions = (_count(period, key) for key in ("request_count", "session_count"))
    yield from ("", f"**{label}** · {requests:g} requests · {sessions:g} sessions")
    advice = [_object(item) for item in _list(period, "recommendations")]
    if advice:
        yield ""
    for item in advice:
        detail = _text_or_none(item, "detail")
        more = f" · {escaped(detail)}" if detail else ""
        yield f"- **{_percent(item, 'pct'):g}%** {escaped(_text(item, 'title'))}{more}"
    listed = [_object(server) for server in _list(period, "mcp_servers")]
    servers = [(_percent(server, "pct"), _text(server, "name")) for server in listed]
    if servers:
        yield from ("", "| MCP server | Usage |", "|:--|--:|")
    for percent, name in sorted(servers, key=lambda server: -server[0])[:_SERVERS]:
        yield f"| {escaped(name)} | `{bar(percent)}` {percent:g}% |"


def _resets(time: str | None, zone: tzinfo | None) -> str:
    if not time:
        return ""
    try:
        moment = datetime.fromisoformat(time).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return f" · Resets {escaped(time)}"
    hour = f"{moment.hour % 12 or 12}:{moment:%M} {'AM' if moment.hour < 12 else 'PM'}"
    return f" · Resets {moment:%b} {moment.day}, {hour} {_zone(moment)}"


def _zone(moment: datetime) -> str:
    """The short name of its time zone. Windows knows only long ones, and some zones have none."""
    name = moment.tzname() or ""
    if name.isalpha() and len(name) <= 5:
        return name
    minutes = round((moment.utcoffset() or moment - moment).total_seconds() / 60)
    hours, minutes = divmod(abs(minutes), 60)
    sign = "-" if (moment.utcoffset() or moment - moment).total_seconds() < 0 else "+"
    return f"GMT{sign}{hours}" + (f":{minutes:02}" if minutes else "")


# ------------------------------------------------------------------------------------------ reading the answer


def _unreadable() -> NoReturn:
    raise _Unreadable


def _object(value: object) -> Answer:
    return value if isinstance(value, dict) else _unreadable()


def _list(source: Answer, key: str) -> list[Any]:
    """A list that may be missing."""
    value = source.get(key)
    if value is None:
        return []
    return value if isinstance(value, list) else _unreadable()


def _text(source: Answer, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else _unreadable()


def _text_or_none(source: Answer, key: str) -> str | None:
    return None if source.get(key) is None else _text(source, key)


def _count(source: Answer, key: str) -> float:
    value = source.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        _unreadable()
    return value


def _percent(source: Answer, key: str) -> float:
    value = _count(source, key)
    return value if value <= 100 else _unreadable()
