"""ScriptedModel: chooses the script of a request and plays it over HTTP. The parts are in the modules beside this
one."""

from __future__ import annotations

import functools
import itertools
import json
import threading
import uuid
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import attrs
from loguru import logger

from acpbridge.testing.clouds import call_of, foundation_models
from acpbridge.testing.directive import DirectiveError, find_directive
from acpbridge.testing.environment import claude_environment, write_settings
from acpbridge.testing.player import perform
from acpbridge.testing.record import ModelRequest, RequestLog
from acpbridge.testing.requests import (
    NOTHING_DUE,
    SIDE_KINDS,
    Kind,
    classify,
    conversation,
    number_of_blocks,
    session_id,
    working_directory,
)
from acpbridge.testing.script import Fail, Failure, Gate, Reply, Say, Script, Step, checked, due, in_directory
from acpbridge.testing.server import ClientGone, Exchange, HttpServer, Stopped
from acpbridge.testing.sides import models_page, side_reply
from acpbridge.testing.sse import SSE, play

Match: TypeAlias = str | Callable[[ModelRequest], bool]
"""A part of the prompt's text, or a predicate of the request."""

MODELS = ("claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5")


class ScriptedModel:
    """A local stand-in for Anthropic's Messages API, so that the real Claude Code runs without an account.

        with ScriptedModel() as model:
            model.on("hello", [[Say("Hello to you.")]])
            environment = model.prepare(tmp_path)      # for subprocess.Popen(..., env={**os.environ, **environment})

    The script of a prompt is, in this order: a `[[do: ...]]` in its text (directive.py), the last `on` that matches,
    and else `echo: <prompt>`. All methods may be called from any thread.

    `port`: 0 for any free one. `cwd`: what replaces `$CWD` in the inputs of tools, None for the working directory
    that Claude Code tells the model. `title`: what the answers to its title requests say.
    """

    def __init__(self, *, port: int = 0, cwd: str | Path | None = None, title: str = "Scripted title") -> None:
        self._wanted_port = port
        self._cwd = None if cwd is None else str(cwd)
        self._title = title
        self._port: int | None = None
        self._server = HttpServer(self._answer)
        self._log = RequestLog()
        self._lock = threading.Lock()
        self._scripts: list[_Registered] = []
        self._sides: dict[Kind, tuple[Step, ...]] = {}
        self._gates: dict[str, Gate] = {}
        self._attempts: dict[Hashable, int] = {}
        self._errors: list[Exception] = []
        # Ids differ between two models: a session that one began may go on with another.
        self._prefix = uuid.uuid4().hex[:10]
        self._count = itertools.count(1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        if error is None and self._errors:
            raise self._errors[0]

    def start(self) -> None:
        """Listen. Raises OSError when the port is taken."""
        self._port = self._server.start(self._wanted_port)

    def close(self) -> None:
        """End every answer at once and stop listening."""
        self._server.close()

    @property
    def url(self) -> str:
        """ANTHROPIC_BASE_URL. Raises RuntimeError before `start`."""
        if self._port is None:
            raise RuntimeError("the scripted model does not listen yet: use it in a with statement, or call start()")
        return f"http://127.0.0.1:{self._port}"

    def environment(self, home: Path, *, max_retries: int = 0) -> dict[str, str]:
        """All variables that Claude Code needs, to be put over those it inherits.

        `home` becomes its home, with its settings in `home/.claude`. `max_retries`: tries after a failed request (its
        own default is 10, with growing delays, which is minutes); after a stream that broke it asks once more without
        a stream in any case.
        """
        return claude_environment(self.url, home, max_retries)

    def write_settings(self, home: Path, settings: Mapping[str, Any] | None = None) -> Path:
        """Write `home/.claude/settings.json`: permissions are asked for, and `settings` over that; its path."""
        return write_settings(home, settings)

    def prepare(self, home: Path, settings: Mapping[str, Any] | None = None, *, max_retries: int = 0) -> dict[str, str]:
        """`write_settings` and `environment`."""
        self.write_settings(home, settings)
        return self.environment(home, max_retries=max_retries)

    def on(self, match: Match, script: Script, *, subagent: bool = False) -> None:
        """Play a script for the prompts that match: of the session, or (`subagent`) those that start a subagent.

        A text matches a prompt that contains it. Of several that match, the last registered is taken. A script that
        ended says so in the text of its further rounds. Raises what `script.checked` raises.
        """
        registered = _Registered(match=match, script=checked(script), kind="subagent" if subagent else "main")
        with self._lock:
            self._scripts.append(registered)

    def on_side(self, kind: Kind, reply: Reply) -> None:
        """Answer the side requests of a kind (title, suggestion, compact, recall, quota, helper) so from now on."""
        if kind not in SIDE_KINDS:
            raise ValueError(f"{kind!r} is not a kind of side request: {', '.join(SIDE_KINDS)}")
        [steps] = checked([reply])
        with self._lock:
            self._sides[kind] = steps

    def gate(self, name: str | None = None) -> Gate:
        """The gate of that name, the same at each call; a new one without a name."""
        with self._lock:
            name = name or f"gate {len(self._gates) + 1}"
            return self._gates.setdefault(name, Gate(name))

    @property
    def requests(self) -> list[ModelRequest]:
        """The requests so far, in the order in which they came."""
        return self._log.snapshot()

    def wait_for_request(self, predicate: Callable[[ModelRequest], bool], timeout: float = 10.0) -> ModelRequest:
        """The first request, of those so far and to come, for which the predicate holds.

        It is asked again when a request changes, so it may ask for `outcome`, `client_gone` or `status`; it must not
        wait, nor call this model. Raises TimeoutError, which lists what was seen, after `timeout` seconds.
        """
        return self._log.wait_for(predicate, timeout)

    # What follows runs in the threads of the server.

    def _answer(self, exchange: Exchange) -> None:
        request = self._log.add(lambda number: self._read(exchange, number))
        try:
            self._respond_or_refuse(exchange, request)
        except ClientGone:
            self._log.change(request, outcome="client gone")
            raise
        except Stopped:
            self._log.change(request, outcome="stopped")
            raise

    def _respond_or_refuse(self, exchange: Exchange, request: ModelRequest) -> None:
        try:
            self._respond(exchange, request)
        except (ClientGone, Stopped):
            raise
        except DirectiveError as error:
            self._refuse(exchange, request, 400, "invalid_request_error", str(error))
        except Exception as error:
            # A predicate of the test, most likely: it learns of it when it leaves the with statement.
            logger.error("scripted model: request {} could not be answered: {!r}", request.number, error)
            with self._lock:
                self._errors.append(error)
            if exchange.begun:
                self._log.change(request, outcome="cut")
                exchange.reset()
            else:
                self._refuse(exchange, request, 400, "invalid_request_error", f"the scripted model failed: {error!r}")

    def _read(self, exchange: Exchange, number: int) -> ModelRequest:
        # Runs under the log's lock, so that the attempts are counted in the order of the requests.
        path = _path(exchange)
        body, cloud = _parsed(exchange.body), call_of(path)
        if cloud is not None:
            path, body = "/v1/messages", cloud.body(body)
        request = ModelRequest(
            number=number,
            method=exchange.method,
            path=exchange.path,
            kind="other",
            body=body,
            header_names=exchange.header_names,
        )
        if exchange.method != "POST":
            return request
        if path == "/v1/messages/count_tokens":
            return attrs.evolve(request, kind="count_tokens")
        if path != "/v1/messages" or "messages" not in body:
            return request
        try:
            kind, session = classify(body), session_id(body)
            asked = NOTHING_DUE if kind in SIDE_KINDS else conversation(body)
        except (AttributeError, TypeError):  # not the shape of a Messages request: it is answered with a 400
            return request
        request = attrs.evolve(request, kind=kind, due=asked, session_id=session)
        key = _same_request(request)
        with self._lock:
            self._attempts[key] = request.attempt = self._attempts.get(key, 0) + 1
        return request

    def _respond(self, exchange: Exchange, request: ModelRequest) -> None:
        path = _path(exchange)
        if request.kind == "count_tokens":
            self._send(exchange, request, 200, {"input_tokens": max(1, len(exchange.body) // 4)})
        elif request.kind != "other":
            self._play(exchange, request)
        elif exchange.method == "HEAD" and path == "/":
            self._send(exchange, request, 200, {})
        elif exchange.method == "GET" and path == "/v1/models":
            self._send(exchange, request, 200, models_page(MODELS))
        elif exchange.method == "GET" and path == "/foundation-models":
            self._send(exchange, request, 200, foundation_models(MODELS))
        elif exchange.method == "POST" and path == "/v1/messages":
            self._refuse(exchange, request, 400, "invalid_request_error", "the body is not a Messages request")
        else:
            self._refuse(exchange, request, 404, "not_found_error", f"{exchange.method} {path}")

    def _play(self, exchange: Exchange, request: ModelRequest) -> None:
        cwd = self._cwd or working_directory(request.body) or "$CWD"
        steps = [in_directory(step, cwd) for step in due(self._reply(request), request.attempt)]
        if not any(isinstance(step, Failure) for step in steps):
            with self._lock:
                self._attempts.pop(_same_request(request), None)
        moves = play(
            steps,
            message_id=f"msg_{self._prefix}{next(self._count):06}",
            model=str(request.body.get("model", MODELS[0])),
            new_tool_id=lambda: f"toolu_{self._prefix}{next(self._count):06}",
        )
        record = functools.partial(self._log.change, request)
        cloud = call_of(_path(exchange))
        wire = cloud.wire if cloud is not None else SSE
        perform(exchange, moves, request.streaming, self._headers(), record, wire)

    def _reply(self, request: ModelRequest) -> Reply:
        if request.kind in SIDE_KINDS:
            with self._lock:
                chosen = self._sides.get(request.kind)
            return side_reply(request.kind, request.body, self._title) if chosen is None else chosen
        script = self._script(request)
        if script is None:
            return [Say(f"echo: {request.prompt}")]
        if request.round < len(script):
            return script[request.round]
        return [Say(f"(the script has no round {request.round})")]

    def _script(self, request: ModelRequest) -> Script | None:
        with self._lock:
            scripts = [each for each in reversed(self._scripts) if each.kind == request.kind]
        # Of the blocks of a prompt the later one counts.
        for prompt in reversed(request.due.prompts):
            written = find_directive(prompt, self.gate)
            if written is not None:
                return written
            for each in scripts:
                if isinstance(each.match, str) and each.match in prompt:
                    return each.script
        return next((each.script for each in scripts if not isinstance(each.match, str) and each.match(request)), None)

    def _send(self, exchange: Exchange, request: ModelRequest, status: int, value: Any) -> None:
        self._log.change(request, status=status, outcome="answered" if status == 200 else "failed")
        exchange.send_json(status, value, self._headers())

    def _refuse(self, exchange: Exchange, request: ModelRequest, status: int, kind: str, message: str) -> None:
        self._send(exchange, request, status, Fail(status, kind, message).body)

    def _headers(self) -> dict[str, str]:
        return {"request-id": f"req_{self._prefix}{next(self._count):06}"}


@attrs.frozen(kw_only=True)
class _Registered:
    match: Match
    script: tuple[tuple[Step, ...], ...]
    kind: Kind


def _same_request(request: ModelRequest) -> Hashable:
    """What the tries of one request have in common; a later request has more blocks, or another prompt."""
    return (request.session_id, request.kind, number_of_blocks(request.body), request.due)


def _path(exchange: Exchange) -> str:
    return exchange.path.partition("?")[0]


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError:  # no body, or not a JSON one: recorded as an empty one
        return {}
    return value if isinstance(value, dict) else {}
