"""The files of a session's subagents: whose each is, what it is called, where it worked, and what of it is its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acpbridge.sessions.past_subagents import begins, subagents_of
from acpbridge.sessions.past_traffic import Traffic
from acpbridge.sessions.subagent_history import history
from middleware.messages import PastSubagent, SubagentPlace, Task

S = "s"


def child(transcript: Path, name: str, about: Any = None, content: str = "") -> Path:
    """A subagent's files beside a transcript."""
    folder = transcript.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"agent-{name}.jsonl"
    path.write_text(content, encoding="utf-8")
    if about is not None:
        path.with_suffix(".meta.json").write_text(about if isinstance(about, str) else json.dumps(about))
    return path


def test_history(tmp_path: Path) -> None:
    """Each subagent with its parent: whose transcript has the call that began it. Parents come first."""
    main = tmp_path / "s.jsonl"
    main.write_text('{"id": "L"}\n{"id": "N"}\n')
    child(main, "b", {"toolUseId": "M", "description": "deep", "worktreePath": "/tree"})
    child(main, "a", {"toolUseId": "L", "name": "Bo", "description": "D", "agentType": "Explore"}, '{"id": "M"} "L"')
    assert history(S, main).subagents == (
        PastSubagent(task="a", call="L", title="Bo", description="Explore"),
        PastSubagent(task="b", parent="a", call="M", title="deep", cwd="/tree"),
    )


def test_history_behind_a_replay(tmp_path: Path) -> None:
    """Whom the client was told of is said with what it was told: the end, the model, and whether its place is gone."""
    main = tmp_path / "s.jsonl"
    main.write_text('"L" "M" "N"')
    child(main, "a", {"toolUseId": "L", "cwd": str(tmp_path / "gone")})
    child(main, "b", {"toolUseId": "M", "cwd": str(tmp_path)})
    child(main, "c", {"toolUseId": "N"})
    ends = {
        "a": Task(session=S, task="a", state="ended", status="failed", summary="it broke"),
        "b": Task(session=S, task="b", state="ended", status="completed", summary="fine"),
    }
    traffic = Traffic(ends=ends, models={"b": "m"})
    past = {past.task: past for past in history(S, main, told={"a", "b"}, traffic=traffic).subagents}
    assert (past["a"].told, past["a"].status, past["a"].error, past["a"].homeless) == (True, "failed", "it broke", True)
    assert (past["b"].status, past["b"].error, past["b"].model, past["b"].homeless) == ("completed", None, "m", False)
    assert past["c"] == PastSubagent(task="c", call="N")


def test_history_without_a_line(tmp_path: Path) -> None:
    """One whose call nobody made, or whose file says nothing that can be read, is left out: no parent is guessed."""
    main = tmp_path / "s.jsonl"
    main.write_text('{"isSidechain":true,"id":"Q"}\n')
    child(main, "itself", {"toolUseId": "Q"}, '"Q"')
    child(main, "broken", "{")
    child(main, "list", [])
    child(main, "nothing")
    assert history(S, main).subagents == ()
    assert history(S, tmp_path / "none.jsonl").subagents == ()


def test_a_forks_own_part(tmp_path: Path) -> None:
    """A fork's transcript begins with its parent's: whose call stands there did not make it."""
    main = tmp_path / "s.jsonl"
    main.write_text('{"id": "F"} {"id": "L"}')
    before = '{"uuid": "1", "type": "assistant", "message": {"content": [{"id": "L"}, {"id": "M"}]}}\n'
    directive = '{"uuid": "2", "parentUuid": "1", "type": "user", "message": {"content": "<fork-boilerplate> do"}}\n'
    own = '{"uuid": "3", "parentUuid": "2", "type": "assistant", "message": {"content": [{"id": "N"}]}}\n'
    child(main, "fork", {"toolUseId": "F", "agentType": "fork"}, before + directive + own)
    child(main, "a", {"toolUseId": "N"})
    child(main, "b", {"toolUseId": "M"})
    parents = {past.task: past.parent for past in history(S, main).subagents}
    assert parents == {"fork": None, "a": "fork"}
    [fork] = [subagent for subagent in subagents_of(main) if subagent.task == "fork"]
    assert [record["uuid"] for record in fork.records()] == ["3"]
    child(main, "fork", {"toolUseId": "F", "agentType": "fork"}, own)  # compacted: the directive is not there any more
    assert [record["uuid"] for record in fork.records()] == ["3"]


def test_its_words(tmp_path: Path) -> None:
    """A past subagent begins in Claude Code's words; where it worked is said first, if that is known."""
    main = tmp_path / "s.jsonl"
    about = {"toolUseId": "L", "description": "D", "agentType": "Explore", "requestShape": "background"}
    child(main, "a", {**about, "cwd": "/tree", "stoppedByUser": True})
    [subagent] = subagents_of(main)
    place, task = begins(S, subagent)
    assert place == SubagentPlace(session=S, agent="a", cwd="/tree")
    assert task == Task(
        session=S,
        task="a",
        state="running",
        tool_use="L",
        subagent=True,
        background=True,
        subagent_type="Explore",
        description="D",
    )


def test_where_it_worked(tmp_path: Path) -> None:
    """Only one that its file places elsewhere worked elsewhere: in the directory that its first record names."""
    main = tmp_path / "s.jsonl"
    first = json.dumps({"cwd": str(tmp_path)}) + "\n"
    child(main, "a", {"worktreePath": "/tree"}, first)
    child(main, "b", {"inheritedWorktreePath": "/tree"}, "{")
    child(main, "c", {}, first)
    assert {subagent.task: subagent.cwd for subagent in subagents_of(main)} == {
        "a": str(tmp_path),
        "b": "/tree",
        "c": None,
    }
