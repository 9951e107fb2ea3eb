"""What a frame of Claude Code means: a table of pure functions, frame -> messages.

One row a kind of frame. No state: what depends on earlier frames is a stage's business. A frame that no row knows is
skipped with a log line, and so is a member that is missing or of the wrong type: Claude Code adds and changes frames
with every release. Control requests (asks) are in `control`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from loguru import logger

from middleware.messages import (
    ClaudeStarted,
    Commands,
    ElicitationCompleted,
    MemoryRecalled,
    Message,
    MessageCompleted,
    MessageStarted,
    MessageUsage,
    PromptEchoed,
    PromptState,
    RequestStarted,
    Result,
    SessionRestarted,
    Task,
    Text,
    Thought,
    TokenCount,
    ToolDenied,
    ToolInput,
    ToolProgress,
    ToolResult,
    ToolUse,
    WorkState,
)

Frame = Mapping[str, Any]

_TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_LOCAL_OUTPUT = re.compile(r"<local-command-stdout>(.*?)</local-command-stdout>", re.DOTALL)
_PROMPT_STATES = frozenset({"queued", "started", "completed", "cancelled", "discarded", "refused"})
_TASK_ENDS = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


def messages_of(session: str, frame: Frame) -> tuple[Message, ...]:
    """The messages that a frame of this ACP session stands for."""
    kind = str(frame.get("type"))
    if kind == "system":
        kind = f"system/{frame.get('subtype')}"
    elif kind == "stream_event":
        kind = f"stream/{_object(frame, 'event').get('type')}"
    read = _FRAMES.get(kind)
    if read is None:
        if kind not in _SILENT:
            logger.debug("session {}: a frame of the kind {} is skipped", session, kind)
        return ()
    return tuple(read(session, frame))


# ------------------------------------------------------------------------------------------------- reading members


def _object(source: Frame, key: str) -> Frame:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def _text(source: Frame, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _text_or_none(source: Frame, key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) and value else None


def _count(source: Frame, key: str) -> int | None:
    value = source.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _names(source: Frame, key: str) -> tuple[str, ...]:
    value = source.get(key)
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _blocks(message: Frame) -> Iterator[Frame]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block


def _tokens(usage: Frame) -> TokenCount:
    return TokenCount(
        input=_count(usage, "input_tokens") or 0,
        output=_count(usage, "output_tokens") or 0,
        cache_read=_count(usage, "cache_read_input_tokens") or 0,
        cache_write=_count(usage, "cache_creation_input_tokens") or 0,
    )


def _served(frame: Frame) -> tuple[str, ...]:
    """The prompts that a frame names: the list where there is one, else the single uuid."""
    several = _names(frame, "user_message_uuids")
    single = _text_or_none(frame, "user_message_uuid")
    return several or ((single,) if single else ())


# ------------------------------------------------------------------------------------------------- the stream


def _message_start(session: str, frame: Frame) -> Iterable[Message]:
    message = _object(_object(frame, "event"), "message")
    yield MessageStarted(
        session=session,
        message=_text(message, "id"),
        parent=_text_or_none(frame, "parent_tool_use_id"),
        model=_text_or_none(message, "model"),
        usage=_tokens(_object(message, "usage")),
    )


def _block_start(session: str, frame: Frame) -> Iterable[Message]:
    event = _object(frame, "event")
    block = _object(event, "content_block")
    if block.get("type") in _TOOL_USES and _text(block, "id"):
        yield ToolUse(
            session=session,
            tool_use=_text(block, "id"),
            name=_text(block, "name"),
            message=_text_or_none(frame, "api_message_id"),
            parent=_text_or_none(frame, "parent_tool_use_id"),
            block=_count(event, "index"),
            whole=False,
        )


def _block_delta(session: str, frame: Frame) -> Iterable[Message]:
    event = _object(frame, "event")
    delta = _object(event, "delta")
    parent = _text_or_none(frame, "parent_tool_use_id")
    message = _text_or_none(frame, "api_message_id")
    match delta.get("type"):
        case "text_delta":
            yield Text(session=session, text=_text(delta, "text"), message=message, parent=parent)
        case "thinking_delta":
            yield Thought(session=session, text=_text(delta, "thinking"), message=message, parent=parent)
        case "input_json_delta":
            piece = _text(delta, "partial_json")
            block = _count(event, "index")
            if piece and block is not None:
                yield ToolInput(session=session, block=block, json=piece, parent=parent)


def _message_delta(session: str, frame: Frame) -> Iterable[Message]:
    usage = _object(_object(frame, "event"), "usage")
    yield MessageUsage(
        session=session,
        output=_count(usage, "output_tokens"),
        input=_count(usage, "input_tokens"),
        cache_read=_count(usage, "cache_read_input_tokens"),
        cache_write=_count(usage, "cache_creation_input_tokens"),
        parent=_text_or_none(frame, "parent_tool_use_id"),
    )


# ------------------------------------------------------------------------------------------------- complete messages


def _assistant(session: str, frame: Frame) -> Iterable[Message]:
    message = _object(frame, "message")
    name = _text_or_none(message, "id")
    parent = _text_or_none(frame, "parent_tool_use_id")
    synthetic = message.get("model") == "<synthetic>"
    for block in _blocks(message):
        kind = block.get("type")
        if kind == "text":
            yield Text(
                session=session, text=_text(block, "text"), message=name, parent=parent, whole=True, synthetic=synthetic
            )
        elif kind == "thinking":
            yield Thought(session=session, text=_text(block, "thinking"), message=name, parent=parent, whole=True)
        elif kind in _TOOL_USES and _text(block, "id"):
            yield ToolUse(
                session=session,
                tool_use=_text(block, "id"),
                name=_text(block, "name"),
                input=_object(block, "input"),
                message=name,
                parent=parent,
            )
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            yield _tool_result(session, frame, block, None)
        elif kind != "redacted_thinking":
            logger.debug("session {}: a content block of the kind {} is skipped", session, kind)
    yield MessageCompleted(session=session, message=name, parent=parent, error=_text_or_none(frame, "error"))


def _user(session: str, frame: Frame) -> Iterable[Message]:
    message = _object(frame, "message")
    content = message.get("content")
    parent = _text_or_none(frame, "parent_tool_use_id")
    if frame.get("isReplay") is True and parent is None and _text(frame, "uuid"):
        yield PromptEchoed(session=session, prompt=_text(frame, "uuid"))
    if isinstance(content, str):
        yield from _local_output(session, content, _text_or_none(frame, "uuid"))
        return
    results = [block for block in _blocks(message) if str(block.get("type")).endswith("tool_result")]
    # The tool's own object belongs to one result: with several nobody can say whose it is (reference 4.4).
    structured = frame.get("tool_use_result") if len(results) == 1 else None
    for block in results:
        if _text(block, "tool_use_id") and _text(block, "tool_use_id") != parent:  # a fork's placeholder (S6)
            yield _tool_result(session, frame, block, structured)


def _tool_result(session: str, frame: Frame, block: Frame, structured: Any) -> ToolResult:
    call = _text(block, "tool_use_id")
    metas = frame.get("tool_result_meta")
    named = (
        (meta for meta in metas if isinstance(meta, dict) and meta.get("id") == call) if isinstance(metas, list) else ()
    )
    meta: Frame = next(iter(named), {})
    return ToolResult(
        session=session,
        tool_use=call,
        content=block.get("content"),
        is_error=block.get("is_error") is True,
        structured=structured,
        non_execution=_text_or_none(meta, "non_execution_kind"),
        user_feedback=_text_or_none(meta, "user_feedback"),
        parent=_text_or_none(frame, "parent_tool_use_id"),
    )


def _local_output(session: str, content: str, name: str | None) -> Iterable[Message]:
    """The output of a command that Claude Code runs by itself (reference 2.8)."""
    for text in _LOCAL_OUTPUT.findall(content):
        yield Text(session=session, text=text.strip(), message=name)


# ------------------------------------------------------------------------------------------------- turns and tasks


def _lifecycle(session: str, frame: Frame) -> Iterable[Message]:
    state = _text(frame, "state")
    if state in _PROMPT_STATES and _text(frame, "command_uuid"):
        yield PromptState(session=session, prompt=_text(frame, "command_uuid"), state=state)  # type: ignore[arg-type]
    else:
        logger.debug("session {}: the prompt state {} is unknown", session, state)


def _result(session: str, frame: Frame) -> Iterable[Message]:
    cost = frame.get("total_cost_usd")
    turns = _count(frame, "num_turns")
    yield Result(
        session=session,
        prompts=_served(frame),
        subtype=_text(frame, "subtype"),
        is_error=frame.get("is_error") is True,
        text=_text(frame, "result"),
        errors=_names(frame, "errors"),
        stop_reason=_text_or_none(frame, "stop_reason"),
        terminal_reason=_text_or_none(frame, "terminal_reason"),
        origin=_text_or_none(_object(frame, "origin"), "kind"),
        num_turns=1 if turns is None else turns,
        usage=_tokens(_object(frame, "usage")),
        cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        model_usage={
            name: figures for name, figures in _object(frame, "modelUsage").items() if isinstance(figures, dict)
        },
    )


def _work_state(session: str, frame: Frame) -> Iterable[Message]:
    state = frame.get("state")
    if state in ("idle", "running", "requires_action"):
        yield WorkState(session=session, state=state)


def _status(session: str, frame: Frame) -> Iterable[Message]:
    if frame.get("status") == "requesting":
        listed = isinstance(frame.get("user_message_uuids"), list)
        yield RequestStarted(session=session, prompts=_names(frame, "user_message_uuids") if listed else None)


def _command_output(session: str, frame: Frame) -> Iterable[Message]:
    text = _text(frame, "content")
    match = _LOCAL_OUTPUT.search(text)
    yield Text(session=session, text=match.group(1).strip() if match else text, message=_text_or_none(frame, "uuid"))


def _task(session: str, frame: Frame) -> Iterable[Message]:
    patch = _object(frame, "patch")
    status = _text_or_none(patch, "status") or _text_or_none(frame, "status")
    background = frame.get("is_backgrounded", patch.get("is_backgrounded"))
    yield Task(
        session=session,
        task=_text(frame, "task_id"),
        state="ended" if status in _TASK_ENDS else "running",
        tool_use=_text_or_none(frame, "tool_use_id"),
        subagent=_text_or_none(frame, "subagent_type") is not None,
        background=background if isinstance(background, bool) else None,
        status=status,
        run=_text_or_none(frame, "run_id"),
        kind=_text_or_none(frame, "task_type"),
        subagent_type=_text_or_none(frame, "subagent_type"),
        description=_text_or_none(frame, "description"),
        prompt=_text_or_none(frame, "prompt"),
        error=_text_or_none(patch, "error") or _text_or_none(frame, "error"),
        summary=_text_or_none(frame, "summary"),
        reason=_text_or_none(patch, "reason") or _text_or_none(frame, "reason"),
    )


def _progress(session: str, frame: Frame) -> Iterable[Message]:
    elapsed = frame.get("elapsed_time_seconds")
    yield ToolProgress(
        session=session,
        tool_use=_text(frame, "tool_use_id"),
        elapsed=float(elapsed) if isinstance(elapsed, int | float) and not isinstance(elapsed, bool) else None,
        parent=_text_or_none(frame, "parent_tool_use_id"),
        subagent_type=_text_or_none(frame, "subagent_type"),
        subagent_retry=frame.get("subagent_retry"),
    )


def _denied(session: str, frame: Frame) -> Iterable[Message]:
    if _text(frame, "tool_use_id"):
        yield ToolDenied(
            session=session,
            tool_use=_text(frame, "tool_use_id"),
            message=_text(frame, "message"),
            reason_type=_text_or_none(frame, "decision_reason_type"),
            reason=_text_or_none(frame, "decision_reason"),
        )


def _init(session: str, frame: Frame) -> Iterable[Message]:
    servers = frame.get("mcp_servers")
    listed = [server for server in servers if isinstance(server, dict)] if isinstance(servers, list) else []
    yield ClaudeStarted(
        session=session,
        mcp_servers=tuple((_text(server, "name"), _text(server, "status")) for server in listed),
        terminal_commands=_names(frame, "terminal_slash_commands"),
        capabilities=_names(frame, "capabilities"),
    )


def _commands(session: str, frame: Frame) -> Iterable[Message]:
    yield Commands(session=session, commands=commands_in(frame))


def commands_in(source: Frame) -> tuple[Frame, ...]:
    """The commands that a frame, or Claude Code's answer to the handshake, lists."""
    commands = source.get("commands")
    return tuple(command for command in commands if isinstance(command, dict)) if isinstance(commands, list) else ()


