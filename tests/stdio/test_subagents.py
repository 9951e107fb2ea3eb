"""Subagents through the real program and the real Claude Code: flat for most clients, child sessions for some."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from acpbridge.testing import Fail, Say, ScriptedModel, Think, UseTool, Wait
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
    """What an agent said from a point on, or between two."""

    agent: AgentProcess
    since: int
    until: int | None = None

    @property
    def seen(self) -> list[Seen]:
        return self.agent.seen[self.since : self.until]


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


def configured(agent: AgentProcess | Past, session: str) -> list[dict[str, str]]:
    """What a session was said to work with, by option, one after the other."""
    told = updates(agent, session, "config_option_update")
    return [{option["id"]: option["currentValue"] for option in update["configOptions"]} for update in told]


def asked_in(seen: list[Seen]) -> list[Message]:
    """The permission requests in this."""
    return [item.message for item in seen if item.message.get("method") == "session/request_permission"]


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


def test_flat_cancel(flat: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A client without child sessions can stop a child in the background by a cancel only: that ends it, and its call
    before the answer."""
    stand = model.gate()
    launch = delegate("flat background", run_in_background=True)
    model.on("stop it flat", [[launch], [Say("parent"), Wait(stand)], [Say("after")]])
    model.on("flat background", [[wait_in(tmp_path)]], subagent=True)
    session = flat.new_session(tmp_path)
    prompt = flat.prompt(session, "stop it flat")
    wait_for_file(tmp_path / "started")
    stand.wait_reached()
    flat.cancel(session)
    assert flat.answer(prompt)["result"]["stopReason"] == "cancelled"
    stand.open()
    assert statuses(flat, session) == ["completed", "failed"]
    [change] = [update for update in updates(flat, session, "tool_call_update") if "task" in claude_code(update)]
    assert claude_code(change)["task"]["status"] == "stopped"


def claude_code(update: Message) -> Message:
    found: Message = update.get("_meta", {}).get("claudeCode", {})
    return found


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
    settings = {"mode": "default", "model": "opus", "effort": "medium", "agent": "general-purpose"}
    assert configured(parent, child)[-1] == settings
    assert len(configured(parent, child)) <= len(settings)
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


