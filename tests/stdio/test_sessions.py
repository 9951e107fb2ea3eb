"""Sessions from before, in the real program with the real Claude Code: listed, loaded, resumed, forked, deleted."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest

from acpbridge.testing import Say, ScriptedModel, Think, UseTool
from tests.stdio.agent_process import AgentProcess, Message
from tests.stdio.talk import asked
from tests.stdio.told import calls, differences, told


@pytest.fixture
def agent(shared: AgentProcess) -> AgentProcess:
    return shared


def test_whole_life(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """New, prompt, close, list, load, resume, fork, delete: the replay tells what the live turn told, before the load
    is answered, and whoever comes after goes on with the conversation."""
    work = home / "life"
    write = UseTool("Write", {"file_path": str(work / "w.txt"), "content": "one\n"})
    edit = UseTool("Edit", {"file_path": str(work / "w.txt"), "old_string": "one", "new_string": "two"})
    model.on(
        "please work",
        [[Think("hmm"), Say("I write."), write], [edit, UseTool("Bash", {"command": "echo q"})], [Say("All done.")]],
    )
    session = agent.new_session(work)
    begun = len(agent.seen)
    agent.answer(agent.prompt(session, "please work"))
    agent.wait_for(lambda seen: any(item.update.get("title") == "Scripted title" for item in seen), "the title")
    live = told(agent, session, begun)
    agent.answer(agent.request("session/close", {"sessionId": session}))
    assert _row(agent, session, work)["title"] == "Scripted title"

    begun = len(agent.seen)
    answer = agent.answer(agent.request("session/load", _params(session, work)))
    at = next(index for index, seen in enumerate(agent.seen) if seen.message.get("id") == answer["id"])
    assert differences(live, told(agent, session, begun, at)) == []
    assert [call["status"] for call in calls(live)] == ["completed"] * 3
    assert not [seen for seen in agent.seen[begun:at] if seen.update.get("sessionUpdate") == "usage_update"]
    assert agent.answer(agent.prompt(session, "go on"))["result"]["stopReason"] == "end_turn"
    assert "please work" in asked(model, "go on")

    agent.answer(agent.request("session/close", {"sessionId": session}))
    begun = len(agent.seen)
    resumed = agent.answer(agent.request("session/resume", _params(session, work)))
    assert resumed["result"]["modes"] == answer["result"]["modes"]
    assert told(agent, session, begun) == []
    agent.answer(agent.prompt(session, "resumed now"))
    assert "go on" in asked(model, "resumed now")

    forked = agent.answer(agent.request("session/fork", _params(session, work)))["result"]["sessionId"]
    assert forked != session
    agent.answer(agent.prompt(forked, "in the fork"))
    assert "resumed now" in asked(model, "in the fork")
    agent.answer(agent.prompt(session, "in the first one"))
    assert "in the fork" not in asked(model, "in the first one")

    assert agent.answer(agent.request("session/delete", {"sessionId": session}))["result"] == {}
    assert _row(agent, session, work) is None
    assert _row(agent, forked, work)["title"].endswith("(fork)")
    gone = agent.answer(agent.request("session/load", _params(session, work)))
    assert gone["error"]["code"] == -32002


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
@pytest.mark.parametrize("name", [str(uuid.UUID(int=1)), "not-a-uuid", "../../escape", ""])
def test_unknown_session(agent: AgentProcess, home: Path, method: str, name: str) -> None:
    """An id of no session, or of no form that ids have, is -32002 with the id, and starts nothing."""
    before = {process.pid for process in agent.claude_processes()}
    error = agent.answer(agent.request(method, _params(name, home)))["error"]
    assert (error["code"], error["data"]["sessionId"]) == (-32002, name)
    assert {process.pid for process in agent.claude_processes()} <= before


def test_five_loads_one_process(agent: AgentProcess, home: Path) -> None:
    """A session that is loaded five times at once, and is open already, has one Claude Code."""
    work = home / "five"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "only this"))
    agent.answer(agent.request("session/close", {"sessionId": session}))
    before = {process.pid for process in agent.claude_processes()}
    begun = len(agent.seen)
    for number in [agent.request("session/load", _params(session, work)) for _ in range(5)]:
        assert "result" in agent.answer(number)
    assert agent.text(agent.seen[begun:], "user_message_chunk") == "only this" * 5
    started = [process for process in agent.claude_processes() if process.pid not in before]
    assert len([process for process in started if process.ppid() == agent.process.pid]) == 1


def test_other_options_start_anew(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """An open session that is loaded with other options gets a Claude Code that has them, in the same mode."""
    work = home / "anew"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "before it"))
    agent.answer(agent.request("session/set_mode", {"sessionId": session, "modeId": "acceptEdits"}))
    other = {**_params(session, work), "_meta": {"claudeCode": {"options": {"disallowedTools": ["WebFetch"]}}}}
    assert agent.answer(agent.request("session/load", other))["result"]["modes"]["currentModeId"] == "acceptEdits"
    agent.answer(agent.prompt(session, "after it"))
    request = model.wait_for_request(lambda request: "after it" in request.prompt and request.kind == "main")
    assert "WebFetch" not in [tool["name"] for tool in request.body["tools"]]
    assert "before it" in str(request.body["messages"])


def test_a_wrong_load_closes_nothing(agent: AgentProcess, home: Path) -> None:
    """A load or resume that cannot be served says what is wrong with it, and the session that is open stays open."""
    session = agent.new_session(home / "wrong")
    agent.answer(agent.prompt(session, "before it"))
    processes = {process.pid for process in agent.claude_processes()}
    for options, word in (({"settings": 7}, "settings"), ({"thinking": {"type": "odd"}}, "thinking")):
        params = {**_params(session, home / "wrong"), "_meta": {"claudeCode": {"options": options}}}
        for method in ("session/load", "session/resume"):
            error = agent.answer(agent.request(method, params))["error"]
            assert (error["code"], word in error["message"]) == (-32602, True)
    gone = {**_params(session, home / "wrong"), "cwd": str(home / "not there")}
    assert agent.answer(agent.request("session/load", gone))["error"]["code"] == -32602
    assert agent.answer(agent.prompt(session, "after it"))["result"]["stopReason"] == "end_turn"
    assert {process.pid for process in agent.claude_processes()} >= processes


@pytest.mark.parametrize("name", [str(uuid.UUID(int=1)), "not-a-uuid", "../../escape", ""])
def test_closed_and_deleted_already(agent: AgentProcess, home: Path, name: str) -> None:
    """To close or delete a session that there is not is no error, whatever its id looks like."""
    kept = home / "escape.jsonl"
    kept.touch()
    for method in ("session/close", "session/delete"):
        assert agent.answer(agent.request(method, {"sessionId": name}))["result"] == {}
    assert kept.exists()


def test_fork_without_a_prompt(agent: AgentProcess, home: Path) -> None:
    """An open session in which nothing was said can be forked; the copy is open."""
    session = agent.new_session(home / "silent")
    forked = agent.answer(agent.request("session/fork", _params(session, home / "silent")))["result"]["sessionId"]
    assert agent.answer(agent.prompt(forked, "first words"))["result"]["stopReason"] == "end_turn"


def test_fork_of_a_text_from_the_web(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A fork has all of the conversation, also what came before a text with a line separator in it, and what was kept
    by a compaction: the SDK's copy has neither."""
    work = home / "web"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "remember the whale"))
    agent.answer(agent.prompt(session, "one\u2028two"))
    agent.answer(agent.prompt(session, "and then"))
    forked = agent.answer(agent.request("session/fork", _params(session, work)))["result"]["sessionId"]
    agent.answer(agent.prompt(forked, "in the web's fork"))
    assert "remember the whale" in asked(model, "in the web's fork")

    agent.answer(agent.prompt(session, "/compact"))
    agent.answer(agent.prompt(session, "behind the compaction"))
    again = agent.answer(agent.request("session/fork", _params(session, work)))["result"]["sessionId"]
    agent.answer(agent.prompt(again, "in the compacted fork"))
    before, after = asked(model, "behind the compaction"), asked(model, "in the compacted fork")
    kept = [text for text in ("remember the whale", "one\\u2028two", "and then", "echo: and then") if text in before]
    assert kept
    assert [text for text in kept if text in after] == kept


