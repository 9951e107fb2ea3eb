"""Slash commands through the real program and the real Claude Code: each says something, once, and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess
from tests.stdio.talk import Talk

REPORT = re.compile(
    r"## Usage\n\n---\n\n### This session\n\n"
    r"\| Cost \| API time \| Active \|\n\|:--\|:--\|:--\|\n\| \$0\.00 \| \d+s \| \d+s \|\n\n"
    r"\| Breakdown \| Tokens \|\n\|:--\|--:\|\n"
    r"\| Input \| [1-9]\d* \|\n\| Output \| [1-9]\d* \|\n\| Cache read \| 0 \|\n\| Cache write \| 0 \|"
)
"""With an API key there is nothing else: the titles are counted, too, so the numbers vary."""


@pytest.fixture(scope="module")
def shared(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with AgentProcess(model, tmp_path_factory.mktemp("commands") / "home") as agent:
        agent.initialize()
        yield agent


@pytest.fixture
def talk(shared: AgentProcess, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    talk = Talk(shared, model, tmp_path_factory.mktemp("commands") / "work")
    yield talk
    talk.close()


def say(talk: Talk, text: str) -> str:
    """Prompt, and all that was said in answer."""
    before = len(talk.seen)
    assert talk.result(talk.agent.prompt(talk.session, text))["stopReason"] == "end_turn"
    return talk.agent.text(talk.seen[before:])


def test_usage(talk: Talk, model: ScriptedModel) -> None:
    """`/usage` is a report of this session in Markdown, with what it has used so far; the model is not asked."""
    talk.run([Say("Hello.")])
    asked = len(model.requests)
    for _ in range(2):
        assert REPORT.fullmatch(say(talk, "/usage"))
    assert [request for request in model.requests[asked:] if request.kind == "main"] == []


def test_usage_between_prompts(talk: Talk, model: ScriptedModel) -> None:
    """Prompts sent at once are answered in their order, the `/usage` between them too."""
    gate = model.gate()
    running = talk.prompt([Wait(gate), Say("the first")])
    usage = talk.agent.prompt(talk.session, "/usage")
    last = talk.prompt([Say("the last")])
    gate.open()
    for number in (running, usage, last):
        assert talk.result(number)["stopReason"] == "end_turn"
    assert talk.text.startswith("the first## Usage")
    assert talk.text.endswith("the last")
    assert talk.text.count("## Usage") == 1


def test_usage_behind_a_tool(talk: Talk, model: ScriptedModel) -> None:
    """Claude Code folds what it is told while a tool runs into the turn, but not a `/usage`: what the model says in
    that turn stays, and the report comes behind it."""
    agent = talk.agent
    agent.choose, choose = None, agent.choose
    try:
        running = talk.prompt([UseTool("Bash", {"command": "touch made"})], [Say("done")])
        asked = talk.asked()
        usage = agent.prompt(talk.session, "/usage")
        last = talk.prompt([Say("the last")])
        agent.reply(asked, "allow-once")
        for number in (running, usage, last):
            assert talk.result(number)["stopReason"] == "end_turn"
    finally:
        agent.choose = choose
    assert talk.text.count("## Usage") == 1
    assert talk.text.count("the last") == 1
    assert talk.text.index("the last") < talk.text.index("## Usage")


def test_usage_is_cancelled(talk: Talk, model: ScriptedModel) -> None:
    """A cancel ends what runs and the `/usage` that waits behind it; the next one is answered."""
    gate = model.gate()
    running = talk.prompt([Say("standing"), Wait(gate)])
    talk.agent.wait_for(lambda seen: "standing" in talk.text, "the text")
    usage = talk.agent.prompt(talk.session, "/usage")
    talk.agent.cancel(talk.session)
    assert [talk.result(number)["stopReason"] for number in (running, usage)] == ["cancelled", "cancelled"]
    gate.open()
    assert "## Usage" not in talk.text
    assert say(talk, "/usage").startswith("## Usage")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/context", "## Context Usage"),
        ("/compact", "ompact"),
        ("/clear", "conversation was cleared"),
        ("/model", "Current model:"),
        ("/init", "CLAUDE.md"),
        ("/cost", "cost"),
        ("/nosuchcommand", "nosuchcommand"),
    ],
)
@pytest.mark.parametrize("fresh", [True, False])
def test_no_command_is_silent(talk: Talk, command: str, told: str, fresh: bool) -> None:
    """Each command has an output that a person can read, at the beginning of a session and later."""
    if not fresh:
        talk.run([Say("Hello.")])
    assert told in say(talk, command)


def test_commands_that_are_added(talk: Talk) -> None:
    """A command that is written while a session is open is offered, and does what it says."""
    commands = talk.work / ".claude" / "commands"
    commands.mkdir(parents=True)
    text = "---\ndescription: Say it loudly\nargument-hint: [what] [how]\n---\nShout $ARGUMENTS across the sea.\n"
    (commands / "shout.md").write_text(text, encoding="utf-8")
    say(talk, "/reload-skills")

    def offered(seen: object) -> list[dict[str, object]]:
        updates = talk.updates("available_commands_update")
        return [command for command in updates[-1]["availableCommands"] if command["name"] == "shout"]

    [command] = talk.agent.wait_for(offered, "the new command")
    assert str(command["description"]).startswith("Say it loudly")
    assert command["input"] == {"hint": "[what] [how]"}
    assert "Shout ahoy twice across the sea." in say(talk, "/shout ahoy twice")
