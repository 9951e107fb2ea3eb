"""What `ToolCalls` sends of a call: its announcement, its refinements, how it ends. No state but the call's own.

When something is sent is decided in `tool_calls`; what the client knows already is left out in `open_calls`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from middleware import acp
from middleware.messages import (
    MemoryRecalled,
    PermissionAsk,
    ToolDenied,
    ToolGate,
    ToolProgress,
    ToolResponse,
    ToolResult,
)
from middleware.profile import ClientProfile
from middleware.tools import (
    Contents,
    Given,
    Printed,
    ResultView,
    describe_change,
    describe_result,
    describe_use,
    raw_input,
    response_meta,
    terminals,
)
from middleware.tools.paths import is_absolute
from middleware.tools.text import text_content
from middleware.tools.views import text_of

from .open_calls import Call

_FIELDS = ("status", "title", "kind", "content", "locations", "raw_input", "raw_output")

Changes = Iterator[acp.ToolCallUpdate | None]
"""Updates in their order; None where the client knows all of one."""


def announcement(
    call: Call,
    cwd: str,
    profile: ClientProfile,
    met: PermissionAsk | ToolGate | None,
    asked: acp.ToolCallUpdate | None,
) -> acp.ToolCall:
    """The first that the client hears of a call: what is known of its input, or what the person is asked about it."""
    view = describe_use(call.name, call.input, cwd=cwd, file=met.file if isinstance(met, PermissionAsk) else None)
    call.terminal = view.command and profile.terminal_output
    content: Contents | None = None
    locations, title = view.locations, view.title
    if asked is not None:
        content = tuple(asked.content) if asked.content is not None else None
        locations = tuple(asked.locations) if asked.locations is not None else locations
        title = asked.title or title
    announced = acp.ToolCall(
        tool_call_id=call.tool_use,
        name=call.name,
        status="pending",
        title=title,
        kind=view.kind,
        content=list(terminals.shown_content(view, call.tool_use, profile) if content is None else content),
        locations=list(locations or ()),
        raw_input=raw_input(call.input, view, partial=not call.dispatched),
        meta={**call.meta(), **(terminals.info(call.tool_use) if call.terminal else {})},
    )
    call.told = {field: getattr(announced, field) for field in _FIELDS}
    return announced


def refinement(call: Call, cwd: str, profile: ClientProfile) -> Changes:
    """More is known of the input. Content waits for the whole of it, and is left be where an ask showed more."""
    view = describe_use(call.name, call.input, cwd=cwd)
    settled = call.pinned or not call.dispatched
    yield call.change(
        title=view.title,
        kind=view.kind,
        content=None if settled else list(terminals.shown_content(view, call.tool_use, profile)),
        locations=_list(view.locations) if not call.pinned else None,
        raw_input=raw_input(call.input, view, partial=not call.dispatched),
    )


def progress(call: Call, message: ToolProgress) -> Changes:
    """The tool runs (reference 4.8)."""
    response = {
        "elapsedTimeSeconds": message.elapsed,
        "subagentType": message.subagent_type,
        "subagentRetry": message.subagent_retry,
    }
    yield call.change(_response(_known(response)), status="in_progress")


def response(call: Call, message: ToolResponse, cwd: str) -> Changes:
    """The tool's own object, and the change that it speaks of. It never says how the call ended (reference 4.6)."""
    call.responded = True
    content, locations = describe_change(call.name, call.input, message.response, cwd=cwd)
    yield call.change(
        _response(response_meta(message.response)),
        content=_list(content),
        locations=_list(locations),
    )


