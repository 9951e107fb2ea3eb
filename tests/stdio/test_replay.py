"""A replay against the live turns, field by field, in the real program with the real Claude Code (reference 9.7).

One session uses each kind of tool call, is stopped in each way, and works in the background; what the client holds
after a load is what it held before. What differs is listed in `_as_replayed`, each thing with its reason.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.sessions.past_tasks import UNFINISHED
from acpbridge.testing import Fail, Say, ScriptedModel, Step, Think, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Message, wait_for_file
from tests.stdio.mcp_client import PATIENT, answer, elicitation, server
from tests.stdio.talk import Talk
from tests.stdio.told import calls, differences, told

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
LARGE = "0123456789abcde\n" * 70_000
"""More than 1 MiB: Claude Code compares no file of this size with what it becomes."""

META = {"claudeCode": {"options": {"model": "claude-opus-4-5", **PATIENT["claudeCode"]["options"]}}}
TODOS = {"CLAUDE_CODE_ENABLE_TASKS": "0"}
RICH = {"_meta": {"terminal_output": True}, "plan": {}, "session": {"compaction": {}, "notices": {}}}


class Compared(Talk):
    """A session that is compared with its replay."""

    def __init__(
        self, agent: AgentProcess, model: ScriptedModel, work: Path, *, mode: str | None = None, meta: Message = META
    ) -> None:
        self.servers, self.meta = [server("srv")], meta
        super().__init__(agent, model, work, mode=mode, mcpServers=self.servers, _meta=meta)

    def send(self, *blocks: Message) -> Message:
        """Prompt with these blocks; the answer."""
        params = {"sessionId": self.session, "prompt": list(blocks)}
        return self.agent.answer(self.agent.request("session/prompt", params))

    def command(self, text: str) -> Message:
        return self.send({"type": "text", "text": text})

    def live(self, begin: int | None = None) -> list[Message]:
        """What the client holds of all that happened, or of what did since."""
        return told(self.agent, self.session, self.begun if begin is None else begin)

    def load(self) -> list[Message]:
        """What it holds after a load, which has no prompt among it."""
        begun = len(self.agent.seen)
        params = {"sessionId": self.session, "cwd": str(self.work), "mcpServers": self.servers, "_meta": self.meta}
        answer = self.agent.answer(self.agent.request("session/load", params))
        assert "result" in answer, answer
        return told(self.agent, self.session, begun)


def bash(command: str, **given: Any) -> UseTool:
    return UseTool("Bash", {"command": command, "description": f"about {command}"[:40], **given})


OLD = {"small.txt": "one\ntwo\n", "same.txt": "same\n", "large.txt": LARGE, "over.txt": LARGE, "kept.txt": "kept\n"}

TODO = {"content": "look", "activeForm": "looking", "status": "in_progress"}


def turns(work: Path) -> dict[str, list[list[Step]]]:
    """The rounds of each turn."""

    def read(name: str, **given: Any) -> UseTool:
        return UseTool("Read", {"file_path": str(work / name), **given})

    def write(name: str, content: str) -> UseTool:
        return UseTool("Write", {"file_path": str(work / name), "content": content})

    def edit(name: str, old: str, new: str) -> UseTool:
        return UseTool("Edit", {"file_path": str(work / name), "old_string": old, "new_string": new})

    return {
        "think": [[Think("hmm"), Say("I think.")]],
        "read": [
            [read("small.txt")],
            [read("dot.png")],
            [read("none.txt")],
            [read("kept.txt", limit=1)],
            [Say("read")],
        ],
        "write": [[write("new.txt", "new\n")], [write("small.txt", "one\n2\n")], [Say("written")]],
        "write the same": [[read("same.txt")], [write("same.txt", "same\n")], [Say("written")]],
        "write over a large one": [[read("large.txt", limit=1)], [write("large.txt", "short\n")], [Say("written")]],
        "write much": [
            [write("much.txt", LARGE), read("over.txt", limit=1)],
            [write("over.txt", LARGE[1:])],
            [Say("k")],
        ],
        "edit": [[edit("small.txt", "2\n", "two\n")], [edit("small.txt", "not there", "x")], [Say("edited")]],
        "run": [[bash("echo out; echo err >&2"), bash("exit 7")], [bash("true"), bash("seq 20000")], [Say("run")]],
        "plan": [[UseTool("TodoWrite", {"todos": [TODO]})], [Say("noted")]],
        "ask servers": [[UseTool("mcp__srv__echo", {"text": "hi"})], [UseTool("mcp__srv__fails")], [Say("asked")]],
        "use no tool": [[UseTool("NoSuchTool", {"a": 1})], [Say("well")]],
        "fetch": [[UseTool("WebFetch", {"url": "http://127.0.0.1:1/", "prompt": "p"})], [Say("fetched")]],
        "be refused": [
            [UseTool("WebFetch", {"url": "http://127.0.0.1:1/refused", "prompt": "p"})],
            [write("refused.txt", "x"), write("kept.txt", "refused")],
            [bash("touch refused")],
            [Say("well")],
        ],
    }


def choose(request: Message) -> str:
    if "refused" in json.dumps(request["params"]["toolCall"]):
        return "reject"
    offered = {option["optionId"] for option in request["params"]["options"]}
    return "exit-plan-default" if "exit-plan-default" in offered else "allow-once"


@pytest.fixture(scope="module", params=[{}, RICH], ids=["plain", "rich"])
def client(
    request: pytest.FixtureRequest, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AgentProcess]:
    """An agent whose client shows text, and one whose client shows all there is."""
    with AgentProcess(model, tmp_path_factory.mktemp("replay") / "home", environment=TODOS) as agent:
        agent.initialize(request.param)
        yield agent


def test_all_there_is(client: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """What a client holds after a load is what it held before, of an open session and of a closed one."""
    talk = Compared(client, model, tmp_path / "work")
    for name, text in OLD.items():
        (talk.work / name).write_text(text)
    (talk.work / "dot.png").write_bytes(base64.b64decode(PIXEL))
    client.choose = choose
    for name, rounds in turns(talk.work).items():
        assert talk.result(talk.prompt(*rounds, text=name))["stopReason"] == "end_turn", name
    _in_the_background(talk)
    _sent_with_all_blocks(talk)
    _stopped(talk)
    _failed(talk)
    for command in ("/context", "/nosuch thing", "/init", "/mcp:srv:greet Ann"):
        assert "result" in talk.command(command)
    before = _as_replayed(talk.live())
    assert len(calls(before)) >= 30
    same(before, talk.load())
    talk.close()
    same(before, talk.load())
    talk.close()


def test_other_ways_of_working(model: ScriptedModel, tmp_path: Path) -> None:
    """The same with an approved plan, a task list, a notebook, an answered question, agents in the foreground and
    behind it, and a prompt that is taken into a turn that runs."""
    meta = {"claudeCode": {"options": {"model": "claude-sonnet-4-5"}}}
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize({**RICH, "elicitation": {"form": {}}})
        talk = Compared(agent, model, tmp_path / "work", mode="plan", meta=meta)
        agent.choose = choose
        (talk.work / "n.ipynb").write_text(json.dumps(NOTEBOOK))
        talk.run([talk.planned()], [Say("I go on.")])
        talk.run([UseTool("TaskCreate", {"subject": "build", "description": "build it"})], [Say("noted")])
        talk.run([UseTool("TaskUpdate", {"taskId": "1", "status": "completed"})], [Say("done")])
        talk.run([UseTool("Read", {"file_path": str(talk.work / "n.ipynb")})], [_cell(talk)], [Say("edited")])
        _questioned(talk)
        talk.run([_agent("in front", run_in_background=False)], [Say("It is back.")])
        _behind(talk)
        _steered(talk)
        before = talk.live()
        assert len(calls(before)) >= 8
        talk.close()
        same(before, talk.load())
        talk.close()


NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "a", "source": "1", "metadata": {}, "outputs": [], "execution_count": None}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def _cell(talk: Compared) -> UseTool:
    return UseTool("NotebookEdit", {"notebook_path": str(talk.work / "n.ipynb"), "cell_id": "a", "new_source": "2"})


def _agent(prompt: str, **given: Any) -> UseTool:
    about = {"description": f"go {prompt}", "prompt": prompt, "subagent_type": "general-purpose"}
    return UseTool("Agent", {**about, **given})


def _behind(talk: Compared) -> None:
    """An agent that reports when the turn that began it has said its last word."""
    gate = talk.model.gate()
    talk.model.on("behind", [[Wait(gate), Say("the report")]], subagent=True)
    prompt = talk.prompt([_agent("behind", run_in_background=True)], [Say("It works.")], [Say("It is back too.")])
    talk.agent.chunk("It works.")
    gate.open()
    assert talk.result(prompt)["stopReason"] == "end_turn"
    talk.agent.chunk("It is back too.")


def _questioned(talk: Compared) -> None:
    options = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
    question = {"question": "Which one?", "header": "Pick", "multiSelect": False, "options": options}
    prompt = talk.prompt([UseTool("AskUserQuestion", {"questions": [question]})], [Say("thanks")])
    answer(talk.agent, elicitation(talk.agent), "accept", question_0="B")
    assert talk.result(prompt)["stopReason"] == "end_turn"


def _steered(talk: Compared) -> None:
    """A prompt that comes while a command runs, and is taken into its turn."""
    command = "touch runs; until [ -e go ]; do sleep 0.05; done"
    first = talk.prompt([bash(command)], [Say("Both are done.")])
    wait_for_file(talk.work / "runs")
    second = talk.prompt([Say("never asked for")])
    mode = {"sessionId": talk.session, "modeId": "default"}
    talk.agent.answer(talk.agent.request("session/set_mode", mode))  # which Claude Code reads behind the prompt
    (talk.work / "go").touch()
    assert [talk.result(number)["stopReason"] for number in (first, second)] == ["end_turn", "end_turn"]


def test_nobody_is_asked(client: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """The same where files are changed without an ask, so that no call shows what was there before it ran."""
    talk = Compared(client, model, tmp_path / "work", mode="acceptEdits")
    for name, text in OLD.items():
        (talk.work / name).write_text(text)
    asked = len(talk.asks)
    for name, rounds in turns(talk.work).items():
        if name.startswith(("write", "edit")):
            talk.result(talk.prompt(*rounds, text=name))
    assert len(talk.asks) == asked
    before = talk.live()
    by_file = {call["title"]: call["content"] for call in calls(before)}
    assert [item["type"] for item in by_file["Write large.txt"]] == ["content", "content"]
    assert "too large to diff" in str(by_file["Write large.txt"][0])
    assert by_file["Write same.txt"][0]["oldText"] == "same\n"
    talk.close()
    same(before, talk.load())
    talk.close()


def test_left_running(client: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A command in the background goes on while its session is open, so a load does not end it; it ended with the
    Claude Code that ran it, and every later load says so."""
    talk = Compared(client, model, tmp_path / "work")
    client.choose = choose
    talk.run([bash("touch runs; tail -f /dev/null", run_in_background=True)], [Say("It runs.")])
    wait_for_file(talk.work / "runs")
    before = talk.live()
    same(before, talk.load())
    talk.close()
    for _ in range(2):
        [call] = calls(talk.load())
        task = call["claudeCode"]["task"]
        assert (task["status"], task["summary"]) == ("stopped", UNFINISHED)
        assert "terminal_info" not in call or call["terminal_exit"]["exit_code"] is None
        assert "terminal_info" in call or UNFINISHED in str(call["content"][-1])
        talk.close()