@pytest.mark.parametrize(
    "name",
    ["dots.and..more", "two words", "日本語とémoji", "x" * 150 + "/" + "y" * 150, "-dash_under"],
    ids=["dots", "spaces", "cjk", "300", "dash"],
)
def test_odd_paths(agent: AgentProcess, home: Path, name: str) -> None:
    """A session is found by its working directory and taken up again, whatever the directory is called."""
    work = home / name
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "in an odd place"))
    agent.answer(agent.request("session/close", {"sessionId": session}))
    assert _row(agent, session, work)["cwd"] == str(work)
    begun = len(agent.seen)
    agent.answer(agent.request("session/load", _params(session, work)))
    assert agent.text(agent.seen[begun:], "user_message_chunk") == "in an odd place"
    agent.answer(agent.request("session/close", {"sessionId": session}))


def test_symbolic_link(agent: AgentProcess, home: Path) -> None:
    """A session of a directory is listed under each of its names."""
    real, link = home / "real place", home / "link"
    real.mkdir()
    link.symlink_to(real)
    session = agent.new_session(link)
    agent.answer(agent.prompt(session, "through a link"))
    assert _row(agent, session, link) is not None
    assert _row(agent, session, real) is not None


def test_cleared_session_keeps_its_id(model: ScriptedModel, agent: AgentProcess, home: Path) -> None:
    """After /clear the session has its id still, also for a program that is started later: it is listed once, and what
    is loaded is the conversation since."""
    work = home / "cleared"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "long forgotten"))
    begun = len(agent.seen)
    agent.answer(agent.prompt(session, "/clear"))
    assert "cleared" in agent.text(agent.seen[begun:])
    agent.answer(agent.prompt(session, "since then"))
    assert "long forgotten" not in asked(model, "since then")
    agent.answer(agent.request("session/close", {"sessionId": session}))
    with AgentProcess(model, home / "home") as later:
        later.initialize()
        assert [row["sessionId"] for row in _rows(later, work)] == [session]
        later.answer(later.request("session/load", _params(session, work)))
        assert later.text(kind="user_message_chunk") == "since then"
        later.answer(later.prompt(session, "and later"))
    assert "since then" in asked(model, "and later")
    agent.answer(agent.request("session/delete", {"sessionId": session}))
    assert _rows(agent, work) == []


