"""What Claude Code tells beside the turns, as notices and compactions: a table of functions (reference 10.3, 10.12).

    frame                             what the person is told
    --------------------------------  ------------------------------------------------------------------
    system/status compacting          a compaction began; `compact_result` failed: why it failed
    system/compact_boundary           it is done, and how many tokens are left
    conversation_reset                the context is empty now
    system/informational              its text; a warning where it is one
    system/model_refusal_fallback     another model answers
    system/init, result               fast mode was turned off, and why
    system/api_retry                  the model is asked again, and why
    rate_limit_event                  a limit is near or reached

The last two are for clients that show notices beside the conversation: in a transcript they would be part of the
answer. What a frame lacks is left out: Claude Code changes its frames with every release. Remembered is a compaction
that is done, since its summary comes in the frame behind its end, which limits were told, and whether fast mode was on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs

from acpbridge.claude.members import Frame, count_in, object_in, text_in
from acpbridge.claude.summaries import summary_in
from middleware.messages import Compaction, Message, Notice, Text

from .config_options import FAST_REASONS

CLEARED = "The conversation was cleared: what follows starts with an empty context.\n"

_RETRIES = {
    "overloaded": "the model is overloaded",
    "rate_limit": "the rate limit is reached",
    "server_error": "the model's service reported an error",
}

_SIGN_IN = frozenset({"authentication_failed", "oauth_org_not_allowed"})


@attrs.define
class News:
    """The news of one session."""

    session: str
    _done: Compaction | None = attrs.field(default=None, init=False)
    _limits: set[tuple[str, str]] = attrs.field(factory=set, init=False)
    _fast: bool = attrs.field(default=False, init=False)

    def messages_of(self, frame: Frame) -> tuple[Message, ...]:
        """The messages that a frame stands for beside those of `claude.events`."""
        kind = str(frame.get("type"))
        if kind == "system":
            kind = f"system/{frame.get('subtype')}"
        read = _FRAMES.get(kind)
        return (*self._compacted(frame), *(read(self, frame) if read is not None else ()))

    def _compacted(self, frame: Frame) -> Iterator[Message]:
        """The compaction whose end was in the frame before, with the summary that this one may hold."""
        if self._done is None:
            return
        done, self._done = self._done, None
        if frame.get("type") == "user" and frame.get("isSynthetic") is True:
            done = attrs.evolve(done, summary=summary_in(object_in(frame, "message").get("content")))
        yield done

    def _aside(self, title: str, text: str, severity: Any) -> Notice:
        transcript = f"**{title.rstrip('.')}:** {text}" if text else f"**{title}**"
        return Notice(
            session=self.session, title=title, description=text or None, severity=severity, transcript=transcript
        )

    def _status(self, frame: Frame) -> Iterator[Message]:
        if frame.get("status") == "compacting":
            yield Compaction(session=self.session, state="in_progress", compaction=text_in(frame, "uuid") or None)
        elif frame.get("compact_result") == "failed":
            error = text_in(frame, "compact_error") or text_in(frame, "error") or "Claude Code gave no reason"
            yield Compaction(
                session=self.session, state="failed", compaction=text_in(frame, "uuid") or None, error=error
            )

    def _boundary(self, frame: Frame) -> Iterable[Message]:
        facts = object_in(frame, "compact_metadata")
        self._done = Compaction(
            session=self.session,
            state="completed",
            compaction=text_in(frame, "uuid") or None,
            trigger="automatic" if facts.get("trigger") == "auto" else "manual",
            tokens_before=count_in(facts, "pre_tokens"),
            tokens=count_in(facts, "post_tokens") or 0,
            milliseconds=count_in(facts, "duration_ms"),
        )
        return ()

    def _reset(self, frame: Frame) -> Iterator[Message]:
        if frame.get("trigger") in (None, "clear"):
            yield Text(session=self.session, text=CLEARED, synthetic=True)

    def _informational(self, frame: Frame) -> Iterator[Message]:
        """Its first line is the title; the level `info` is nothing for a client that shows notices."""
        text, level = text_in(frame, "content").strip(), text_in(frame, "level") or "notice"
        if not text:
            return
        first, _, rest = text.partition("\n")
        yield Notice(
            session=self.session,
            title=first,
            description=rest.strip() or None,
            severity="warning" if level == "warning" else "info",
            transcript=text if level == "info" else f"**{level.capitalize()}:** {text}",
            where="transcript" if level == "info" else "always",
            once=text_in(frame, "tool_use_id") or None,
            meta={"claudeCode": {"kind": "informational", "level": level}},
            said=text,
        )

    def _fallback(self, frame: Frame) -> Iterator[Message]:
        one, other = text_in(frame, "original_model"), text_in(frame, "fallback_model")
        if not one or not other:
            return
        category = f" ({category})" if (category := text_in(frame, "api_refusal_category")) else ""
        if frame.get("scope") == "local":
            outcome = f"Only that response came from {other}; the session stays on {one}."
        elif frame.get("direction") == "revert":
            outcome = f"The session stays on {one}."
        else:
            outcome = f"The session will continue on {other}."
        title = f"{one} declined this request{category}; retried with {other}. {outcome}"
        why = text_in(frame, "api_refusal_explanation").strip()
        yield Notice(
            session=self.session,
            title=title,
            description=why or None,
            fallback="Model fallback",
            transcript=f"**Model fallback:** {title}" + (f"\n\n{why}" if why else ""),
        )

    def _fast_mode(self, frame: Frame) -> Iterator[Message]:
        """Told when it goes off for a reason that the person can read; while it cools down it is on."""
        state = frame.get("fast_mode_state")
        if state == "on":
            self._fast = True
        elif state == "off":
            was, self._fast = self._fast, False
            why = FAST_REASONS.get(text_in(frame, "fast_mode_disabled_reason"))
            if was and why is not None:
                text = f"{_sentence(why)}."
                yield Notice(session=self.session, title="Fast mode turned off", description=text, severity="warning")

    def _retry(self, frame: Frame) -> Iterator[Message]:
        """A refused sign-in is not told: the prompt fails of it, with what to do (reference 10.4)."""
        attempt, most, wait = (count_in(frame, key) for key in ("attempt", "max_retries", "retry_delay_ms"))
        error, status = text_in(frame, "error"), frame.get("error_status")
        if attempt is None or error in _SIGN_IN:
            return
        title = f"{'Reconnecting to' if status is None else 'Retrying'} Claude, attempt {attempt}"
        title += f" of {most}." if most is not None else "."
        silence = object_in(frame, "no_response")
        waited, waits = count_in(silence, "waited_ms"), count_in(silence, "retry_wait_ms")
        if waited is not None and waits is not None:
            title += f" No response after {_seconds(waited)}s; waiting up to {_seconds(waits)}s."
        why = _RETRIES.get(error, f"status {status}" if status is not None else "no answer came")
        after = f"; next attempt in {_seconds(wait)} s" if wait is not None else ""
        yield self._aside(title, f"{_sentence(why)}{after}.", "warning")

    def _limit(self, frame: Frame) -> Iterator[Message]:
        """Once a limit and state: the frame comes with every answer."""
        info = object_in(frame, "rate_limit_info")
        status, limit = text_in(info, "status"), text_in(info, "rateLimitType")
        if status not in ("allowed_warning", "rejected"):
            self._limits = {known for known in self._limits if known[0] != limit}
            return
        if (limit, status) in self._limits:
            return
        self._limits.add((limit, status))
        name = limit.replace("_", " ") or "usage"
        title = f"The {name} limit is reached" if status == "rejected" else f"The {name} limit is near"
        used, resets = info.get("utilization"), info.get("resetsAt")
        parts = [f"{round(used * 100)}% used"] if isinstance(used, int | float) and 0 <= used <= 1 else []
        if isinstance(resets, int | float) and 0 < resets < 1e11:
            parts.append(f"it resets at {datetime.fromtimestamp(resets, tz=UTC):%Y-%m-%d %H:%M} UTC")
        yield self._aside(title, _sentence("; ".join(parts)), "error" if status == "rejected" else "warning")


_FRAMES: Mapping[str, Callable[[News, Frame], Iterable[Message]]] = {
    "conversation_reset": News._reset,
    "rate_limit_event": News._limit,
    "result": News._fast_mode,
    "system/api_retry": News._retry,
    "system/compact_boundary": News._boundary,
    "system/informational": News._informational,
    "system/init": News._fast_mode,
    "system/model_refusal_fallback": News._fallback,
    "system/status": News._status,
}


def _seconds(milliseconds: int) -> int:
    return max(1, round(milliseconds / 1000))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
