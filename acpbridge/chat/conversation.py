"""The client's side of an ACP conversation: from initialize to the end of the last turn.

A state machine on the owner's thread: `run` takes the client's events one by one, each moves the conversation on. Here
belong turns, questions, cancelling and what the keyboard means at each moment. Nothing is rendered (`view.py`), and no
process, signal or terminal is touched.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from acpbridge.chat.client import AgentGone, Client, Event, Interrupted, NoMoreInput, Terminated, Typed
from acpbridge.chat.view import View, options
from acpbridge.jsonrpc import (
    ErrorReply,
    Notification,
    Reply,
    Request,
    RequestId,
)
from middleware.errors import AUTH_REQUIRED, REQUEST_CANCELLED, Failure

Verdict: TypeAlias = Literal["allow_once", "reject_once"]
Outcome: TypeAlias = Reply | ErrorReply

_CANCELLED: Final = {"outcome": {"outcome": "cancelled"}}
_CAPABILITIES: Final = {
    "fs": {"readTextFile": False, "writeTextFile": False},
    "terminal": False,
    "auth": {"terminal": True},
    "session": {"notices": {}},
}


class Conversation:
    """One session with an agent.

    `prompts` are sent first, one turn after the other; then, while `input_open`, what is typed; and what `otherwise`
    gives where nothing was typed before the end of the input. With a `terminal` the person answers the questions;
    without one each is answered with `verdict`, which is said. `login_command` starts the agent, for the advice to log
    in. `invite` shows a marker behind which the person types; without it the marker is written.
    """

    def __init__(
        self,
        client: Client,
        view: View,
        write: Callable[[str], None],
        *,
        cwd: str,
        prompts: Iterable[str] = (),
        terminal: bool,
        input_open: bool,
        verdict: Verdict = "reject_once",
        login_command: Sequence[str] = ("acpbridge",),
        otherwise: Callable[[], Iterable[str]] = tuple,
        invite: Callable[[str], None] | None = None,
    ) -> None:
        self._client = client
        self._view = view
        self._write = write
        self._cwd = cwd
        self._prompts = deque(prompts)
        self._terminal = terminal
        self._input_open = input_open
        self._verdict = verdict
        self._login_command = login_command
        self._otherwise = otherwise
        self._invite = invite or write
        self._prompted = bool(self._prompts)
        self._auth_methods: Sequence[Mapping[str, Any]] = ()
        self._waiting: dict[int, Callable[[Outcome], None]] = {}
        self._session: str | None = None
        self._in_turn = False
        self._cancelling = False
        # The questions that the agent waits for; the person sees the first.
        self._questions: dict[RequestId, Mapping[str, Any]] = {}
        # The exit code when nothing is left to do.
        self._code = 0
        self._exit: int | None = None
        self.agent_gone = False
        """Whether the agent ended by itself: the reason is in its stderr."""

    def run(self) -> int:
        """Hold the conversation; the exit code. The client is left open."""
        if self._terminal:
            self._write(self._view.starting())
        client_info = {"name": "acpbridge-chat", "title": "acpbridge chat", "version": "1"}
        self._call(
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": _CAPABILITIES, "clientInfo": client_info},
            self._initialized,
        )
        while self._exit is None:
            self._take(self._client.next())
        return self._exit

    def _take(self, event: Event) -> None:
        match event:
            case Reply() | ErrorReply():
                self._waiting.pop(event.call)(event)
            case Notification():
                self._notified(event.method, event.params)
            case Request(method="session/request_permission"):
                self._asked(event.id, event.params)
            case Request():
                self._client.fail(event.id, Failure.method_not_found(event.method))
            case Typed():
                self._typed(event.text)
            case NoMoreInput():
                self._no_more_input()
            case Interrupted():
                self._interrupted()
            case Terminated():
                self._exit = 143
            case AgentGone():
                self.agent_gone = True
                self._exit = 1

    def _call(self, method: str, params: dict[str, Any], then: Callable[[Outcome], None]) -> None:
        self._waiting[self._client.call(method, params)] = then

    def _initialized(self, outcome: Outcome) -> None:
        result = self._result(outcome, "The agent refuses the connection")
        if result is None:
            return
        if result.get("protocolVersion") != 1:
            self._write(self._view.problem(f"The agent speaks ACP {result.get('protocolVersion')}, this client 1."))
            self._exit = 1
            return
        methods = result.get("authMethods")
        self._auth_methods = [each for each in methods if isinstance(each, dict)] if isinstance(methods, list) else []
        self._call("session/new", {"cwd": self._cwd, "mcpServers": []}, self._opened)

    def _opened(self, outcome: Outcome) -> None:
        result = self._result(outcome, "No session could be opened")
        if result is not None:
            self._session = str(result.get("sessionId"))
            self._advance()

    def _result(self, outcome: Outcome, problem: str) -> Mapping[str, Any] | None:
        """The result of a call without which there is no conversation; None when it failed, which is said."""
        if isinstance(outcome, Reply) and isinstance(outcome.result, dict):
            return outcome.result
        if isinstance(outcome, ErrorReply):
            self._say_error(problem, outcome.error)
        else:
            self._write(self._view.problem(f"{problem}: its answer is not an object."))
        self._exit = 1
        return None

    def _advance(self) -> None:
        """Between two turns: the next prompt, the invitation to type one, or the end."""
        if self._session is None or self._in_turn or self._exit is not None:
            return
        if self._prompts:
            prompt = self._prompts.popleft()
            self._write(self._view.prompt(prompt))
            self._send(prompt)
        elif not self._input_open:
            self._exit = self._code
        elif self._terminal:
            self._invite(self._view.marker())

    def _send(self, prompt: str) -> None:
        self._in_turn, self._cancelling = True, False
        self._call(
            "session/prompt",
            {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]},
            self._turn_ended,
        )

    def _turn_ended(self, outcome: Outcome) -> None:
        self._in_turn = False
        self._drop_questions()
        if isinstance(outcome, ErrorReply):
            self._code = 1
            self._say_error("The prompt failed", outcome.error)
        else:
            reason = outcome.result.get("stopReason") if isinstance(outcome.result, dict) else None
            self._write(self._view.block() if reason == "end_turn" else self._view.note(f"(stopped: {reason})"))
        self._advance()

    def _notified(self, method: str, params: Any) -> None:
        params = params if isinstance(params, dict) else {}
        if method == "session/update":
            self._write(self._view.update(params.get("update")))
        elif method == "$/cancel_request":
            self._withdrawn(params.get("requestId"))

    def _asked(self, request: RequestId, params: Any) -> None:
        params = params if isinstance(params, dict) else {}
        if self._cancelling or not options(params):
            self._client.respond(request, _CANCELLED)
        elif self._terminal:
            self._questions[request] = params
            if len(self._questions) == 1:
                self._show_question()
        else:
            self._write(self._view.question(params))
            self._decide(request, params)

    def _show_question(self) -> None:
        for params in self._questions.values():
            self._write(self._view.question(params))
            self._invite(self._view.marker(f"Your choice (1-{len(options(params))}): "))
            return

    def _decide(self, request: RequestId, params: Mapping[str, Any]) -> None:
        """Answer a question without asking anybody."""
        for option in options(params):
            if option.get("kind") == self._verdict:
                self._write(self._view.note(f"(no terminal to ask at; answered: {option.get('name')})"))
                self._client.respond(request, _selected(option))
                return
        self._write(self._view.note(f"(no terminal to ask at, and no option to {self._verdict}: cancelled)"))
        self._client.respond(request, _CANCELLED)

    def _chosen(self, text: str) -> None:
        """The person's answer to the question on the screen."""
        request, params = next(iter(self._questions.items()))
        choices = options(params)
        # Nobody means a longer number, and Python refuses to read one of some thousand digits.
        number = int(text) if len(text) < 10 and text.strip().isdecimal() else 0
        if not 1 <= number <= len(choices):
            self._invite(self._view.marker(f"Please enter a number from 1 to {len(choices)}: "))
            return
        del self._questions[request]
        self._client.respond(request, _selected(choices[number - 1]))
        self._show_question()

    def _withdrawn(self, request: object) -> None:
        """The agent needs no answer any more, but JSON-RPC owes it one."""
        if not isinstance(request, int | str) or request not in self._questions:
            return
        shown = next(iter(self._questions)) == request
        del self._questions[request]
        self._client.fail(request, Failure.of(REQUEST_CANCELLED))
        if shown:
            self._write(self._view.note("(the question was withdrawn)"))
            self._show_question()

    def _drop_questions(self) -> None:
        """After a cancel each open question is answered `cancelled` (ACP, Cancellation)."""
        for request in self._questions:
            self._client.respond(request, _CANCELLED)
        self._questions.clear()

    def _typed(self, text: str) -> None:
        if self._terminal:
            self._view.entered()
        if self._questions:
            self._chosen(text)
            return
        self._prompted = self._prompted or bool(text.strip())
        if not text.strip():
            self._advance()
        elif self._terminal and self._session is not None and not self._in_turn:
            self._send(text)
        else:
            self._prompts.append(text)
            if self._in_turn and self._terminal:
                self._write(self._view.note("(sent when this turn has ended)"))
            self._advance()

    def _no_more_input(self) -> None:
        self._input_open = False
        if not self._terminal:
            if not self._prompted:
                self._prompts.extend(self._otherwise())
            self._advance()
            return
        self._cancel()
        self._write(self._view.block())
        self._exit = 0

    def _interrupted(self) -> None:
        if self._session is None or (self._cancelling and not self._terminal):
            self._exit = 130
        elif not self._in_turn:
            self._write(self._view.note("(nothing runs; Ctrl-D ends)"))
            self._advance()
        elif self._cancelling:
            self._write(self._view.note("(still cancelling; Ctrl-D ends)"))
        else:
            dropped = [f"(not sent: {prompt})" for prompt in self._prompts]
            self._prompts.clear()
            if not self._terminal:
                self._input_open, self._code = False, 130
            self._write(self._view.note("\n".join(["(cancelling)", *dropped])))
            self._cancel()

    def _cancel(self) -> None:
        if self._in_turn and not self._cancelling:
            self._cancelling = True
            self._client.notify("session/cancel", {"sessionId": self._session})
            self._drop_questions()

    def _say_error(self, problem: str, error: Failure) -> None:
        if error.code == AUTH_REQUIRED:
            self._exit = 1
            self._write(self._view.problem("Claude Code is not logged in. Log in, then start again:"))
            self._write(self._view.block(*self._login_advice()))
            return
        details = error.data.get("details") if isinstance(error.data, dict) else error.data
        text = f"{problem}: {error.message} (code {error.code})"
        self._write(self._view.problem(f"{text}\n{details}" if isinstance(details, str) else text))

    def _login_advice(self) -> list[str]:
        advice = []
        for method in self._auth_methods:
            arguments = method.get("args")
            name = method.get("name")
            if method.get("type") == "terminal" and isinstance(arguments, list):
                advice.append(f"  {name}: {shlex.join([*self._login_command, *map(str, arguments)])}")
        return advice or [f"  {shlex.join([*self._login_command, '--cli', 'auth', 'login'])}"]


def _selected(option: Mapping[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
