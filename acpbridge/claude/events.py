"""What a frame of Claude Code means: a table of pure functions, frame -> messages.

One row a kind of frame. No state: what depends on earlier frames is a stage's business. A frame that no row knows is
skipped with a log line, and so is a member that is missing or of the wrong type: Claude Code adds and changes frames
with every release. The rows of what streams are in `stream_events`, control requests (asks) in `control`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loguru import logger

from middleware.messages import (
    ClaudeStarted,
    Commands,
    ElicitationCompleted,
    MemoryRecalled,
    Message,
    MessageCompleted,
    PromptEchoed,
    PromptState,
    RateLimit,
    RequestStarted,
    Result,
    SessionRestarted,
    SubagentModel,
    Task,
    TaskLevel,
    Text,
    Thought,
    ToolDenied,
    ToolProgress,
    ToolResult,
    ToolUse,
    WorkState,
)

from .members import Frame, blocks_of, count_in, names_in, object_in, served_by, text_in, text_or_none, tokens_of
from .stream_events import STREAM_EVENTS, TOOL_USES

_LOCAL_OUTPUT = re.compile(r"<local-command-stdout>(.*?)</local-command-stdout>", re.DOTALL)
_PROMPT_STATES = frozenset({"queued", "started", "completed", "cancelled", "discarded", "refused"})
_TASK_ENDS = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})


def messages_of(session: str, frame: Frame) -> tuple[Message, ...]:
    """The messages that a frame of this ACP session stands for."""
    kind = str(frame.get("type"))
    if kind == "system":
        kind = f"system/{frame.get('subtype')}"
    elif kind == "stream_event":
        kind = f"stream/{object_in(frame, 'event').get('type')}"
    read = _FRAMES.get(kind)
    if read is None:
        if kind not in _SILENT:
            logger.debug("session {}: a frame of the kind {} is skipped", session, kind)
        return ()
    return tuple(read(session, frame))


# ------------------------------------------------------------------------------------------------- complete messages


def _assistant(session: str, frame: Frame) -> Iterable[Message]:
    message = object_in(frame, "message")
    name = text_or_none(message, "id")
    parent = text_or_none(frame, "parent_tool_use_id")
    model = text_in(message, "model")
    synthetic = model == "<synthetic>"
    if parent is not None and model and not synthetic:
        yield SubagentModel(session=session, parent=parent, model=model)
    for block in blocks_of(message):
        kind = text_in(block, "type")
        if kind == "text":
            yield Text(
                session=session,
                text=text_in(block, "text"),
                message=name,
                parent=parent,
                whole=True,
                synthetic=synthetic,
            )
        elif kind == "thinking":
            yield Thought(session=session, text=text_in(block, "thinking"), message=name, parent=parent, whole=True)
        elif kind in TOOL_USES and text_in(block, "id"):
            yield ToolUse(
                session=session,
                tool_use=text_in(block, "id"),
                name=text_in(block, "name"),
                input=object_in(block, "input"),
                message=name,
                parent=parent,
            )
        elif kind.endswith("_tool_result"):
            yield _tool_result(session, frame, block, None)
        elif kind != "redacted_thinking":
            logger.debug("session {}: a content block of the kind {} is skipped", session, kind)
    yield MessageCompleted(session=session, message=name, parent=parent, error=text_or_none(frame, "error"))


def _user(session: str, frame: Frame) -> Iterable[Message]:
    message = object_in(frame, "message")
    content = message.get("content")
    parent = text_or_none(frame, "parent_tool_use_id")
    if frame.get("isReplay") is True and parent is None and text_in(frame, "uuid"):
        yield PromptEchoed(session=session, prompt=text_in(frame, "uuid"))
    if isinstance(content, str):
        yield from _local_output(session, content, text_or_none(frame, "uuid"))
        return
    results = [block for block in blocks_of(message) if str(block.get("type")).endswith("tool_result")]
    # The tool's own object belongs to one result: with several nobody can say whose it is (reference 4.4).
    structured = frame.get("tool_use_result") if len(results) == 1 else None
    for block in results:
        if text_in(block, "tool_use_id") and text_in(block, "tool_use_id") != parent:  # a fork's placeholder (S6)
            yield _tool_result(session, frame, block, structured)


def _tool_result(session: str, frame: Frame, block: Frame, structured: Any) -> ToolResult:
    call = text_in(block, "tool_use_id")
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
        non_execution=text_or_none(meta, "non_execution_kind"),
        user_feedback=text_or_none(meta, "user_feedback"),
        parent=text_or_none(frame, "parent_tool_use_id"),
    )


def _local_output(session: str, content: str, name: str | None) -> Iterable[Message]:
    """The output of a command that Claude Code runs by itself (reference 2.8)."""
    for text in _LOCAL_OUTPUT.findall(content):
        yield Text(session=session, text=text.strip(), message=name)


# ------------------------------------------------------------------------------------------------- turns and tasks


def _lifecycle(session: str, frame: Frame) -> Iterable[Message]:
    state = text_in(frame, "state")
    if state in _PROMPT_STATES and text_in(frame, "command_uuid"):
        yield PromptState(session=session, prompt=text_in(frame, "command_uuid"), state=state)  # type: ignore[arg-type]
    else:
        logger.debug("session {}: the prompt state {} is unknown", session, state)


def _result(session: str, frame: Frame) -> Iterable[Message]:
    cost = frame.get("total_cost_usd")
    turns = count_in(frame, "num_turns")
    yield Result(
        session=session,
        prompts=served_by(frame),
        subtype=text_in(frame, "subtype"),
        is_error=frame.get("is_error") is True,
        text=text_in(frame, "result"),
        errors=names_in(frame, "errors"),
        stop_reason=text_or_none(frame, "stop_reason"),
        terminal_reason=text_or_none(frame, "terminal_reason"),
        origin=text_or_none(object_in(frame, "origin"), "kind"),
        num_turns=1 if turns is None else turns,
        usage=tokens_of(object_in(frame, "usage")),
        cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        model_usage={
            name: figures for name, figures in object_in(frame, "modelUsage").items() if isinstance(figures, dict)
        },
    )


def _work_state(session: str, frame: Frame) -> Iterable[Message]:
    state = frame.get("state")
    if state in ("idle", "running", "requires_action"):
        yield WorkState(session=session, state=state)


def _status(session: str, frame: Frame) -> Iterable[Message]:
    if frame.get("status") == "requesting":
        listed = isinstance(frame.get("user_message_uuids"), list)
        yield RequestStarted(session=session, prompts=names_in(frame, "user_message_uuids") if listed else None)


def _command_output(session: str, frame: Frame) -> Iterable[Message]:
    text = text_in(frame, "content")
    match = _LOCAL_OUTPUT.search(text)
    yield Text(session=session, text=match.group(1).strip() if match else text, message=text_or_none(frame, "uuid"))


def _task(session: str, frame: Frame) -> Iterable[Message]:
    patch = object_in(frame, "patch")
    status = text_or_none(patch, "status") or text_or_none(frame, "status")
    background = frame.get("is_backgrounded", patch.get("is_backgrounded"))
    yield Task(
        session=session,
        task=text_in(frame, "task_id"),
        state="ended" if status in _TASK_ENDS else "running",
        tool_use=text_or_none(frame, "tool_use_id"),
        subagent=text_or_none(frame, "subagent_type") is not None,
        background=background if isinstance(background, bool) else None,
        status=status,
        run=text_or_none(frame, "run_id"),
        kind=text_or_none(frame, "task_type"),
        subagent_type=text_or_none(frame, "subagent_type"),
        description=text_or_none(frame, "description"),
        prompt=text_or_none(frame, "prompt"),
        error=text_or_none(patch, "error") or text_or_none(frame, "error"),
        summary=text_or_none(frame, "summary"),
        reason=text_or_none(patch, "reason") or text_or_none(frame, "reason"),
        parent=text_or_none(frame, "parent_task_id"),
    )


def _level(session: str, frame: Frame) -> Iterable[Message]:
    """All that runs in the background, as a list: what is missing in it has ended, even if no other frame said so."""
    tasks = frame.get("tasks")
    if isinstance(tasks, list):
        named = (text_in(task, "task_id") for task in tasks if isinstance(task, dict))
        yield TaskLevel(session=session, tasks=tuple(name for name in named if name))


def _progress(session: str, frame: Frame) -> Iterable[Message]:
    elapsed = frame.get("elapsed_time_seconds")
    yield ToolProgress(
        session=session,
        tool_use=text_in(frame, "tool_use_id"),
        elapsed=float(elapsed) if isinstance(elapsed, int | float) and not isinstance(elapsed, bool) else None,
        parent=text_or_none(frame, "parent_tool_use_id"),
        subagent_type=text_or_none(frame, "subagent_type"),
        subagent_retry=frame.get("subagent_retry"),
    )


def _denied(session: str, frame: Frame) -> Iterable[Message]:
    if text_in(frame, "tool_use_id"):
        yield ToolDenied(
            session=session,
            tool_use=text_in(frame, "tool_use_id"),
            message=text_in(frame, "message"),
            reason_type=text_or_none(frame, "decision_reason_type"),
            reason=text_or_none(frame, "decision_reason"),
        )


def _init(session: str, frame: Frame) -> Iterable[Message]:
    servers = frame.get("mcp_servers")
    listed = [server for server in servers if isinstance(server, dict)] if isinstance(servers, list) else []
    yield ClaudeStarted(
        session=session,
        mcp_servers=tuple((text_in(server, "name"), text_in(server, "status")) for server in listed),
        terminal_commands=names_in(frame, "terminal_slash_commands"),
        capabilities=names_in(frame, "capabilities"),
    )


def _commands(session: str, frame: Frame) -> Iterable[Message]:
    yield Commands(session=session, commands=commands_in(frame))


def commands_in(source: Frame) -> tuple[Frame, ...]:
    """The commands that a frame, or Claude Code's answer to the handshake, lists."""
    commands = source.get("commands")
    return tuple(command for command in commands if isinstance(command, dict)) if isinstance(commands, list) else ()


