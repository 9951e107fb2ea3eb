"""Short words for the scripts of the turn and cancel tests, and what is asked of a run when it is over.

`p1` is the uuid of the prompt whose request is 1, and so on; `ask_for("x")` asks about the tool use `x` and is called
`ask x`. Everything is of the session `s` unless a test says otherwise.
"""

from __future__ import annotations

from typing import Any, Literal

from middleware import Message, acp
from middleware.messages import (
    Answer,
    AskWithdrawn,
    Cancel,
    Interrupt,
    PermissionAnswer,
    PermissionReply,
    PermissionRequest,
    Prompt,
    PromptEchoed,
    PromptStage,
    PromptState,
    Reply,
    RequestFailed,
    RequestStarted,
    Result,
    SessionClosed,
    Task,
    TaskLevel,
    Text,
    ToolCall,
    ToolCallUpdate,
    ToolGate,
    ToolGateAnswer,
    ToolInput,
    ToolResult,
    ToolUse,
    TurnEnded,
    WorkState,
    WorkStopped,
)
from middleware.stepping import StepRunner

S = "s"
DENIED = "The user cancelled this prompt."


def prompt(number: int, session: str = S) -> Prompt:
    return Prompt(
        session=session, request=number, prompt=f"p{number}", content=(acp.TextContent(text=f"prompt {number}"),)
    )


def state(number: int, what: PromptStage, session: str = S) -> PromptState:
    return PromptState(session=session, prompt=f"p{number}", state=what)


def started(number: int, session: str = S) -> PromptState:
    return state(number, "started", session)


def echoed(number: int, session: str = S) -> PromptEchoed:
    return PromptEchoed(session=session, prompt=f"p{number}")


def requesting(*numbers: int, session: str = S) -> RequestStarted:
    """A request to the model that says whom it serves."""
    return RequestStarted(session=session, prompts=tuple(f"p{number}" for number in numbers))


def unlisted(session: str = S) -> RequestStarted:
    """A request to the model that does not say whom it serves."""
    return RequestStarted(session=session)


def result(*numbers: int, session: str = S, **members: Any) -> Result:
    return Result(session=session, prompts=tuple(f"p{number}" for number in numbers), **members)


def follow_up(session: str = S, **members: Any) -> Result:
    """The result of work that Claude Code began by itself, since a task had ended."""
    return Result(session=session, origin="task-notification", **members)


def work(what: Literal["idle", "running", "requires_action"], session: str = S) -> WorkState:
    return WorkState(session=session, state=what)


def cancel(session: str = S) -> Cancel:
    return Cancel(session=session)


def text(words: str, session: str = S, **members: Any) -> Text:
    return Text(session=session, text=words, **members)


def use(name: str, parent: str | None = None, session: str = S) -> ToolUse:
    """A tool use in its complete message."""
    return ToolUse(session=session, tool_use=name, name="Write", input={"file_path": f"/{name}"}, parent=parent)


def use_begins(name: str, session: str = S) -> ToolUse:
    """The streamed start of a tool use."""
    return ToolUse(session=session, tool_use=name, name="Write", block=0, whole=False)


def tool_input(name: str, session: str = S) -> ToolInput:
    return ToolInput(session=session, block=0, json=f'{{"file_path": "/{name}"}}')


def tool_result(name: str, parent: str | None = None, session: str = S) -> ToolResult:
    return ToolResult(session=session, tool_use=name, content=f"result of {name}", parent=parent)


def ask_for(name: str, agent: str | None = None, session: str = S) -> PermissionRequest:
    """The ask for a tool use, in the client's words."""
    return PermissionRequest(
        session=session,
        ask=f"ask {name}",
        tool_use=name,
        agent=agent,
        name="Write",
        input={"file_path": f"/{name}"},
        call=acp.ToolCallUpdate(tool_call_id=name),
        options=(acp.PermissionOption(option_id="allow-once", name="Yes", kind="allow_once"),),
    )


def gate(name: str, agent: str | None = None, session: str = S) -> ToolGate:
    """A tool is about to run."""
    return ToolGate(session=session, ask=f"gate {name}", tool_use=name, agent=agent, name="Write")


