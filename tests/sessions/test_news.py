"""What Claude Code tells beside the turns, and how it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.echoes import Echoes
from acpbridge.sessions.news import News
from middleware.messages import (
    Compaction,
)

BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "uuid": "b",
    "compact_metadata": {"trigger": "auto", "pre_tokens": 900, "post_tokens": 7, "duration_ms": 50},
}


def _system(subtype: str, **members: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **members}


@pytest.mark.parametrize(
    "frame",
    [
        _system("informational"),
        _system("informational", content=7),
        _system("api_retry"),
        _system("api_retry", attempt="first"),
        _system("model_refusal_fallback", original_model="a"),
        _system("memory_recall", uuid="u", memories=[{"path": "/notes.md"}]),
        _system("status", status=None, permissionMode="plan"),
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
        {"type": "rate_limit_event"},
        {"type": "unheard_of"},
        {},
    ],
)
def test_frames_that_say_nothing(frame: dict[str, Any]) -> None:
    """A frame that lacks what it should have, and one that is no news, is nothing."""
    assert News("s").messages_of(frame) == ()


def test_a_limit_is_told_once() -> None:
    """The frame comes with every answer: it is told when it becomes another state, and again after it was well."""
    news = News("s")

    def told(status: str) -> int:
        info = {"status": status, "rateLimitType": "five_hour", "utilization": 0.9, "resetsAt": 1_800_000_000}
        return len(news.messages_of({"type": "rate_limit_event", "rate_limit_info": info}))

    states = ["allowed_warning", "allowed_warning", "rejected", "rejected", "allowed", "allowed_warning"]
    assert [told(state) for state in states] == [1, 0, 1, 0, 0, 1]


def test_compaction() -> None:
    """One begins and ends, with what is known of it."""
    news = News("s")
    [begun] = news.messages_of(_system("status", status="compacting", uuid="c"))
    assert begun == Compaction(session="s", state="in_progress", compaction="c")
    assert news.messages_of(BOUNDARY) == ()
    [done] = news.messages_of({"type": "result"})
    assert done == Compaction(
        session="s",
        state="completed",
        compaction="b",
        trigger="automatic",
        tokens_before=900,
        tokens=7,
        milliseconds=50,
    )


def test_compaction_has_its_summary() -> None:
    """The summary stands in the frame behind the end, as a string (a typed one) or as blocks (an automatic one)."""
    text = "<analysis>hm</analysis>\n<summary>what was</summary>"
    for content in (text, [{"type": "text", "text": text}]):
        news = News("s")
        news.messages_of(BOUNDARY)
        [done] = news.messages_of({"type": "user", "isSynthetic": True, "message": {"content": content}})
        assert isinstance(done, Compaction)
        assert done.summary == "what was"


def test_compaction_without_facts() -> None:
    """What an end does not say is not known; nothing is left of a conversation whose rest is not counted."""
    news = News("s")
    news.messages_of(_system("compact_boundary", compact_metadata={"pre_tokens": "many"}))
    [done] = news.messages_of({"type": "user", "message": {"content": "what a person says"}})
    assert done == Compaction(session="s", state="completed", trigger="manual", tokens=0)


def test_compaction_failed() -> None:
    """Why one failed; a success is told by its boundary only."""
    news = News("s")
    assert news.messages_of(_system("status", status=None, compact_result="success", uuid="e")) == ()
    [failed] = news.messages_of(_system("status", compact_result="failed", compact_error="too short", uuid="e"))
    assert failed == Compaction(session="s", state="failed", compaction="e", error="too short")


def test_echoes() -> None:
    """The text of a change that we made, and what a compaction repeats, is hidden; all else is not."""
    echoes = Echoes()
    output = {
        "type": "user",
        "isReplay": True,
        "message": {"content": "<local-command-stdout>Set model</local-command-stdout>"},
    }
    assert not echoes.hides(output)
    echoes.change_begins()
    assert echoes.hides(output)
    assert not echoes.hides({"type": "assistant", "message": {}})
    echoes.change_ends()
    assert not echoes.hides(output)
    kept = {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"preserved_messages": {"uuids": ["u"]}},
    }
    assert not echoes.hides(kept)
    assert echoes.hides({"type": "assistant", "uuid": "u"})
    assert not echoes.hides({"type": "assistant", "uuid": ["u"]})
    assert not echoes.hides({"type": "assistant", "uuid": "v"})
