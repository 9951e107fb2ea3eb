"""The subagents of a session from before, out of Claude Code's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acpbridge.sessions import past_subagents
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
    """Each subagent with its parent: whose transcript has the call that began it."""
    main = tmp_path / "s.jsonl"
    main.write_text('{"id": "L"}\n{"id": "N"}\n')
    child(main, "a", {"toolUseId": "L", "name": "Bo", "description": "D", "agentType": "Explore"}, '{"id": "M"} "L"')
    child(main, "b", {"toolUseId": "M", "description": "deep", "worktreePath": "/tree"})
    found = past_subagents.history(S, main, told=True).subagents
    assert sorted(found, key=lambda past: past.task) == [
        PastSubagent(task="a", call="L", title="Bo", description="Explore", told=True),
        PastSubagent(task="b", parent="a", call="M", title="deep", cwd="/tree", told=True),
    ]


def test_history_without_a_line(tmp_path: Path) -> None:
    """One whose call nobody made, or whose file says nothing that can be read, is left out: no parent is guessed."""
    main = tmp_path / "s.jsonl"
    main.write_text("")
    child(main, "itself", {"toolUseId": "Q"}, '"Q"')
    child(main, "broken", "{")
    child(main, "list", [])
    child(main, "nothing")
    assert past_subagents.history(S, main, told=False).subagents == ()
    assert past_subagents.history(S, tmp_path / "none.jsonl", told=False).subagents == ()


def test_its_words(tmp_path: Path) -> None:
    """A past subagent begins and ends in Claude Code's words; where it worked is said first, if that is known."""
    main = tmp_path / "s.jsonl"
    path = child(main, "a", {"description": "D", "agentType": "Explore", "cwd": "/tree", "stoppedByUser": True})
    place, task = past_subagents.begins(S, path, "L")
    assert place == SubagentPlace(session=S, agent="a", cwd="/tree")
    assert task == Task(
        session=S, task="a", state="running", tool_use="L", subagent=True, subagent_type="Explore", description="D"
    )
    assert past_subagents.ends(S, path) == Task(session=S, task="a", state="ended", status="stopped")
    other = child(main, "b", {})
    assert [type(message) for message in past_subagents.begins(S, other, "L")] == [Task]
    assert past_subagents.ends(S, other).status is None
