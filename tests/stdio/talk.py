"""One session of an agent that several tests share: its prompts with their scripts, and what was seen of it alone."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from acpbridge.testing import Say, ScriptedModel, UseTool
from tests.stdio.agent_process import AgentProcess, Message, Seen

_numbers = itertools.count(1)


def asked(model: ScriptedModel, prompt: str) -> str:
    """The messages of the request in which the model was given a prompt."""
    request = model.wait_for_request(lambda request: prompt in request.prompt and request.kind == "main")
    return str(request.body["messages"])


class Talk:
    """A new session, and what follows in it.

    Args:
        agent: the agent, initialized.
        model: its model.
        work: the session's directory; made if it is not there.
        mode: the mode that it is put in first.
        params: further params of `session/new`.
    """

    def __init__(
        self, agent: AgentProcess, model: ScriptedModel, work: Path, *, mode: str | None = None, **params: Any
    ) -> None:
        self.agent, self.model, self.work = agent, model, work
        self.word = f"talk{next(_numbers)}x"  # part of its prompts, and of no other session's
        self.plan = f"1. do {self.word}\n2. check it"
        self.begun = len(agent.seen)
        self.session = agent.new_session(work, **params)
        if mode is not None:
            agent.answer(agent.request("session/set_mode", {"sessionId": self.session, "modeId": mode}))

    def prompt(self, *rounds: Any, text: str = "prompt") -> int:
        """Prompt, and have the model play these rounds; the number of the request."""
        text = f"{self.word} {next(_numbers)} {text}"
        self.model.on(text, rounds)
        return self.agent.prompt(self.session, text)

    def run(self, *rounds: Any) -> Message:
        """The same; the result of the answer."""
        return self.result(self.prompt(*rounds))

    def result(self, number: int) -> Message:
        answer = self.agent.answer(number)
        assert "result" in answer, f"{answer}\n{self.agent.log()[-3000:]}"
        result: Message = answer["result"]
        return result

    @property
    def seen(self) -> list[Seen]:
        """All messages of the session."""
        return self.seen_since(self.begun)

    def seen_since(self, begin: int) -> list[Seen]:
        """Those that came when so many messages of the agent had been seen."""
        return [
            item for item in self.agent.seen[begin:] if item.message.get("params", {}).get("sessionId") == self.session
        ]

    def updates(self, *kinds: str) -> list[Message]:
        return [item.update for item in self.seen if item.update.get("sessionUpdate") in kinds]

    @property
    def text(self) -> str:
        return self.agent.text(self.seen)

    @property
    def asks(self) -> list[Message]:
        return [item.message for item in self.seen if item.message.get("method") == "session/request_permission"]

    def asked(self, count: int = 1) -> Message:
        """The `count`th permission request of the session, once it is there."""
        found: list[Message] = self.agent.wait_for(
            lambda seen: len(self.asks) >= count and self.asks, f"permission request {count}"
        )
        return found[count - 1]

    @property
    def calls(self) -> list[Message]:
        """The tool calls as the client holds them now, each with all that changed."""
        calls: dict[str, Message] = {}
        for update in self.updates("tool_call", "tool_call_update"):
            calls[update["toolCallId"]] = {**calls.get(update["toolCallId"], {}), **update}
        return list(calls.values())

    @property
    def statuses(self) -> list[str]:
        """How each of its calls stands, in the order of their announcements."""
        return [call["status"] for call in self.calls]

    def asked_model(self, word: str | None = None) -> str:
        """The messages of the last request that the model was made in this session, or with another word in it."""
        asked = [request for request in self.model.requests if request.kind == "main"]
        found = [messages for request in asked if (word or self.word) in (messages := str(request.body["messages"]))]
        return found[-1]

    def planned(self) -> UseTool:
        """Have Claude Code, in plan mode, write a plan where it keeps it; the tool use that shows it to the person."""
        self.run([Say("Planning.")])
        place = re.search(r"/[^\s\"'`]*/plans/[\w-]+\.md", self.asked_model())
        assert place is not None, self.asked_model()
        self.run([UseTool("Write", {"file_path": place[0], "content": self.plan})], [Say("Planned.")])
        return UseTool("ExitPlanMode", {"plan": self.plan})

    def close(self) -> None:
        """Nothing is open in it, and it closes."""
        assert [call["toolCallId"] for call in self.calls if call["status"] not in ("completed", "failed")] == []
        assert self.agent.answer(self.agent.request("session/close", {"sessionId": self.session}))["result"] == {}