def test_compacted(client: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """Behind a compaction a load begins with its summary and what Claude Code kept. Not the same is the compaction's
    id: live it is of a frame that the transcript does not have."""
    talk = Compared(client, model, tmp_path / "work")
    talk.run([Say("The first answer.")])
    assert "result" in talk.command("/compact")
    talk.run([Say("The second answer.")])
    live, after = talk.live(), talk.load()
    live = live[next(place for place, item in enumerate(live) if item.get("text") == "/compact") + 1 :]
    assert [_without_id(item) for item in live[:1] + live[-2:]] == [
        _without_id(item) for item in after[:1] + after[-2:]
    ]
    assert live[0]["status"] == "completed"
    assert live[0].get("content") or live[0]["summary"]
    talk.close()


def test_cleared(client: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """With /clear the plan is over, and the session is about something else: it is given a title again. A load tells
    what was said since (reference 9.11)."""
    talk = Compared(client, model, tmp_path / "work")
    talk.run([UseTool("TodoWrite", {"todos": [TODO]})], [Say("noted")])
    _titled(talk, talk.begun)
    begun = len(client.seen)
    assert "result" in talk.command("/clear")
    assert [update["entries"] for update in talk.updates("plan")][-1] == []
    talk.run([Say("The answer since.")])
    _titled(talk, begun)
    same(talk.live(begun)[-2:], talk.load())
    talk.close()


def _titled(talk: Compared, begin: int) -> None:
    """Wait until the client is told a title, behind so many messages."""
    talk.agent.wait_for(lambda seen: any(item.update.get("title") for item in talk.seen_since(begin)), "a title")


def _without_id(item: Message) -> Message:
    return {key: value for key, value in item.items() if key not in ("compactionId", "toolCallId")}


def same(before: list[Message], after: list[Message]) -> None:
    found = differences(before, after)
    assert not found, "\n".join(found)


def _in_the_background(talk: Compared) -> None:
    """Two commands go on behind their turns: one ends well, one fails, and Claude has a word to say of each."""
    for number, end in enumerate(["echo well", "exit 3"], 1):
        command = f"until [ -e go{number} ]; do sleep 0.05; done; {end}"
        begin = [bash(command, run_in_background=True)]
        assert talk.run(begin, [Say("It runs.")], [Say(f"The end of {number}.")])["stopReason"] == "end_turn"
        (talk.work / f"go{number}").touch()
        talk.agent.chunk(f"The end of {number}.")


def _sent_with_all_blocks(talk: Compared) -> None:
    answer = talk.send(
        {"type": "text", "text": f"{talk.word} look at these"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///x/y.txt", "name": "y.txt"},
        {"type": "resource", "resource": {"uri": "file:///x/z.txt", "text": "what is\nin it"}},
        {"type": "text", "text": "thanks"},
    )
    assert answer["result"]["stopReason"] == "end_turn"


def _stopped(talk: Compared) -> None:
    """Cancelled while text streams, while a command runs, and while a permission is asked for."""
    gate = talk.model.gate()
    prompt = talk.prompt([Say("I begin to say"), Wait(gate)])
    talk.agent.chunk("I begin to say")
    talk.agent.cancel(talk.session)
    assert talk.result(prompt)["stopReason"] == "cancelled"
    gate.open()
    prompt = talk.prompt([Say("It runs."), bash("touch runs; tail -f /dev/null")])
    wait_for_file(talk.work / "runs")
    talk.agent.cancel(talk.session)
    assert talk.result(prompt)["stopReason"] == "cancelled"
    talk.agent.choose = None
    asked = len(talk.asks) + 1
    prompt = talk.prompt([Say("May I?"), bash("touch asked")])
    talk.asked(asked)
    talk.agent.cancel(talk.session)
    assert talk.result(prompt)["stopReason"] == "cancelled"
    talk.agent.choose = choose


def _failed(talk: Compared) -> None:
    """The model's API refuses."""
    assert "error" in talk.agent.answer(talk.prompt([Fail(400)]))


def _as_replayed(items: list[Message]) -> list[Message]:
    """What a replay shows of this. It lacks:

    - a command that Claude Code runs by itself, and its output: neither is in the conversation (9.7, item 6);
    - what an ask showed of a file on the disk, where the call then failed: the transcript has only what was to be
      written. (A call that succeeded says itself what the file was.)
    """
    kept = []
    for item in items:
        if item.get("text") == "/context" or str(item.get("text")).startswith("## Context Usage"):
            continue
        if item["is"] == "call" and item["status"] == "failed" and item["name"] == "Write":
            item = {**item, "content": [_without_old_text(content) for content in item["content"]]}
        kept.append(item)
    return kept


def _without_old_text(content: Message) -> Message:
    return {key: value for key, value in content.items() if key != "oldText"}