def _elicited(session: str, frame: Frame) -> Iterable[Message]:
    if _text(frame, "elicitation_id"):
        yield ElicitationCompleted(session=session, elicitation=_text(frame, "elicitation_id"))


def _recalled(session: str, frame: Frame) -> Iterable[Message]:
    memories = frame.get("memories")
    if _text(frame, "uuid"):
        yield MemoryRecalled(
            session=session,
            recall=_text(frame, "uuid"),
            memories=tuple(memory for memory in memories if isinstance(memory, dict))
            if isinstance(memories, list)
            else (),
            synthesized=frame.get("mode") == "synthesize",
        )


def _reset(session: str, frame: Frame) -> Iterable[Message]:
    yield SessionRestarted(session=session)


_FRAMES: Mapping[str, Callable[[str, Frame], Iterable[Message]]] = {
    "assistant": _assistant,
    "command_lifecycle": _lifecycle,
    "conversation_reset": _reset,
    "result": _result,
    "stream/content_block_delta": _block_delta,
    "stream/content_block_start": _block_start,
    "stream/message_delta": _message_delta,
    "stream/message_start": _message_start,
    "system/commands_changed": _commands,
    "system/elicitation_complete": _elicited,
    "system/init": _init,
    "system/local_command_output": _command_output,
    "system/memory_recall": _recalled,
    "system/permission_denied": _denied,
    "system/session_state_changed": _work_state,
    "system/status": _status,
    "system/task_notification": _task,
    "system/task_started": _task,
    "system/task_updated": _task,
    "tool_progress": _progress,
    "user": _user,
}

_SILENT = frozenset({"stream/content_block_stop", "stream/message_stop", "system/thinking_tokens"})
"""Frames that are known and say nothing that anybody needs; not worth a log line each."""
