"""Claude Code's frames about what is beside text and tools, through the whole pipeline of the program, as a client with
notices and one without are told of them. What the real Claude Code sends of them is in tests/stdio/test_news.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acpbridge import flow
from acpbridge.claude.events import messages_of
from acpbridge.client_end import Line, Written
from acpbridge.sessions.news import News
from middleware import StepRunner
from middleware.messages import SessionOpened
from tests.acp.judge import Judge

S = "s"
Json = dict[str, Any]


class Told:
    """A client of the program's pipeline, and what it is told of a session's frames; every line is judged."""

    def __init__(self, **capabilities: Any) -> None:
        self.run = StepRunner(flow.pipeline(strict=True))
        self.judge, self.news = Judge(), News(S)
        params = {"protocolVersion": 1, "clientCapabilities": capabilities}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        self.judge.from_client(hello)
        self.run.feed(Line(data=json.dumps(hello).encode()), SessionOpened(session=S, cwd="/work")).run()
        self._read()

    def hears(self, *frames: Json) -> list[Json]:
        """The updates that follow from these frames, one after the other."""
        for frame in frames:
            self.run.feed(*messages_of(S, frame), *self.news.messages_of(frame)).run()
        return [line["params"]["update"] for line in self._read()]

    def _read(self) -> list[Json]:
        lines = [json.loads(message.data) for message in self.run.client if isinstance(message, Written)]
        self.run.client.clear()
        for line in lines:
            self.judge.from_agent(line)
        return lines


def both(*frames: Json) -> tuple[list[Json], list[Json]]:
    """What a client with notices is told, and one without."""
    return Told(session={"notices": {}}).hears(*frames), Told().hears(*frames)


def system(subtype: str, **members: Any) -> Json:
    return {"type": "system", "subtype": subtype, "uuid": "u", **members}


def notice(title: str, description: str | None = None, severity: str = "info") -> Json:
    said = {"description": description} if description is not None else {}
    return {"sessionUpdate": "notice", "severity": severity, "title": title, **said}


def chunk(text: str, **claude_code: Any) -> Json:
    meta = {"_meta": {"claudeCode": claude_code}} if claude_code else {}
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"{text}\n\n"}, **meta}


# ------------------------------------------------------------------------------------------ informational


@pytest.mark.parametrize(
    ("level", "severity", "text"),
    [
        ("warning", "warning", "**Warning:** One.\nTwo."),
        ("notice", "info", "**Notice:** One.\nTwo."),
        ("suggestion", "info", "**Suggestion:** One.\nTwo."),
    ],
)
def test_informational(level: str, severity: str, text: str) -> None:
    """The first line is the title of a notice; a transcript has it whole, with its level."""
    noticed, written = both(system("informational", content="One.\nTwo.", level=level))
    assert noticed == [notice("One.", "Two.", severity)]
    assert written == [chunk(text, kind="informational", level=level)]


def test_informational_for_transcripts() -> None:
    """The level `info` is plain text in a transcript, and nothing for a client with notices."""
    noticed, written = both(system("informational", content="By the way.", level="info"))
    assert noticed == []
    assert written == [chunk("By the way.", kind="informational", level="info")]


@pytest.mark.parametrize(
    ("level", "title"), [("warning", "Claude reported a warning"), ("notice", "Claude reported a notice")]
)
def test_informational_too_long_for_a_title(level: str, title: str) -> None:
    """A first line of more than 256 characters is no title: all of it is the description."""
    for length, told in ((256, ("x" * 256, "More.")), (257, (title, f"{'x' * 257}\nMore."))):
        [update], _ = both(system("informational", content=f"{'x' * length}\nMore.", level=level))
        assert (update["title"], update["description"]) == told


def test_informational_about_one_tool_use() -> None:
    """Of those about one tool use a client with notices is told the first, a transcript all."""
    frames = [
        system("informational", content=text, level="notice", tool_use_id=use)
        for text, use in (("50%", "t"), ("60%", "t"), ("50%", "other"))
    ]
    noticed, written = both(*frames, system("informational", content="a", level="notice"))
    assert [update["title"] for update in noticed] == ["50%", "50%", "a"]
    assert len(written) == 4


# ------------------------------------------------------------------------------------------ another model


@pytest.mark.parametrize(
    ("members", "outcome"),
    [
        ({}, "The session will continue on b."),
        ({"direction": "retry", "scope": "session"}, "The session will continue on b."),
        ({"direction": "sticky"}, "The session will continue on b."),
        ({"direction": "revert"}, "The session stays on a."),
        ({"direction": "retry", "scope": "local"}, "Only that response came from b; the session stays on a."),
    ],
)
def test_another_model_answers(members: Json, outcome: str) -> None:
    """Which model declined, which answered, and on which the session goes on."""
    frame = system("model_refusal_fallback", original_model="a", fallback_model="b", **members)
    noticed, written = both(frame)
    assert noticed == [notice(f"a declined this request; retried with b. {outcome}")]
    assert written == [chunk(f"**Model fallback:** a declined this request; retried with b. {outcome}")]


def test_why_another_model_answers() -> None:
    """With the category and Claude's explanation, where there are some."""
    why = {"api_refusal_category": "cyber", "api_refusal_explanation": "Because."}
    noticed, written = both(system("model_refusal_fallback", original_model="a", fallback_model="b", **why))
    title = "a declined this request (cyber); retried with b. The session will continue on b."
    assert noticed == [notice(title, "Because.")]
    assert written == [chunk(f"**Model fallback:** {title}\n\nBecause.")]