def completion(call: Call, message: ToolResult, cwd: str, profile: ClientProfile, *, in_background: bool) -> Changes:
    """The call's result. `in_background`: its command goes on, so that its terminal does not end yet."""
    given = Given(content=message.content, is_error=message.is_error, structured=message.structured)
    view = describe_result(call.name, call.input, given, cwd=cwd)
    meta = _known({"nonExecutionKind": message.non_execution, "userFeedback": message.user_feedback})
    if message.structured is not None and not call.responded and not message.is_error:
        call.responded = True
        meta |= _response(response_meta(message.structured))
    if call.terminal and view.printed is not None:
        yield from _terminal_completion(call, view, view.printed, meta, profile, ends=not in_background)
        return
    yield call.change(
        meta,
        status=view.status,
        title=view.title,
        content=_list(view.content if view.whole else _with_diffs(call, view.content)),
        locations=_list(view.locations),
        raw_output=view.raw_output,
    )


def _terminal_completion(
    call: Call, view: ResultView, printed: Printed, meta: Mapping[str, Any], profile: ClientProfile, *, ends: bool
) -> Changes:
    """A command for a client with terminals: what it printed, then how it ended (reference 4.5)."""
    if printed.text:
        yield acp.ToolCallUpdate(
            tool_call_id=call.tool_use, meta=terminals.output(call.tool_use, printed.text, profile)
        )
    raw = {key: value for key, value in (view.raw_output or {}).items() if key != "output"}
    yield call.change(
        meta,
        terminals.exit(call.tool_use, printed.exit_code) if ends else None,
        status=view.status,
        content=[
            acp.Terminal(terminal_id=call.tool_use),
            *(item for item in view.content or () if not _is_text(item)),
        ],
        raw_output=raw or None,
    )


def denial(call: Call, message: ToolDenied) -> Changes:
    """Claude Code did not let the tool run (reference 4.8)."""
    reason = {
        "decisionReasonType": message.reason_type,
        "decisionReason": message.reason,
        "message": message.message or None,
    }
    text = f"Permission denied: {message.reason or message.message}"
    yield from failure(call, text, _response(_known(reason)))


def failure(call: Call, text: str, claude_code: Mapping[str, Any] | None = None) -> Changes:
    """The call ends without a result."""
    kept = [acp.Terminal(terminal_id=call.tool_use)] if call.terminal else call.diffs
    yield call.change(
        claude_code,
        terminals.exit(call.tool_use, None) if call.terminal else None,
        status="failed",
        content=[*kept, text_content(text)],
    )


def recall(message: MemoryRecalled) -> acp.ToolCall:
    """Memories that Claude Code put before the model: a call that is over when it is told (reference 4.3)."""
    texts = [text_of(memory, "content") for memory in message.memories]
    paths = [text_of(memory, "path") for memory in message.memories]
    count = len(message.memories)
    title = f"Recalled {count} {'memory' if count == 1 else 'memories'}"
    return acp.ToolCall(
        tool_call_id=message.recall,
        status="completed",
        title="Recalled synthesized memory" if message.synthesized else title,
        kind="read",
        content=[text_content(text) for text in texts if text] if message.synthesized else [],
        locations=[acp.ToolCallLocation(path=path) for path in paths if is_absolute(path)],
        meta={
            "claudeCode": {
                "toolName": "memory_recall",
                "toolResponse": {"mode": "synthesize" if message.synthesized else "select"},
            }
        },
    )


def terminal_end(call: Call) -> Changes:
    """A command in the background is over; how, nobody says."""
    yield call.change(None, terminals.exit(call.tool_use, None))


def _with_diffs(call: Call, content: Contents | None) -> Contents | None:
    """What a later frame shows, behind the diffs that the client has: none takes a diff away, save for the truth."""
    if not content:
        return None  # nothing to show: what is shown stays
    has_diff = any(isinstance(item, acp.Diff) for item in content)
    return content if has_diff else (*call.diffs, *content)


def _response(response: Any) -> dict[str, Any]:
    return {"toolResponse": response} if response not in (None, {}) else {}


def _known(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _list(items: tuple[Any, ...] | None) -> list[Any] | None:
    return list(items) if items is not None else None


def _is_text(item: acp.ToolCallContent) -> bool:
    return isinstance(item, acp.Content) and isinstance(item.content, acp.TextContent)
