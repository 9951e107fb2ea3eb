"""Subagents through the real program and the real Claude Code: flat for most clients, child sessions for some."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from acpbridge.testing import Say, ScriptedModel, Think, UseTool, Wait
from tests.stdio.agent_process import AgentProcess, Message, Seen, wait_for_file


@pytest.fixture(scope="module")
def flat(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client knows no child sessions."""
    with AgentProcess(model, tmp_path_factory.mktemp("flat") / "home") as agent:
        agent.initialize()
        yield agent


@pytest.fixture(scope="module")
def parent(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client has child sessions."""
    with AgentProcess(model, tmp_path_factory.mktemp("parent") / "home") as agent:
        agent.initialize({"subagents": {}})
        yield agent


def delegate(prompt: str, **members: Any) -> UseTool:
    given = {"description": f"About {prompt}", "subagent_type": "general-purpose", "run_in_background": False}
    return UseTool("Agent", {"prompt": prompt, **given, **members})


def write(path: Path) -> UseTool:
    return UseTool("Write", {"file_path": str(path), "content": "content\n"})


def wait_in(work: Path) -> UseTool:
    """A command that says that it runs, and does not end by itself while a test runs."""
    return UseTool("Bash", {"command": f"touch {work / 'started'}; sleep 60"})


def say_something() -> UseTool:
    return UseTool("Bash", {"command": "echo in the child", "description": "Say something"})


@attrs.frozen
class Past:
    """What an agent said from a point on."""

    agent: AgentProcess
    since: int

    @property
    def seen(self) -> list[Seen]:
        return self.agent.seen[self.since :]


def updates(agent: AgentProcess | Past, session: str, *kinds: str) -> list[Message]:
    """The updates of a session, of these kinds."""
    found = [item for item in agent.seen if item.update and item.message["params"]["sessionId"] == session]
    return [item.update for item in found if not kinds or item.update["sessionUpdate"] in kinds]


def text(agent: AgentProcess | Past, session: str) -> str:
    chunks = updates(agent, session, "agent_message_chunk", "agent_thought_chunk")
    return "".join(chunk["content"]["text"] for chunk in chunks)


def children(agent: AgentProcess | Past, session: str) -> list[str]:
    """The child sessions that a session was told of, in their order."""
    return list(dict.fromkeys(update["sessionId"] for update in updates(agent, session, "subagent_update")))


def states(agent: AgentProcess | Past, session: str, child: str) -> list[str]:
    """Where a child stood, one after the other; an idle one with its reason."""
    told = [update for update in updates(agent, session, "subagent_update") if update["sessionId"] == child]
    steps = [update["state"] for update in told if "state" in update]
    return [" ".join(word for word in (step["state"], step.get("stopReason")) if word) for step in steps]


def spoken(agent: AgentProcess | Past, session: str) -> list[tuple[str, str, str]]:
    """The session messages in a transcript: from, to, text."""
    return [
        (message["senderSessionId"], message["recipientSessionId"], message["content"][0]["text"])
        for message in updates(agent, session, "session_message")
    ]


def statuses(agent: AgentProcess | Past, session: str) -> list[str]:
    """How the calls of a session ended."""
    ended = [update.get("status") for update in updates(agent, session, "tool_call", "tool_call_update")]
    return [status for status in ended if status in ("completed", "failed")]


def first_child(agent: AgentProcess, session: str) -> str:
    found: str = agent.wait_for(lambda seen: next(iter(children(agent, session)), None), "a child session")
    return found


# ------------------------------------------------------------------------------------------ the flat form


def test_flat(flat: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A client without child sessions: the Agent call, the child's calls with their parent, and none of its words."""
    path = tmp_path / "flat.txt"
    model.on("flat work", [[delegate("flat child")], [Say("parent done")]])
    model.on("flat child", [[Think("child thinks"), Say("child text"), write(path)], [Say("result")]], subagent=True)
    session = flat.new_session(tmp_path)
    assert flat.answer(flat.prompt(session, "flat work"))["result"]["stopReason"] == "end_turn"
    assert text(flat, session) == "parent done"
    launch, inner = updates(flat, session, "tool_call")
    assert inner["_meta"]["claudeCode"] == {"toolName": "Write", "parentToolUseId": launch["toolCallId"]}
    assert path.exists()
    assert statuses(flat, session) == ["completed", "completed"]
    assert children(flat, session) == []


def test_flat_with_text(flat: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A session that asks for it is given its subagents' words, with the call that they belong to."""
    model.on("told work", [[delegate("told child")], [Say("parent done")]])
    model.on("told child", [[Say("child text")]], subagent=True)
    session = flat.new_session(tmp_path, _meta={"claudeCode": {"options": {"forwardSubagentText": True}}})
    flat.answer(flat.prompt(session, "told work"))
    child, *_ = updates(flat, session, "agent_message_chunk")
    assert child["content"]["text"] == "child text"
    assert child["_meta"]["claudeCode"]["parentToolUseId"] == updates(flat, session, "tool_call")[0]["toolCallId"]


def test_command_in_the_background(flat: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A command that outlives its call: the call is over at once, and says how the command ended when it has."""
    command = {"command": "echo background", "run_in_background": True}
    model.on("start it", [[UseTool("Bash", command)], [Say("started")], [Say("seen")]])
    session = flat.new_session(tmp_path)
    flat.answer(flat.prompt(session, "start it"))

    def followed_up(seen: list[Seen]) -> Message | None:
        changes = updates(flat, session, "tool_call_update")
        return next((change for change in changes if "task" in change["_meta"].get("claudeCode", {})), None)

    change = flat.wait_for(followed_up, "how the command ended")
    assert change["_meta"]["claudeCode"]["task"]["status"] == "completed"
    assert "exit code 0" in change["content"][-1]["content"]["text"]
    assert "status" not in change


# ------------------------------------------------------------------------------------------ child sessions


def test_child_session(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A foreground child: announced before all of it, its words and calls and the permission that it asks for in its
    own session, and its report told to its parent when it has ended."""
    path = tmp_path / "child.txt"
    model.on("child work", [[delegate("the child")], [Say("parent done")]])
    model.on("the child", [[Say("child text"), write(path)], [Say("child result")]], subagent=True)
    session = parent.new_session(tmp_path)
    before = len(parent.seen)
    assert parent.answer(parent.prompt(session, "child work"))["result"]["stopReason"] == "end_turn"

    [child] = children(parent, session)
    announced = updates(parent, session, "subagent_update")[0]
    assert (announced["title"], announced["description"]) == ("About the child", "general-purpose")
    assert announced["capabilities"] == {"cancel": {}}
    assert states(parent, session, child) == ["running", "requires_action", "running", "idle end_turn"]
    assert spoken(parent, session) == [(session, child, "the child"), (child, session, "child result")]
    assert spoken(parent, child) == [(session, child, "the child")]
    assert text(parent, child) == "child textchild result"
    assert text(parent, session) == "parent done"
    assert updates(parent, session, "tool_call") == []
    assert statuses(parent, child) == ["completed"]
    asked = [
        item.message for item in parent.seen[before:] if item.message.get("method") == "session/request_permission"
    ]
    assert [request["params"]["sessionId"] for request in asked] == [child]
    about = [item for item in parent.seen[before:] if child in str(item.message)]
    assert about[0].update["sessionUpdate"] == "subagent_update"
    assert path.exists()


def test_two_in_parallel(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """Two children at once, the second in the background: what each does stays in its own session, and the prompt is
    answered when both are through."""
    gates = [model.gate(), model.gate()]
    model.on("both work", [[delegate("left"), delegate("right", run_in_background=True)], [Say("a")], [Say("b")]])
    for name, gate in zip(("left", "right"), gates, strict=True):
        reply: list[list[Any]] = [[Say(f"{name} begins"), write(tmp_path / name)], [Wait(gate), Say(f"{name} ends")]]
        model.on(name, reply, subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "both work")
    for name, gate in zip(("left", "right"), gates, strict=True):
        wait_for_file(tmp_path / name)
        gate.open()
    assert parent.answer(prompt)["result"]["stopReason"] == "end_turn"
    left, right = sorted(children(parent, session), key=lambda child: text(parent, child))
    assert text(parent, left) == "left beginsleft ends"
    assert text(parent, right) == "right beginsright ends"
    for child in (left, right):
        assert states(parent, session, child)[-1] == "idle end_turn"
        assert statuses(parent, child) == ["completed"]
    assert "begins" not in text(parent, session)


def test_a_child_is_stopped(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A cancel of the child's own session stops it alone: its call is over, it is idle, its parent goes on."""
    model.on("stop one", [[delegate("stopped child")], [Say("parent done")]])
    model.on("stopped child", [[wait_in(tmp_path)]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "stop one")
    wait_for_file(tmp_path / "started")
    child = first_child(parent, session)
    parent.cancel(child)
    assert parent.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert states(parent, session, child)[-1] == "idle cancelled"
    assert statuses(parent, child) == ["failed"]
    assert text(parent, session) == "parent done"
    refused = parent.answer(parent.prompt(child, "hello?"))
    assert refused["error"]["code"] == -32002


def test_cancel_of_the_parent(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A cancel of the parent stops its foreground child, and the child's open call is over before the answer."""
    model.on("stop all", [[delegate("foreground child")], [Say("never")]])
    model.on("foreground child", [[wait_in(tmp_path)]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "stop all")
    wait_for_file(tmp_path / "started")
    parent.cancel(session)
    assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
    [child] = children(parent, session)
    assert states(parent, session, child)[-1] == "idle cancelled"
    ended = [index for index, item in enumerate(parent.seen) if item.update.get("status") == "failed"]
    answered = next(index for index, item in enumerate(parent.seen) if item.message.get("id") == prompt)
    assert statuses(parent, child) == ["failed"]
    assert ended[-1] < answered


def test_cancel_with_a_background_child(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A child in the background outlives a cancel of its parent, and is stopped by its own session id."""
    stand = model.gate()
    model.on("spare it", [[delegate("background child", run_in_background=True)], [Say("parent"), Wait(stand)]])
    model.on("background child", [[wait_in(tmp_path)]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "spare it")
    wait_for_file(tmp_path / "started")
    parent.wait_for(lambda seen: text(parent, session).startswith("parent"[:4]), "the parent's text")
    parent.cancel(session)
    assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
    stand.open()
    [child] = children(parent, session)
    assert states(parent, session, child)[-1] == "running"
    assert statuses(parent, child) == []
    parent.cancel(child)
    parent.wait_for(lambda seen: states(parent, session, child)[-1] == "idle cancelled", "the child's end")
    parent.wait_for(lambda seen: statuses(parent, child) == ["failed"], "the end of its call")


def test_message_to_a_child(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A child that has ended is resumed by SendMessage in the session that it had; the message stands in both
    transcripts, and no call for it."""
    model.on("begin with it", [[delegate("resumed child", name="helper")], [Say("done")]])
    model.on("resumed child", [[Say("first")]], subagent=True)
    model.on("please go on", [[Say("second")]], subagent=True)
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, "begin with it"))
    [child] = children(parent, session)
    send = UseTool("SendMessage", {"to": child, "message": "please go on", "summary": "go on"})
    model.on("go on with it", [[send], [Say("sent")], [Say("after")], [Say("more")]])
    assert parent.answer(parent.prompt(session, "go on with it"))["result"]["stopReason"] == "end_turn"
    assert children(parent, session) == [child]
    assert states(parent, session, child) == ["running", "idle end_turn", "running", "idle end_turn"]
    assert spoken(parent, child)[-1] == (session, child, "please go on")
    assert (session, child, "please go on") in spoken(parent, session)
    assert text(parent, child) == "firstsecond"
    assert updates(parent, session, "tool_call") == []


def test_grandchild_in_a_worktree(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A child of a child is told on its own parent's session, and where it works when that is a worktree."""
    git = "git init -q . && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m x"
    subprocess.run(git, shell=True, cwd=tmp_path, check=True)
    model.on("family", [[delegate("middle child")], [Say("done")]])
    model.on("middle child", [[delegate("grandchild", isolation="worktree")], [Say("middle")]], subagent=True)
    model.on("grandchild", [[Say("deep")]], subagent=True)
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, "family"))
    [child] = children(parent, session)
    [grandchild] = children(parent, child)
    assert text(parent, grandchild) == "deep"
    assert spoken(parent, child)[-1] == (grandchild, child, "deep")
    places = [update["cwd"] for update in updates(parent, child, "subagent_update") if update.get("cwd")]
    assert [Path(place).parent.name for place in places] == ["worktrees"]


def test_a_launch_that_fails(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A delegation that comes to nothing is one tool call of its maker, as it ended."""
    model.on("no such", [[delegate("nobody", subagent_type="no-such-agent")], [Say("then not")]])
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, "no such"))
    [call] = updates(parent, session, "tool_call")
    assert (call["name"], call["status"]) == ("Agent", "failed")
    assert children(parent, session) == []


# ------------------------------------------------------------------------------------------ children from before


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_children_from_before(parent: AgentProcess, model: ScriptedModel, tmp_path: Path, method: str) -> None:
    """A load tells a child's past in the session that it had; after it, and after a resume, a message resumes the
    child there, which is announced first where it was not told yet."""
    model.on("start then leave", [[delegate("left child")], [Say("done")]])
    model.on("left child", [[Say("child text"), say_something()], [Say("child result")]], subagent=True)
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, "start then leave"))
    [child] = children(parent, session)
    parent.answer(parent.request("session/close", {"sessionId": session}))
    before = len(parent.seen)
    parent.answer(parent.request(method, {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}))

    past = Past(parent, before)
    if method == "session/load":
        assert states(past, session, child) == ["running", "idle"]
        assert spoken(past, child) == [(session, child, "left child")]
        assert text(past, child) == "child textchild result"
        assert statuses(past, child) == ["completed"]
        assert text(past, session) == "done"
        assert updates(past, session, "tool_call") == []
    else:
        assert children(past, session) == []

    told = len(parent.seen)
    send = UseTool("SendMessage", {"to": child, "message": f"again {method}", "summary": "again"})
    model.on(f"go back {method}", [[send], [Say("sent")], [Say("after")], [Say("more")]])
    model.on(f"again {method}", [[Say("second")]], subagent=True)
    assert parent.answer(parent.prompt(session, f"go back {method}"))["result"]["stopReason"] == "end_turn"
    now = Past(parent, told)
    assert children(now, session) == [child]
    assert states(now, session, child) == ["running", "idle end_turn"]
    assert text(now, child) == "second"
    assert (session, child, f"again {method}") in spoken(now, session)