def test_cancel_spares_what_the_background_waits_for(
    parent: AgentProcess, model: ScriptedModel, tmp_path: Path
) -> None:
    """What a child in the background has begun and waits for outlives the cancel with it: its words, its permission,
    its file."""
    stand, gate, path = model.gate(), model.gate(), tmp_path / "deep.txt"
    launch = delegate("sparing child", run_in_background=True)
    model.on("spare all of it", [[launch], [Say("parent"), Wait(stand)], [Say("after")]])
    model.on("sparing child", [[delegate("spared grandchild")], [Say("middle")]], subagent=True)
    model.on("spared grandchild", [[Wait(gate), Say("deep text"), write(path)], [Say("deep result")]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "spare all of it")
    gate.wait_reached()
    stand.wait_reached()
    parent.cancel(session)
    assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
    gate.open()
    stand.open()
    [child] = children(parent, session)
    parent.wait_for(lambda seen: states(parent, session, child)[-1] == "idle end_turn", "the end of the child")
    [grandchild] = children(parent, child)
    assert text(parent, grandchild) == "deep textdeep result"
    assert statuses(parent, grandchild) == ["completed"]
    assert path.exists()


def test_cancel_stops_a_workflow(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A workflow is the prompt's own work, wherever it runs: a cancel stops it, and its open call is over before the
    answer."""
    stand = model.gate()
    script = (
        "export const meta = {name: 'w', description: 'Workflow', phases: [{title: 'P'}]}\n"
        "phase('P')\nreturn await agent('workflow agent', {label: 'a', phase: 'P'})\n"
    )
    model.on("run a workflow", [[UseTool("Workflow", {"script": script})], [Say("parent"), Wait(stand)]])
    model.on("workflow agent", [[wait_in(tmp_path)]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "run a workflow")
    wait_for_file(tmp_path / "started")
    stand.wait_reached()
    parent.cancel(session)
    assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
    stand.open()
    answered = next(index for index, item in enumerate(parent.seen) if item.message.get("id") == prompt)
    before = Past(parent, 0, answered)
    assert statuses(before, session) == ["completed", "failed"]

    def ended(seen: list[Seen]) -> Message | None:
        changes = updates(parent, session, "tool_call_update")
        return next((claude_code(change)["task"] for change in changes if "task" in claude_code(change)), None)

    assert parent.wait_for(ended, "the end of the workflow")["status"] == "stopped"


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_close_while_a_child_asks(parent: AgentProcess, model: ScriptedModel, tmp_path: Path, background: bool) -> None:
    """A session is closed while its child waits for a permission: that is withdrawn, the child does not run again, and
    its call is over before the prompt is answered, wherever it worked."""
    kind = "background" if background else "foreground"
    stand, path = model.gate(), tmp_path / "never.txt"
    launch = delegate(f"asking {kind}", run_in_background=background)
    model.on(f"close {kind}", [[launch], [Say("parent"), Wait(stand)]])
    model.on(f"asking {kind}", [[write(path)], [Say("never")]], subagent=True)
    session = parent.new_session(tmp_path)
    choose, parent.choose = parent.choose, None
    before = len(parent.seen)
    try:
        prompt = parent.prompt(session, f"close {kind}")
        parent.wait_for(lambda seen: asked_in(seen[before:]), "the child's permission request")
        closing = parent.request("session/close", {"sessionId": session})
        assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
        parent.answer(closing)
    finally:
        parent.choose = choose
        stand.open()
    past = Past(parent, before)
    [child] = children(past, session)
    assert [request["params"]["sessionId"] for request in asked_in(past.seen)] == [child]
    assert states(past, session, child) in (
        ["running", "requires_action", "idle"],
        ["running", "requires_action", "idle cancelled"],
    )
    assert statuses(past, child) == ["failed"]
    told = [index for index, item in enumerate(past.seen) if item.update.get("status") == "failed"]
    answered = next(index for index, item in enumerate(past.seen) if item.message.get("id") == prompt)
    assert told[-1] < answered
    assert not path.exists()


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


def test_back_from_a_worktree(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A child that has left nothing in its worktree goes on where its parent works: its directory is taken back. That
    the client has named the parent's through a link makes no difference to anybody."""
    repository, link = tmp_path / "repository", tmp_path / "link"
    repository.mkdir()
    link.symlink_to(repository, target_is_directory=True)
    git = "git init -q . && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m x"
    subprocess.run(git, shell=True, cwd=repository, check=True)
    model.on("in a tree", [[delegate("tree child", isolation="worktree"), delegate("plain child")], [Say("done")]])
    model.on("tree child", [[Say("in the tree")]], subagent=True)
    model.on("plain child", [[say_something()], [Say("plain")]], subagent=True)
    session = parent.new_session(link)
    parent.answer(parent.prompt(session, "in a tree"))
    told = updates(parent, session, "subagent_update")
    tree, plain = sorted(children(parent, session), key=lambda child: text(parent, child))
    assert [Path(update["cwd"]).parent.name for update in told if update.get("cwd")] == ["worktrees"]
    assert not any("cwd" in update for update in told if update["sessionId"] == plain)
    now = call_back(parent, model, session, tree, "outside again")
    assert [update["cwd"] for update in updates(now, session, "subagent_update") if "cwd" in update] == [None]


def test_a_launch_that_fails(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A delegation that comes to nothing is one tool call of its maker, as it ended."""
    model.on("no such", [[delegate("nobody", subagent_type="no-such-agent")], [Say("then not")]])
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, "no such"))
    [call] = updates(parent, session, "tool_call")
    assert (call["name"], call["status"]) == ("Agent", "failed")
    assert children(parent, session) == []


# ------------------------------------------------------------------------------------------ children from before


def take_up(agent: AgentProcess, method: str, session: str, work: Path, *, close: bool = True) -> tuple[Past, Past]:
    """Close a session, or leave it open, and take it up again: what is told before the answer, and behind it."""
    if close:
        agent.answer(agent.request("session/close", {"sessionId": session}))
    before = len(agent.seen)
    number = agent.request(method, {"sessionId": session, "cwd": str(work), "mcpServers": []})
    assert "result" in agent.answer(number)
    # What follows the answer is written with it, and an answer to something else comes behind it.
    agent.answer(agent.request("session/list", {}))
    answered = next(i for i, item in enumerate(agent.seen) if i >= before and item.message.get("id") == number)
    return Past(agent, before, answered), Past(agent, answered)


def call_back(agent: AgentProcess, model: ScriptedModel, session: str, child: str, text: str) -> Past:
    """A message that resumes a child; all that is told meanwhile."""
    send = UseTool("SendMessage", {"to": child, "message": text, "summary": "again"})
    model.on(f"tell it {text}", [[send], [Say("sent")], [Say("after")], [Say("more")]])
    model.on(text, [[Say(f"heard {text}")]], subagent=True)
    told = len(agent.seen)
    assert agent.answer(agent.prompt(session, f"tell it {text}"))["result"]["stopReason"] == "end_turn"
    return Past(agent, told)


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_children_from_before(parent: AgentProcess, model: ScriptedModel, tmp_path: Path, method: str) -> None:
    """After a load or a resume a message runs a child in its session from before; after a resume it is announced
    first, behind its parent, which is told without a state."""
    name = method.removeprefix("session/")
    model.on(f"start {name}", [[delegate(f"middle {name}")], [Say("done")]])
    model.on(f"middle {name}", [[delegate(f"deep {name}")], [Say("middle result")]], subagent=True)
    model.on(f"deep {name}", [[Say("deep result")]], subagent=True)
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, f"start {name}"))
    [middle] = children(parent, session)
    [deep] = children(parent, middle)
    past, behind = take_up(parent, method, session, tmp_path)
    if method == "session/load":
        assert states(past, session, middle) == states(past, middle, deep) == ["running", "idle"]
        assert states(behind, session, middle) == states(behind, middle, deep) == ["idle"]
    else:
        assert children(past, session) == children(behind, session) == []

    now = call_back(parent, model, session, deep, f"again {name}")
    assert states(now, middle, deep) == ["running", "idle end_turn"]
    assert text(now, deep) == f"heard again {name}"
    assert spoken(now, session) == [(session, deep, f"again {name}")]
    assert spoken(now, deep) == [(session, deep, f"again {name}")]
    assert updates(now, session, "tool_call") == []
    announced = [item.update for item in now.seen if item.update.get("sessionUpdate") == "subagent_update"]
    if method == "session/load":
        assert [update["sessionId"] for update in announced] == [deep, deep]
    else:
        assert [update["sessionId"] for update in announced] == [middle, deep, deep]
        assert announced[0] == {"sessionUpdate": "subagent_update", "sessionId": middle, **labels(f"middle {name}")}
        assert announced[1]["capabilities"] == {"cancel": {}}


def labels(prompt: str) -> dict[str, str]:
    """How a child is called that was delegated this."""
    return {"title": f"About {prompt}", "description": "general-purpose"}


@pytest.mark.parametrize("method", ["session/load", "session/resume", None])
def test_cancel_spares_a_resumed_child(
    parent: AgentProcess, model: ScriptedModel, tmp_path: Path, method: str | None
) -> None:
    """A child that a message has resumed works in the background: it outlives a cancel of its parent with all that it
    says and does, also where it is from before."""
    name = str(method).removeprefix("session/")
    model.on(f"begin {name}", [[delegate(f"resumable {name}")], [Say("done")]])
    model.on(f"resumable {name}", [[Say("first")]], subagent=True)
    session = parent.new_session(tmp_path)
    parent.answer(parent.prompt(session, f"begin {name}"))
    [child] = children(parent, session)
    if method is not None:
        take_up(parent, method, session, tmp_path)
    told = len(parent.seen)
    stand, gate, path = model.gate(), model.gate(), tmp_path / "resumed.txt"
    send = UseTool("SendMessage", {"to": child, "message": f"go on {name}", "summary": "go on"})
    model.on(f"resume {name}", [[send], [Say("sent"), Wait(stand)], [Say("after")], [Say("more")]])
    model.on(f"go on {name}", [[Wait(gate), Say("second"), write(path)], [Say("third")]], subagent=True)
    prompt = parent.prompt(session, f"resume {name}")
    gate.wait_reached()
    stand.wait_reached()
    parent.cancel(session)
    assert parent.answer(prompt)["result"]["stopReason"] == "cancelled"
    gate.open()
    stand.open()
    now = Past(parent, told)
    parent.wait_for(lambda seen: states(now, session, child)[-1] == "idle end_turn", "the end of the child")
    assert text(now, child) == "secondthird"
    assert statuses(now, child) == ["completed"]
    assert path.exists()


def test_the_past_of_children(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A load tells each child's past in the session that it had: what it was told and when, what it did, what it
    reported, with what model, and how it ended; and behind the answer where each stands."""
    session = parent.new_session(tmp_path)
    model.on("first task", [[delegate("reporting child", model="haiku")], [Say("done")]])
    model.on("reporting child", [[Say("child text"), say_something()], [Say("child result")]], subagent=True)
    parent.answer(parent.prompt(session, "first task"))
    call_back(parent, model, session, children(parent, session)[0], "please continue")
    model.on("second task", [[delegate("unlucky child")], [Say("done")]])
    model.on("unlucky child", [[wait_in(tmp_path)]], subagent=True)
    prompt = parent.prompt(session, "second task")
    wait_for_file(tmp_path / "started")
    parent.cancel(session)
    parent.answer(prompt)
    model.on("third task", [[delegate("failing child")], [Say("it failed")]])
    model.on("failing child", [[Fail(400)]], subagent=True)
    parent.answer(parent.prompt(session, "third task"))

    kept, unlucky, failing = children(parent, session)
    live = {child: states(parent, session, child)[-1] for child in (unlucky, failing)}
    assert live == {unlucky: "idle cancelled", failing: "idle error"}
    past, behind = take_up(parent, "session/load", session, tmp_path)

    assert children(past, session) == [kept, unlucky, failing]
    assert not any("capabilities" in update for update in updates(past, session, "subagent_update"))
    in_the_child = updates(past, kept, "session_message", "agent_message_chunk", "tool_call")
    told = [update.get("content", [{}]) for update in in_the_child]
    assert [said["text"] if isinstance(said, dict) else said[0].get("text") for said in told] == [
        "reporting child",
        "child text",
        None,
        "child result",
        "please continue",
        "heard please continue",
    ]
    assert spoken(past, session)[:3] == [
        (session, kept, "reporting child"),
        (kept, session, "child result"),
        (session, kept, "please continue"),
    ]
    assert configured(past, kept) == [{"model": "haiku"}]
    assert updates(past, session, "tool_call") == []
    assert statuses(past, kept) == ["completed"]
    ends = [(update["sessionId"], update["state"]) for update in updates(past, session, "subagent_update")][3:]
    assert [child for child, _ in ends] == [failing, unlucky, kept]
    assert [state.get("stopReason") for _, state in ends] == ["error", "cancelled", "end_turn"]
    assert "scripted" in ends[0][1]["error"]["message"]
    for child in (kept, unlucky, failing):
        assert states(behind, session, child) == states(past, session, child)[-1:]
        assert not any("capabilities" in update for update in updates(behind, session, "subagent_update"))


def test_the_past_of_a_fork(model: ScriptedModel, tmp_path: Path) -> None:
    """A fork begins with its parent's conversation, which is not its own: only what it did itself is told again."""
    with AgentProcess(model, tmp_path / "home", environment={"CLAUDE_CODE_FORK_SUBAGENT": "1"}) as agent:
        agent.initialize({"subagents": {}})
        launch = delegate("the directive", subagent_type="fork")
        model.on("fork off", [[Say("before the fork"), launch], [Say("done")], [Say("after")]])
        model.on("the directive", [[Say("forked"), say_something()], [Say("fork result")]], subagent=True)
        session = agent.new_session(tmp_path / "work")
        agent.answer(agent.prompt(session, "fork off"))
        [fork] = children(agent, session)
        assert text(agent, fork) == "forkedfork result"
        past, _ = take_up(agent, "session/load", session, tmp_path / "work")
        assert children(past, session) == [fork]
        assert text(past, fork) == "forkedfork result"
        assert spoken(past, fork) == [(session, fork, "the directive")]
        assert len(updates(past, fork, "tool_call")) == 1
        assert [update["content"]["text"] for update in updates(past, session, "user_message_chunk")] == ["fork off"]
        assert states(past, session, fork) == ["running", "idle end_turn"]


def test_load_while_a_child_works(parent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A session is loaded while a child of it works in the background: behind the answer the child works and can be
    stopped, its open call is its own still, and what it does next is told in its session."""
    stand, gate = model.gate(), model.gate()
    launch = delegate("working child", run_in_background=True)
    model.on("work on", [[launch], [Say("parent"), Wait(stand)], [Say("after")]])
    model.on("working child", [[Say("early"), say_something()], [Wait(gate), Say("late")]], subagent=True)
    session = parent.new_session(tmp_path)
    prompt = parent.prompt(session, "work on")
    gate.wait_reached()
    stand.wait_reached()
    parent.cancel(session)
    parent.answer(prompt)
    stand.open()
    [child] = children(parent, session)
    past, behind = take_up(parent, "session/load", session, tmp_path, close=False)
    assert text(past, child) == "early"
    assert states(past, session, child)[0] == "running"
    [now] = updates(behind, session, "subagent_update")
    assert now["state"] == {"state": "running"}
    assert now["capabilities"] == {"cancel": {}}
    gate.open()
    parent.wait_for(lambda seen: states(behind, session, child)[-1] == "idle end_turn", "the child's end")
    assert text(behind, child) == "late"


def test_lost_history(model: ScriptedModel, tmp_path: Path) -> None:
    """A child of which Claude Code has kept nothing stays a call, and the client is told how many there are."""
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize({"subagents": {}, "session": {"notices": {}}})
        model.on("lose it", [[delegate("lost child")], [Say("done")]])
        model.on("lost child", [[Say("lost result")]], subagent=True)
        session = agent.new_session(tmp_path / "work")
        agent.answer(agent.prompt(session, "lose it"))
        agent.answer(agent.request("session/close", {"sessionId": session}))  # from here on nobody writes
        [kept] = (tmp_path / "home" / ".claude" / "projects").glob(f"*/{session}/subagents")
        for path in kept.glob("agent-*"):
            path.unlink()
        past, _ = take_up(agent, "session/load", session, tmp_path / "work", close=False)
        assert children(past, session) == []
        [call] = updates(past, session, "tool_call")
        assert (call["name"], call["status"]) == ("Agent", "completed")
        agent.wait_for(lambda seen: agent.updates("notice"), "a notice")
        [notice] = agent.updates("notice")
        assert notice["title"] == "Some subagent history is not available"
        assert notice["description"] == "The history of 1 subagent of this session could not be restored."
        assert notice["severity"] == "info"