def _elicited(session: str, frame: Frame) -> Iterable[Message]:
    if text_in(frame, "elicitation_id"):
        yield ElicitationCompleted(session=session, elicitation=text_in(frame, "elicitation_id"))


def _recalled(session: str, frame: Frame) -> Iterable[Message]:
    memories = frame.get("memories")
    if text_in(frame, "uuid"):
        yield MemoryRecalled(
            session=session,
            recall=text_in(frame, "uuid"),
            memories=tuple(memory for memory in memories if isinstance(memory, dict))
            if isinstance(memories, list)
            else (),
            synthesized=frame.get("mode") == "synthesize",
        )


def _limit(session: str, frame: Frame) -> Iterable[Message]:
    info = object_in(frame, "rate_limit_info")
    if info:
        yield RateLimit(session=session, info=info)


def _reset(session: str, frame: Frame) -> Iterable[Message]:
    yield SessionRestarted(session=session)


_FRAMES: Mapping[str, Callable[[str, Frame], Iterable[Message]]] = {
    "assistant": _assistant,
    "command_lifecycle": _lifecycle,
    "conversation_reset": _reset,
    "rate_limit_event": _limit,
    "result": _result,
    **{f"stream/{kind}": read for kind, read in STREAM_EVENTS.items()},
    "system/commands_changed": _commands,
    "system/elicitation_complete": _elicited,
    "system/init": _init,
    "system/background_tasks_changed": _level,
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

_SILENT = frozenset(
    {
        "stream/content_block_stop",
        "stream/message_stop",
        "system/api_retry",
        "system/compact_boundary",
        "system/control_request_progress",
        "system/files_persisted",
        "system/hook_progress",
        "system/hook_response",
        "system/hook_started",
        "system/informational",
        "system/model_refusal_fallback",
        "system/notification",
        "system/plugin_install",
        "system/thinking_tokens",
        "tool_use_summary",
    }
)
"""Frames that say nothing that anybody needs (reference 10.3), or that `sessions.news` reads: not worth a log line."""