def test_models_with_long_names() -> None:
    """What is too long for a title is the description of `Model fallback`."""
    [update], _ = both(system("model_refusal_fallback", original_model="a" * 256, fallback_model="b"))
    assert update["title"] == "Model fallback"
    assert "retried with b" in update["description"]


# ------------------------------------------------------------------------------------------ fast mode


def fast(state: str, reason: str | None = None, kind: str = "result") -> Json:
    frame = {"fast_mode_state": state} | ({"fast_mode_disabled_reason": reason} if reason is not None else {})
    return system("init", **frame) if kind == "init" else {"type": "result", "subtype": "success", **frame}


def test_fast_mode_goes_off() -> None:
    """Told with its reason, once, when it was on."""
    off = fast("off", "extra_usage_disabled")
    noticed, written = both(fast("on", kind="init"), fast("cooldown"), off, off)
    why = "Requires extra usage to be enabled for this account."
    assert noticed == [notice("Fast mode turned off", why, "warning")]
    assert written == [chunk(f"**Fast mode turned off:** {why}")]


@pytest.mark.parametrize(
    "frames", [[fast("off", "free")], [fast("on"), fast("off")], [fast("on"), fast("off", "sdk_opt_in_required")]]
)
def test_fast_mode_is_off(frames: list[Json]) -> None:
    """Nothing is told of one that was not on, that the person turned off, or whose reason nobody could read."""
    assert both(*frames) == ([], [])


# ------------------------------------------------------------------------------------------ retries and limits


@pytest.mark.parametrize(
    ("members", "title", "why"),
    [
        (
            {"max_retries": 3, "retry_delay_ms": 614, "error_status": 529, "error": "overloaded"},
            "Retrying Claude, attempt 1 of 3.",
            "The model is overloaded; next attempt in 1 s.",
        ),
        ({"error_status": None}, "Reconnecting to Claude, attempt 1.", "No answer came."),
        (
            {"error_status": None, "max_retries": 1, "no_response": {"waited_ms": 90_000, "retry_wait_ms": 240_400}},
            "Reconnecting to Claude, attempt 1 of 1. No response after 90s; waiting up to 240s.",
            "No answer came.",
        ),
        ({"error_status": 418, "error": "unheard_of"}, "Retrying Claude, attempt 1.", "Status 418."),
    ],
)
def test_the_model_is_asked_again(members: Json, title: str, why: str) -> None:
    """Told that it takes longer, and why: to clients without notices in the text, so that nobody waits unknowing."""
    noticed, written = both(system("api_retry", attempt=1, **members))
    assert noticed == [notice(title, why, "warning")]
    assert written == [chunk(f"**{title.removesuffix('.')}:** {why}")]


def test_a_sign_in_is_not_tried_again() -> None:
    """A sign-in that is refused is no news: the prompt fails of it."""
    for error in ("authentication_failed", "oauth_org_not_allowed"):
        assert both(system("api_retry", attempt=1, error_status=401, error=error)) == ([], [])


LIMIT = {"status": "allowed_warning", "rateLimitType": "five_hour", "utilization": 0.9, "resetsAt": 1_800_000_000}
STARTED = {
    "type": "stream_event",
    "event": {"type": "message_start", "message": {"id": "m", "model": "opus", "usage": {"input_tokens": 7}}},
}


def test_a_limit_is_near() -> None:
    """It is told once, and all of it beside the context's use, when that is known."""
    limit = {"type": "rate_limit_event", "rate_limit_info": LIMIT}
    noticed, written = both(limit, STARTED, limit)
    usage = {"sessionUpdate": "usage_update", "used": 7, "size": 200_000, "_meta": {"_claude/model": "opus"}}
    with_limit = {**usage, "_meta": {"_claude/model": "opus", "_claude/rateLimit": LIMIT}}
    title, text = "The five hour limit is near", "90% used; it resets at 2027-01-15 08:00 UTC"
    assert noticed == [notice(title, text, "warning"), usage, with_limit]
    assert written == [chunk(f"**{title}:** {text}"), usage, with_limit]


# ------------------------------------------------------------------------------------------ nothing


@pytest.mark.parametrize(
    "kind",
    [
        "control_request_progress",
        "files_persisted",
        "hook_progress",
        "hook_response",
        "hook_started",
        "mirror_error",
        "notification",
        "plugin_install",
        "session_writes_lost",
        "thinking_tokens",
        "unheard_of",
    ],
)
def test_frames_that_nobody_is_told_of(kind: str) -> None:
    """Claude Code's own bookkeeping is nothing for a client."""
    assert both(system(kind, content="x", text="x", level="warning")) == ([], [])


def test_a_recall() -> None:
    """Memories that were recalled are one call that is over, for either client."""
    frame = system("memory_recall", mode="synthesize", memories=[{"path": "<synthesis:/m>", "content": "Be kind."}])
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "u",
        "title": "Recalled synthesized memory",
        "kind": "read",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "Be kind."}}],
        "_meta": {"claudeCode": {"toolName": "memory_recall", "toolResponse": {"mode": "synthesize"}}},
    }
    assert both(frame) == ([call], [call])
