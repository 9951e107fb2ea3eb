"""Recorded frames of the real Claude Code through the whole pipeline of the program: the lines that a client is sent.

tests/golden/subagents/NAME.frames.jsonl is what Claude Code wrote (2.1.332, texts shortened), FORM-NAME.jsonl what a
client of that form is sent for it. `python -m tests.stages.test_subagent_goldens` writes the latter anew: look at the
difference before you keep it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge import flow
from acpbridge.claude import control, events
from acpbridge.client_end import ClientEnd, Line, Written
from middleware import Message, StepRunner, acp
from middleware.messages import Answer, Interrupt, Prompt, Response, SessionOpened
from tests.acp.judge import Judge

GOLDEN = Path(__file__).parents[1] / "golden" / "subagents"
FORMS: dict[str, dict[str, Any]] = {"flat": {}, "children": {"subagents": {}}}
NAMES = ("foreground", "interrupted")
CASES = [(form, name) for form in FORMS for name in NAMES]


def lines_for(form: str, name: str) -> list[Any]:
    """What the client is sent of the turn, save how full the context is: that is not what is looked at here."""
    frames = [json.loads(line) for line in (GOLDEN / f"{name}.frames.jsonl").read_text("utf-8").splitlines()]
    sent = list(_Play(FORMS[form]).play(frames))
    return [line for line in sent if "usage_update" not in str(line) and line.get("id") not in ("before", "setup")]


class _Play:
    def __init__(self, capabilities: dict[str, Any]) -> None:
        pipeline = flow.pipeline(strict=True)
        end = pipeline.stages[0]
        assert isinstance(end, ClientEnd)
        end.new_uuid = lambda: "prompt-1"
        self.run = StepRunner(pipeline)
        self.judge = Judge()
        self._say("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}, "before")
        self._say("session/new", {"cwd": "/project", "mcpServers": []}, "setup")
        self.run.feed(SessionOpened(session="root", cwd="/project"))
        self.run.feed(Response(request="setup", result=acp.NewSessionResponse(session_id="root"))).run()
        self._say("session/prompt", {"sessionId": "root", "prompt": [{"type": "text", "text": "go"}]}, "prompt")
        assert any(isinstance(message, Prompt) for message in self.run.agent)

    def play(self, frames: list[dict[str, Any]]) -> Iterator[Any]:
        for frame in frames:
            if frame["type"] == "client_cancels":
                self._say("session/cancel", {"sessionId": "root"})
                assert any(isinstance(message, Interrupt) for message in self.run.agent)
                continue
            self.run.feed(*_messages(frame)).run()
        for message in self.run.client:
            if isinstance(message, Written):
                line = json.loads(message.data)
                self.judge.from_agent(line)
                yield line
        answers = [message for message in self.run.agent if isinstance(message, Answer)]
        assert len(answers) == sum(frame["type"] == "client_allows" for frame in frames)

    def _say(self, method: str, params: Any, number: str | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        self.judge.from_client(message)
        self.run.feed(Line(data=json.dumps(message).encode())).run()


def _messages(frame: dict[str, Any]) -> tuple[Message, ...]:
    match frame["type"]:
        case "client_allows":
            result = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}
            return (Line(data=json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()),)
        case "control_request":
            ask = control.ask_of("root", frame)
            assert isinstance(ask, Message)
            return (*control.subagent_of("root", frame), ask)
        case "control_cancel_request":
            return (control.withdrawal_of("root", frame),)
    return events.messages_of("root", frame)


@pytest.mark.parametrize(("form", "name"), CASES)
def test_golden(form: str, name: str) -> None:
    """The lines are those that were looked at, each legal ACP."""
    wanted = (GOLDEN / f"{form}-{name}.jsonl").read_text("utf-8").splitlines()
    assert lines_for(form, name) == [json.loads(line) for line in wanted]


if __name__ == "__main__":
    for form, name in CASES:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines_for(form, name))
        (GOLDEN / f"{form}-{name}.jsonl").write_text(text, encoding="utf-8")