def test_titles(agent: AgentProcess, model: ScriptedModel, home: Path) -> None:
    """A session whose prompt says too little is named at the end of its turn, after what both said; a name that another
    program gives it later is adopted, and after a load it is named no more."""
    work = home / "titles"
    model.on(lambda request: request.prompt == "hi", [[Say("Hello! Shall we talk about whales?")]])
    session = agent.new_session(work)
    begun = len(agent.seen)
    agent.answer(agent.prompt(session, "hi"))
    agent.wait_for(lambda seen: _titles(agent, session, begun) == ["Scripted title"], "the title")
    model.wait_for_request(lambda request: request.kind == "title" and "about whales" in str(request.body))

    [path] = (home / "home" / ".claude" / "projects").glob(f"*/{session}.jsonl")
    with path.open("a") as file:
        file.write('{"type":"custom-title","customTitle":"What I call it","sessionId":"' + session + '"}\n')
    agent.answer(agent.prompt(session, "and another thing, longer"))
    named = ["Scripted title", "What I call it"]
    agent.wait_for(lambda seen: _titles(agent, session, begun) == named, "the other title")
    assert _row(agent, session, work)["title"] == "What I call it"

    agent.answer(agent.request("session/close", {"sessionId": session}))
    named_so_far = sum(request.kind == "title" for request in model.requests)
    agent.answer(agent.request("session/load", _params(session, work)))
    agent.answer(agent.prompt(session, "what was that about?"))
    agent.answer(agent.request("session/close", {"sessionId": session}))
    assert _titles(agent, session, begun) == named
    assert sum(request.kind == "title" for request in model.requests) == named_so_far


def test_fifty_megabytes(agent: AgentProcess, home: Path) -> None:
    """A transcript of 50 MB with broken lines in it is told whole, in order, before the load is answered, and without
    being held in memory."""
    work = home / "large"
    session = agent.new_session(work)
    agent.answer(agent.prompt(session, "the beginning"))
    agent.answer(agent.request("session/close", {"sessionId": session}))
    [path] = (home / "home" / ".claude" / "projects").glob(f"*/{session}.jsonl")
    _grow(path, 1000)
    assert path.stat().st_size > 50_000_000

    process = psutil.Process(agent.process.pid)
    before, begun = process.memory_info().rss, len(agent.seen)
    answer = agent.answer(agent.request("session/load", _params(session, work)))
    assert "result" in answer
    told = [seen.update for seen in agent.seen[begun:] if seen.update.get("sessionUpdate") == "user_message_chunk"]
    assert [update["content"]["text"][:20] for update in told[1:]] == [
        f"question {number:011}" for number in range(1000)
    ]
    assert process.memory_info().rss - before < 40_000_000
    del agent.seen[begun:]
    agent.answer(agent.request("session/delete", {"sessionId": session}))


def _grow(path: Path, turns: int) -> None:
    """Write more turns into a transcript, each of 50 KB, and a broken line now and then."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    user = next(record for record in records if record["type"] == "user" and not record.get("isMeta"))
    answer = next(record for record in records if record["type"] == "assistant")
    last = [record["uuid"] for record in records if record.get("uuid")][-1]
    with path.open("a") as file:
        for number in range(turns):
            for kind, word in ((user, "question"), (answer, "answer")):
                name = str(uuid.uuid4())
                text = [{"type": "text", "text": f"{word} {number:011} " + "x" * 25_000}]
                message = {**kind["message"], "content": text}
                if kind is answer:
                    message["id"] = f"msg_large_{number}"
                record = {**kind, "uuid": name, "parentUuid": last, "message": message}
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
                last = name
            if number % 100 == 0:
                file.write('{"parentUuid":"' + last + '","type":"user","mess\n')


def _titles(agent: AgentProcess, session: str, begin: int) -> list[str]:
    """The titles that the client was told of a session since."""
    updates = [seen for seen in agent.seen[begin:] if seen.update.get("sessionUpdate") == "session_info_update"]
    return [seen.update["title"] for seen in updates if seen.message["params"]["sessionId"] == session]


def _params(session: str, work: Path) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(work), "mcpServers": []}


def _rows(agent: AgentProcess, work: Path) -> list[Message]:
    found: list[Message] = agent.answer(agent.request("session/list", {"cwd": str(work)}))["result"]["sessions"]
    return found


def _row(agent: AgentProcess, session: str, work: Path) -> Any:
    return next((row for row in _rows(agent, work) if row["sessionId"] == session), None)
