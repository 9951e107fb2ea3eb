"""Compactions through the real program and the real Claude Code: typed, automatic, failed and cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Fail, Say, ScriptedModel, Usage, Wait
from acpbridge.testing.sides import SUMMARY
from tests.stdio.agent_process import AgentProcess, wait_for_text
from tests.stdio.talk import Talk

FULL = Usage(input=985_000)
"""A conversation that has no room for another prompt: Claude Code compacts it by itself."""


@pytest.fixture(params=["calls", "updates"])
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Talk]:
    """A session of a client without `session.compaction`, and of one with it; the model is theirs alone."""
    capabilities: dict[str, Any] = {"session": {"compaction": {}}} if request.param == "updates" else {}
    with ScriptedModel() as model, AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize(capabilities)
        yield Talk(agent, model, tmp_path / "work")


def shown(talk: Talk) -> list[dict[str, Any]]:
    """Each change of a compaction in one form: its id, its status, its text, and what is known of it."""
    changes = []
    for update in talk.updates("tool_call", "tool_call_update", "compaction_update"):
        texts = [item["content"] for item in update.get("content") or []] or update.get("summary") or []
        changes.append(
            {
                "id": update.get("toolCallId") or update["compactionId"],
                "status": update["status"],
                "text": update.get("error") or "".join(text["text"] for text in texts),
                "facts": update.get("rawOutput"),
            }
        )
    return changes


def takes_updates(talk: Talk) -> bool:
    return bool(talk.updates("compaction_update"))


def check_summary(talk: Talk, trigger: str) -> None:
    begun, done = shown(talk)
    assert (begun["status"], done["status"]) == ("in_progress", "completed")
    assert begun["id"] == done["id"]
    assert done["text"] == "A scripted conversation."
    facts = done["facts"]
    if takes_updates(talk):
        assert facts is None
    else:
        assert facts["trigger"] == trigger
        assert min(facts["preTokens"], facts["postTokens"], facts["durationMs"]) > 0


def used(talk: Talk) -> list[int]:
    return [update["used"] for update in talk.updates("usage_update")]


def test_typed(talk: Talk) -> None:
    """`/compact` is one compaction with its summary and nothing else of it, and the context is told to be smaller."""
    talk.run([FULL, Say("Hello.")])
    assert used(talk)[-1] > 980_000
    assert talk.result(talk.agent.prompt(talk.session, "/compact"))["stopReason"] == "end_turn"
    check_summary(talk, "manual")
    assert 0 < used(talk)[-1] < 980_000
    assert talk.text == "Hello.Compacted"


def test_automatic(talk: Talk) -> None:
    """A conversation that has no room left is compacted within the turn, which then goes on."""
    talk.run([FULL, Say("Hello.")])
    talk.run([Say("There is room again.")])
    check_summary(talk, "automatic")
    assert talk.text == "Hello.There is room again."
    assert used(talk)[-1] < 980_000


def test_failed(talk: Talk) -> None:
    """Why one failed is said once, in the compaction, and the session goes on."""
    talk.model.on_side("compact", [Fail(400, message="no room for that")])
    talk.run([Say("Hello.")])
    assert talk.result(talk.agent.prompt(talk.session, "/compact"))["stopReason"] == "end_turn"
    begun, failed = shown(talk)
    assert (begun["status"], failed["status"]) == ("in_progress", "failed")
    error = "Error during compaction: API Error: 400 no room for that"
    assert failed["text"] == (error if takes_updates(talk) else f"Compaction failed: {error}")
    assert talk.text == "Hello."
    talk.run([Say("And on.")])
    assert talk.text == "Hello.And on."


def test_cancelled(talk: Talk) -> None:
    """One that the person cancels is closed before the answer, and nothing more is said of it."""
    gate = talk.model.gate()
    talk.model.on_side("compact", [Wait(gate), Say(SUMMARY)])
    talk.run([Say("Hello.")])
    prompt = talk.agent.prompt(talk.session, "/compact")
    gate.wait_reached()
    talk.agent.cancel(talk.session)
    assert talk.result(prompt)["stopReason"] == "cancelled"
    gate.open()
    talk.run([Say("And on.")])
    begun, cut = shown(talk)
    assert (begun["status"], cut["status"]) == ("in_progress", "cancelled" if takes_updates(talk) else "failed")
    assert cut["text"] == ("" if takes_updates(talk) else "Compaction failed: the turn ended before it was done.")
    assert talk.text == "Hello.And on."


def test_idle(model: ScriptedModel, tmp_path: Path) -> None:
    """A long conversation that idles is compacted by itself, here at once; nobody is answered, and it goes on."""
    environment = {"ACPBRIDGE_IDLE_COMPACT_DELAY_MS": "0"}
    with AgentProcess(model, tmp_path / "home", environment=environment) as agent:
        agent.initialize()
        talk = Talk(agent, model, tmp_path / "work")
        talk.run([Usage(input=100, cache_creation=250_000, cache_hour=250_000), Say("Hello.")])
        agent.wait_for(lambda seen: "completed" in talk.statuses, "the end of a compaction")
        talk.run([Say("And on.")])
        check_summary(talk, "idle")
        assert talk.text == "Hello.And on."
        assert agent.judge.unanswered() == []


@pytest.mark.parametrize("off", [{"idleCompaction": False}, {"autoCompactEnabled": False}])
def test_not_idle(model: ScriptedModel, tmp_path: Path, off: dict[str, bool]) -> None:
    """The person's settings turn it off: the real Claude Code says so when it is asked."""
    environment = {"CLAUDE_AGENT_ACP_IDLE_COMPACT_DELAY_MS": "0", "ACPBRIDGE_LOG": "info"}
    with AgentProcess(model, tmp_path / "home", environment=environment, settings=off) as agent:
        agent.initialize()
        talk = Talk(agent, model, tmp_path / "work")
        talk.run([Usage(input=100, cache_creation=250_000, cache_hour=250_000), Say("Hello.")])
        wait_for_text(
            agent.stderr_path, f"session {talk.session}: it is idle, and its settings keep it from a compaction"
        )
        talk.run([Say("And on.")])
        assert shown(talk) == []