def reply(name: str, option: str | None = "allow-once", session: str = S) -> PermissionReply:
    return PermissionReply(session=session, ask=f"ask {name}", option=option)


def withdrawn(name: str, session: str = S) -> AskWithdrawn:
    return AskWithdrawn(session=session, ask=f"ask {name}")


def subagent(
    task: str,
    what: Literal["running", "ended"] = "running",
    *,
    call: str | None = None,
    background: bool | None = True,
    session: str = S,
    **members: Any,
) -> Task:
    """A subagent starts (`running`), or ends. Its Agent call is `call of <task>`."""
    members.setdefault("subagent", what == "running")
    return Task(
        session=session, task=task, state=what, tool_use=call or f"call of {task}", background=background, **members
    )


def level(*tasks: str, session: str = S) -> TaskLevel:
    return TaskLevel(session=session, tasks=tasks)


def closed(session: str = S) -> SessionClosed:
    return SessionClosed(session=session)


# ------------------------------------------------------------------------------------------ what came of it


def play(runner: StepRunner, *messages: Message) -> StepRunner:
    """Feed message by message, each handled to its end."""
    for message in messages:
        runner.feed(message).run()
    return runner


def gave(runner: StepRunner, *messages: Message) -> list[Message]:
    """What leaves the pipeline, at either end, when these are played."""
    before = len(runner.sent)
    play(runner, *messages)
    return runner.sent[before:]


def answers(messages: list[Message]) -> list[tuple[Any, Any]]:
    """The answers of prompts among these: (request, stop reason or error text)."""
    found: list[tuple[Any, Any]] = []
    for message in messages:
        if isinstance(message, TurnEnded):
            found.append((message.request, message.failure.message if message.failure else message.stop_reason))
        elif isinstance(message, RequestFailed):
            found.append((message.request, message.failure.message))
    return found


def ended(messages: list[Message], request: int) -> TurnEnded:
    """The one answer of this prompt among these."""
    (answer,) = [message for message in messages if isinstance(message, TurnEnded) and message.request == request]
    return answer


def interrupts(messages: list[Message]) -> list[tuple[str, ...]]:
    return [message.drop for message in messages if isinstance(message, Interrupt)]


def stops(messages: list[Message]) -> int:
    return sum(isinstance(message, WorkStopped) for message in messages)


def verdicts(messages: list[Message], ask: str) -> list[str]:
    """How an ask was answered: "denied", "let" for a tool that may run, or the option that the client chose."""
    found = []
    for message in messages:
        if not isinstance(message, Reply | Answer) or message.ask != ask:
            continue
        if isinstance(message, PermissionReply):
            found.append(str(message.option))
        elif isinstance(message, ToolGateAnswer):
            found.append("let" if message.deny is None else "denied")
        else:
            assert isinstance(message, PermissionAnswer)
            found.append("denied" if message.decision == "deny" else message.decision)
    return found


def shown(messages: list[Message], ask: str) -> int:
    """How often the client was asked this."""
    return sum(isinstance(message, PermissionRequest) and message.ask == ask for message in messages)


def open_asks(messages: list[Message]) -> list[PermissionRequest]:
    """What the client has been asked and may still answer, as far as it knows; `messages` is all that was sent."""
    asked: dict[str, PermissionRequest] = {}
    for message in messages:
        if isinstance(message, PermissionRequest):
            asked[message.ask] = message
        elif isinstance(message, AskWithdrawn | Reply):
            asked.pop(message.ask, None)
    return list(asked.values())


def answer_all(runner: StepRunner) -> None:
    """The client allows whatever it has been asked."""
    for ask in open_asks(runner.sent):
        play(runner, PermissionReply(session=ask.session, ask=ask.ask, option="allow-once"))


def open_calls(messages: list[Message]) -> list[str]:
    """The tool calls that the client holds and that have not ended."""
    calls: dict[str, None] = {}
    for message in messages:
        if isinstance(message, ToolCall):
            assert message.call.tool_call_id not in calls
            calls[message.call.tool_call_id] = None
        elif isinstance(message, ToolCallUpdate) and message.change.status in ("completed", "failed"):
            calls.pop(message.change.tool_call_id, None)
    return list(calls)
