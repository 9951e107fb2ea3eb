"""How full the context is and what a session costs, over a load and a compaction, with the real Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel, Usage
from tests.stdio.agent_process import AgentProcess, Message
from tests.stdio.talk import Talk


@pytest.mark.parametrize(("model_name", "size"), [("claude-opus-4-5", 200_000), ("claude-opus-5-5", 1_000_000)])
def test_figures(
    shared: AgentProcess, model: ScriptedModel, home: Path, tmp_path: Path, model_name: str, size: int
) -> None:
    """A turn tells what its last answer used, of the window of its model. A load tells no figures: nothing was used.
    What was paid before it counts on. A compaction tells what is left."""
    meta: dict[str, Any] = {"_meta": {"claudeCode": {"options": {"model": model_name}}}}
    talk = Talk(shared, model, tmp_path / "work", **meta)
    params = {"sessionId": talk.session, "cwd": str(talk.work), "mcpServers": [], **meta}

    def figures(begin: int) -> list[Message]:
        updates = [item.update for item in talk.seen_since(begin)]
        return [update for update in updates if update.get("sessionUpdate") == "usage_update"]

    def after(*rounds: Any) -> Message:
        begin = len(shared.seen)
        talk.run(*rounds)
        last = figures(begin)[-1]
        assert last["size"] == size
        return last

    def load() -> list[Message]:
        begin = len(shared.seen)
        assert "result" in shared.answer(shared.request("session/load", params))
        return figures(begin)

    first = after([Usage(1000, 50, cache_read=3000, cache_creation=200), Say("one")])
    assert (first["used"], first["cost"]["amount"] > 0) == (4250, True)
    assert load() == []
    shared.answer(shared.request("session/close", {"sessionId": talk.session}))
    assert load() == []
    second = after([Usage(2000, 60, cache_read=100), Say("two")])
    assert second["used"] == 2160
    assert second["cost"]["amount"] > first["cost"]["amount"]

    begin = len(shared.seen)
    compact = {"sessionId": talk.session, "prompt": [{"type": "text", "text": "/compact"}]}
    shared.answer(shared.request("session/prompt", compact))
    left = _left(home, talk.session)
    assert [update["used"] for update in figures(begin)][-1] == left
    assert left != second["used"]
    assert after([Usage(700, 10), Say("three")])["used"] == 710
    shared.answer(shared.request("session/close", {"sessionId": talk.session}))
    assert load() == []
    last = after([Usage(900, 20), Say("four")])
    assert last["used"] == 920
    assert last["cost"]["amount"] > second["cost"]["amount"]
    talk.close()


def _left(home: Path, session: str) -> int:
    """What Claude Code wrote down of how much its compaction left."""
    [path] = (home / "home" / ".claude" / "projects").glob(f"*/{session}.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    [tokens] = [record["compactMetadata"]["postTokens"] for record in records if "compactMetadata" in record]
    return int(tokens)
