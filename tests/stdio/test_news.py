"""What is told beside text and tools, through the real program and the real Claude Code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Fail, Say, ScriptedModel, Stop, UseTool, Wait
from tests.stdio.agent_process import AgentProcess
from tests.stdio.talk import Talk

MEMORY = """\
---
name: deploy-notes
description: how the whale service is deployed
type: project
---
Deploy with make whale.
"""


def test_recalled_memories(tmp_path: Path) -> None:
    """Memories that Claude Code puts before the model are one call that is over at once, and nothing is said of them.

    It recalls some only where memory stores are set up (CLAUDE_MEMORY_STORES), and in a turn with a tool.
    """
    memories = tmp_path / "memories"
    memories.mkdir()
    (memories / "deploy.md").write_text(MEMORY, encoding="utf-8")
    environment = {"CLAUDE_MEMORY_STORES": json.dumps([str(tmp_path / "stores")])}
    settings = {"autoMemoryDirectory": str(memories)}
    with (
        ScriptedModel() as model,
        AgentProcess(model, tmp_path / "home", settings=settings, environment=environment) as agent,
    ):
        gate = model.gate()
        model.on_side("recall", [Say(json.dumps({"selected_memories": ["deploy.md"]}))])
        tool = UseTool("Bash", {"command": "echo hi"})  # memories are put in behind a tool, as soon as they are chosen
        model.on("deploy the whale", [[Wait(gate), tool], [tool], [tool], [Say("Deployed.")]])
        agent.initialize()
        prompt = agent.prompt(agent.new_session(tmp_path / "work"), "please deploy the whale service")
        model.wait_for_request(lambda request: request.kind == "recall" and request.outcome == "answered")
        gate.open()
        assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
        calls = agent.updates("tool_call")
        [recalled] = [call for call in calls if call["_meta"]["claudeCode"]["toolName"] == "memory_recall"]
        assert recalled.pop("toolCallId")
        assert recalled == {
            "sessionUpdate": "tool_call",
            "status": "completed",
            "title": "Recalled 1 memory",
            "kind": "read",
            "locations": [{"path": str((memories / "deploy.md").resolve())}],
            "_meta": {"claudeCode": {"toolName": "memory_recall", "toolResponse": {"mode": "select"}}},
        }
        assert agent.text() == "Deployed."
        assert "make whale" in str(model.requests[-1].body["messages"])


HOOK = """\
import json, sys
asked = json.load(sys.stdin)
if asked["hook_event_name"] == "Stop":
    print(json.dumps({"systemMessage": "the hook says hello"}))
elif "forbidden" in asked["prompt"]:
    print("not that word", file=sys.stderr)
    sys.exit(2)
"""


@pytest.fixture(scope="module", params=[True, False], ids=["notices", "transcript"])
def agent(request: pytest.FixtureRequest, model: ScriptedModel, tmp_path_factory: Any) -> Iterator[AgentProcess]:
    """Claude Code with hooks that have something to say; of a client with notices, and of one without."""
    place = tmp_path_factory.mktemp("news")
    hook = place / "hook.py"
    hook.write_text(HOOK, encoding="utf-8")
    command = {"type": "command", "command": f'"{Path(sys.executable).as_posix()}" "{hook.as_posix()}"'}
    settings = {"hooks": {event: [{"hooks": [command]}] for event in ("UserPromptSubmit", "Stop")}}
    with AgentProcess(model, place / "home", settings=settings, max_retries=2) as agent:
        agent.initialize({"session": {"notices": {}}} if request.param else {})
        yield agent


@pytest.fixture
def talk(agent: AgentProcess, model: ScriptedModel, tmp_path: Path) -> Talk:
    return Talk(agent, model, tmp_path / "work")


def notices(talk: Talk) -> list[tuple[str, str, str]]:
    """Weight, title and description of each."""
    told = talk.updates("notice")
    return [(update["severity"], update["title"], update.get("description", "")) for update in told]


def takes_notices(talk: Talk) -> bool:
    return bool(talk.updates("notice"))


def test_a_hook_that_says_something(talk: Talk) -> None:
    """What a hook has Claude Code tell is a notice, or a paragraph that says what it is."""
    talk.run([Say("Done.")])
    if takes_notices(talk):
        assert notices(talk) == [("info", "Stop says: the hook says hello", "")]
        assert talk.text == "Done."
    else:
        assert talk.text == "Done.**Notice:** Stop says: the hook says hello\n\n"
        meta = talk.updates("agent_message_chunk")[-1]["_meta"]
        assert meta == {"claudeCode": {"kind": "informational", "level": "notice"}}


def test_a_prompt_that_a_hook_blocks(talk: Talk) -> None:
    """A prompt that a hook does not let through is answered, and says why, once."""
    assert talk.result(talk.agent.prompt(talk.session, "a forbidden word"))["stopReason"] == "end_turn"
    if takes_notices(talk):
        [(severity, title, description)] = notices(talk)
        assert (severity, title) == ("warning", "UserPromptSubmit operation blocked by hook:")
        assert "not that word" in description
        assert talk.text == ""
    else:
        assert talk.text.startswith("**Warning:** UserPromptSubmit operation blocked by hook:")
        assert talk.text.count("not that word") == 1


def test_the_model_is_asked_again(talk: Talk) -> None:
    """The person is told why it takes longer, before the answer."""
    talk.run([Fail(529, times=1), Say("Here I am.")])
    told = notices(talk)
    if told:
        assert told[0][:2] == ("warning", "Retrying Claude, attempt 1 of 2.")
        assert told[0][2].startswith("The model is overloaded; next attempt in ")
        assert talk.text == "Here I am."
    else:
        retried, _, rest = talk.text.partition("\n\n")
        assert retried.startswith("**Retrying Claude, attempt 1 of 2:** The model is overloaded; next attempt in ")
        assert rest == "Here I am.**Notice:** Stop says: the hook says hello\n\n"


def test_a_refusal(talk: Talk) -> None:
    """A turn that the model refuses ends so, and Claude Code's words about it are there."""
    refusal = [Say("I will"), Stop("refusal")]
    assert talk.run(refusal, refusal)["stopReason"] == "refusal"
    assert "safeguards flagged this message" in talk.text
