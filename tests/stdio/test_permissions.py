"""What a person is asked, and what the answer does, in the real program with the real Claude Code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool
from tests.stdio.agent_process import AgentProcess, Message
from tests.stdio.talk import Talk


@pytest.fixture(scope="module")
def shared(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """One agent for all of these tests; its client shows plans."""
    with AgentProcess(model, tmp_path_factory.mktemp("permissions") / "home") as agent:
        agent.initialize({"plan": {}})
        yield agent


@pytest.fixture
def talk(shared: AgentProcess, model: ScriptedModel, tmp_path: Path) -> Iterator[Talk]:
    """A new session. Whatever a test does, no call of it stays open."""
    shared.choose = None
    talk = Talk(shared, model, tmp_path / "work")
    yield talk
    talk.close()


@pytest.fixture
def planning(shared: AgentProcess, model: ScriptedModel, tmp_path: Path) -> Iterator[Talk]:
    """The same in plan mode."""
    shared.choose = None
    talk = Talk(shared, model, tmp_path / "work", mode="plan")
    yield talk
    talk.close()


def write(path: Path, content: str = "content\n") -> UseTool:
    return UseTool("Write", {"file_path": str(path), "content": content})


def options(request: Message) -> dict[str, Message]:
    return {option["optionId"]: option for option in request["params"]["options"]}


def clears(request: Message) -> str:
    """The option of a plan with which the context is cleared."""
    return next(option for option in options(request) if "clear" in option)


def reason(talk: Talk, request: Message, text: str) -> None:
    """Refuse, and say why."""
    outcome = {"outcome": "selected", "optionId": "reject"}
    talk.agent.send({"id": request["id"], "result": {"outcome": outcome, "_meta": {"permission": {"feedback": text}}}})


def modes(talk: Talk) -> list[str]:
    """The modes that the client was told, and that the options say the same."""
    told = [update["currentModeId"] for update in talk.updates("current_mode_update")]
    listed = [_mode(update) for update in talk.updates("config_option_update")]
    assert listed[-len(told) :] == told
    return told


def _mode(update: Message) -> str:
    value: str = next(option["currentValue"] for option in update["configOptions"] if option["id"] == "mode")
    return value


# ------------------------------------------------------------------------------------------------- allowed


def test_allow_once(talk: Talk) -> None:
    """What is allowed once is done, and the next use is asked about again."""
    talk.agent.choose = lambda request: "allow-once"
    assert talk.run([write(talk.work / "a")], [write(talk.work / "b")], [Say("both")])["stopReason"] == "end_turn"
    assert [(talk.work / name).read_text() for name in "ab"] == ["content\n"] * 2
    assert (len(talk.asks), talk.statuses) == (2, ["completed", "completed"])
    (diff,) = talk.asks[0]["params"]["toolCall"]["content"]
    assert (diff["path"], diff.get("oldText"), diff["newText"]) == (str(talk.work / "a"), None, "content\n")
    assert talk.updates("current_mode_update") == []


def test_what_is_not_seen(talk: Talk) -> None:
    """A command is shown with what is not seen in it by its code point, and runs as it was written."""
    talk.agent.choose = lambda request: "allow-once"
    command = "printf '\u202eabc\u200b' > out"
    talk.run([UseTool("Bash", {"command": command, "description": "Pri\u200bnt"})], [Say("printed")])
    [request] = talk.asks
    assert request["params"]["toolCall"]["title"] == "printf '<U+202E>abc<U+200B>' > out"
    assert request["params"]["_meta"]["permission"]["title"] == "printf '<U+202E>abc<U+200B>' > out"
    assert request["params"]["toolCall"]["rawInput"]["command"] == command
    assert (talk.work / "out").read_text(encoding="utf-8") == "\u202eabc\u200b"


def test_allow_always_changes_the_mode(talk: Talk) -> None:
    """What is allowed always is not asked again; a mode that follows from it is told to the client."""
    talk.agent.choose = lambda request: "allow-with-updates"
    talk.run([write(talk.work / "a")], [write(talk.work / "b")], [Say("both")])
    assert (len(talk.asks), talk.statuses) == (1, ["completed", "completed"])
    option = options(talk.asks[0])["allow-with-updates"]
    assert option["name"] == "Yes, allow all edits during this session"
    assert option["_meta"]["permission"]["scope"] == "session"
    assert modes(talk) == ["acceptEdits"]


def test_allow_always_keeps_a_rule(talk: Talk) -> None:
    """The rule that the option told as data is the one that Claude Code keeps, and it is not asked again."""
    talk.agent.choose = lambda request: "allow-with-updates"
    (talk.work / "count.py").write_text("print(1)")
    command = UseTool("Bash", {"command": "python3 count.py", "description": "count"})
    talk.run([command], [command], [Say("counted")])
    assert (len(talk.asks), talk.statuses) == (1, ["completed", "completed"])
    told = options(talk.asks[0])["allow-with-updates"]["_meta"]["permission"]
    assert told["scope"] == "localSettings"
    kept = json.loads((talk.work / ".claude" / "settings.local.json").read_text())["permissions"]["allow"]
    assert kept == [f"{rule['toolName']}({rule['ruleContent']})" for rule in told["rules"]]


# ------------------------------------------------------------------------------------------------- refused


def test_reject(talk: Talk) -> None:
    """What is refused is not done; the model is told so, and the turn goes on."""
    talk.agent.choose = lambda request: "reject"
    assert talk.run([write(talk.work / "a")], [Say("Then not.")])["stopReason"] == "end_turn"
    assert not (talk.work / "a").exists()
    assert (talk.text, talk.statuses) == ("Then not.", ["failed"])
    assert "User refused permission to run tool" in talk.asked_model()


def test_reject_with_a_reason(talk: Talk) -> None:
    """A refusal's reason is in the model's next request."""
    prompt = talk.prompt([write(talk.work / "a")], [Say("Elsewhere then.")])
    reason(talk, talk.asked(), "put it under docs, please")
    assert talk.result(prompt)["stopReason"] == "end_turn"
    assert "User refused permission to run tool: put it under docs, please" in talk.asked_model()
    assert talk.statuses == ["failed"]


def test_reject_one_of_several(talk: Talk) -> None:
    """A refusal ends its own call, and those beside it run."""
    refused = talk.work / "b"
    talk.agent.choose = lambda request: "reject" if str(refused) in str(request["params"]["toolCall"]) else "allow-once"
    talk.run([write(talk.work / "a"), write(refused), write(talk.work / "c")], [Say("two of three")])
    assert [(talk.work / name).exists() for name in "abc"] == [True, False, True]
    assert talk.statuses == ["completed", "failed", "completed"]
    assert (len(talk.asks), talk.text) == (3, "two of three")


def test_an_option_that_was_not_offered(talk: Talk) -> None:
    """An answer with another request's option, or with none that there is, fails that call; the turn goes on."""
    talk.agent.choose = lambda request: "exit-plan-bypass"
    assert talk.run([write(talk.work / "a")], [Say("well")])["stopReason"] == "end_turn"
    assert not (talk.work / "a").exists()
    assert "Permission option was not offered: exit-plan-bypass" in talk.asked_model()
    assert (talk.statuses, talk.text) == (["failed"], "well")


def test_cancelled_and_errors(talk: Talk) -> None:
    """`cancelled` and an error response fail the call, each in its words, and the turn goes on."""
    prompt = talk.prompt([write(talk.work / "a")], [write(talk.work / "b")], [Say("neither")])
    talk.agent.reply(talk.asked(1), None)
    talk.agent.send({"id": talk.asked(2)["id"], "error": {"code": -32603, "message": "no window"}})
    assert talk.result(prompt)["stopReason"] == "end_turn"
    assert (talk.statuses, talk.text, list(talk.work.iterdir())) == (["failed", "failed"], "neither", [])


# ------------------------------------------------------------------------------------------------- no answer


def test_withdrawn_by_a_cancel(talk: Talk) -> None:
    """A cancel takes the request back, and an answer that comes behind it does nothing."""
    prompt = talk.prompt([write(talk.work / "a")], [Say("never")])
    asked = talk.asked()
    talk.agent.cancel(talk.session)
    assert talk.result(prompt)["stopReason"] == "cancelled"
    taken_back = [i.message["params"] for i in talk.agent.seen if i.message.get("method") == "$/cancel_request"]
    assert {"requestId": asked["id"]} in taken_back
    talk.agent.reply(asked, "allow-once")
    assert talk.run([Say("after it")])["stopReason"] == "end_turn"
    assert (talk.text, talk.statuses, (talk.work / "a").exists()) == ("after it", ["failed"], False)


def test_never_answered(talk: Talk, model: ScriptedModel, tmp_path: Path) -> None:
    """A client that does not answer holds up nobody else, and the session can be closed all the same."""
    prompt = talk.prompt([write(talk.work / "a")], [Say("never")])
    asked = talk.asked()
    other = Talk(talk.agent, model, tmp_path / "other")
    assert other.run([Say("not held up")])["stopReason"] == "end_turn"
    other.close()
    talk.agent.answer(talk.agent.request("session/close", {"sessionId": talk.session}))
    assert talk.result(prompt)["stopReason"] == "cancelled"
    assert talk.statuses == ["failed"]
    taken_back = [i.message["params"] for i in talk.agent.seen if i.message.get("method") == "$/cancel_request"]
    assert {"requestId": asked["id"]} in taken_back


def test_the_client_is_gone(model: ScriptedModel, tmp_path: Path) -> None:
    """An ask that nobody can answer any more ends its turn as cancelled, and the program without a process left."""
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize()
        agent.choose = None
        talk = Talk(agent, model, tmp_path / "work")
        prompt = talk.prompt([write(talk.work / "a")], [Say("never")])
        talk.asked()
        assert agent.close() == 0
        assert talk.result(prompt)["stopReason"] == "cancelled"
        assert (talk.statuses, (talk.work / "a").exists()) == (["failed"], False)


# ------------------------------------------------------------------------------------------------- plans


def test_enter_plan_mode(talk: Talk) -> None:
    """A plan mode that Claude enters, asked or not, is told to the client, once."""
    talk.agent.choose = lambda request: "allow-once"
    talk.run([UseTool("EnterPlanMode", {})], [Say("planning")])
    assert (modes(talk), talk.statuses) == (["plan"], ["completed"])


def test_plan_is_approved(planning: Talk) -> None:
    """An approved plan is a completed call and a plan of the client; the mode that was chosen is told."""
    tool = planning.planned()
    planning.agent.choose = lambda request: "exit-plan-default"
    assert planning.run([tool], [Say("I did.")])["stopReason"] == "end_turn"
    request = planning.asks[0]["params"]
    assert request["_meta"]["permission"]["title"] == "Ready to code?"
    assert list(options(planning.asks[0])) == [
        "exit-plan-default",
        "exit-plan-clear-auto",
        "exit-plan-auto",
        "exit-plan-bypass",
        "reject",
    ]
    assert modes(planning) == ["plan", "default"]
    assert planning.calls[-1]["status"] == "completed"
    assert [update["plan"]["content"] for update in planning.updates("plan_update")] == [planning.plan]
    assert planning.text.endswith("I did.")


def test_plan_is_approved_with_a_mode(planning: Talk) -> None:
    """A lasting choice changes the mode, and what it allows is not asked."""
    tool = planning.planned()
    planning.agent.choose = lambda request: "exit-plan-bypass"
    planning.run([tool], [write(planning.work / "done")], [Say("I did.")])
    assert (modes(planning), len(planning.asks)) == (["plan", "bypassPermissions"], 1)
    assert (planning.work / "done").exists()


def test_plan_is_kept(planning: Talk) -> None:
    """Who keeps planning stops the turn: it is cancelled, the call has failed, and the mode stays."""
    tool = planning.planned()
    planning.agent.choose = lambda request: "reject"
    answer = planning.run([tool], [Say("never")])
    assert (answer["stopReason"], answer["usage"]["inputTokens"]) == ("cancelled", 100)
    assert (planning.calls[-1]["status"], modes(planning)) == ("failed", ["plan"])
    assert planning.updates("plan_update") == []
    assert planning.run([Say("on we go")])["stopReason"] == "end_turn"
    assert planning.text == "Planning.Planned.on we go"


def test_plan_is_kept_with_a_reason(planning: Talk) -> None:
    """With a reason the model goes on planning by it, in the same turn."""
    prompt = planning.prompt([planning.planned()], [Say("With tests, then.")])
    reason(planning, planning.asked(), "it needs tests")
    assert planning.result(prompt)["stopReason"] == "end_turn"
    assert "it needs tests" in planning.asked_model()
    assert planning.text.endswith("With tests, then.")


# ------------------------------------------------------------------------------------------------- a fresh context


def test_plan_with_a_fresh_context(planning: Talk) -> None:
    """Another Claude Code carries the plan out under the same session and prompt: nothing of before is in its context,
    model, effort and usage are carried on, and the mode that was chosen is told."""
    for name, value in (("model", "sonnet"), ("effort", "low")):
        params = {"sessionId": planning.session, "configId": name, "value": value}
        planning.agent.answer(planning.agent.request("session/set_config_option", params))
    tool = planning.planned()
    spent = planning.updates("usage_update")[-1]["cost"]["amount"]
    planning.model.on(f"Implement the following plan:\n\n{planning.plan}", [[Say("Carried out.")]])
    planning.agent.choose = clears
    answer = planning.run([Say("Look:"), tool], [Say("never")])
    assert (answer["stopReason"], answer["usage"]["inputTokens"]) == ("end_turn", 200)
    assert planning.text == "Planning.Planned.Look:Carried out."
    asked = planning.model.wait_for_request(
        lambda request: (
            request.kind == "main" and "Implement the following" in request.prompt and planning.plan in request.prompt
        )
    )
    assert "Planned." not in str(asked.body["messages"])
    assert asked.body["model"] == "claude-sonnet-5-5"
    assert asked.body["output_config"]["effort"] == "low"
    assert modes(planning)[-1] == "auto"
    call = planning.calls[-1]
    assert (call["status"], "rawOutput" in call) == ("completed", False)
    assert [update["plan"]["content"] for update in planning.updates("plan_update")] == [planning.plan]
    usage = planning.updates("usage_update")
    assert 0 in [update["used"] for update in usage]
    assert usage[-1]["cost"]["amount"] > spent
    assert planning.run([Say(" And on.")])["stopReason"] == "end_turn"
    assert "Carried out." in planning.asked_model(f"do {planning.word}")


def test_what_waits_behind_a_fresh_context(planning: Talk) -> None:
    """A prompt that waited behind the plan, and one that comes meanwhile, are run by the new Claude Code; each is
    answered once, in their order."""
    planning.model.on(f"Implement the following plan:\n\n{planning.plan}", [[Say("Carried out.")]])
    first = planning.prompt([planning.planned()])
    asked = planning.asked()
    second = planning.prompt([Say("Second.")], text="prompt two")
    planning.agent.reply(asked, clears(asked))
    third = planning.prompt([Say("Third.")], text="prompt three")
    assert [planning.result(prompt)["stopReason"] for prompt in (first, second, third)] == ["end_turn"] * 3
    assert planning.text.startswith("Planning.Planned.Carried out.")
    assert planning.text.endswith("Third.")  # what waits together Claude Code may fold into one turn
    assert all(f"prompt {number}" in planning.asked_model() for number in ("two", "three"))
    answers = [item.message.get("id") for item in planning.agent.seen if "method" not in item.message]
    assert [number for number in answers if number in (first, second, third)] == [first, second, third]


def test_a_cancel_during_a_fresh_context(planning: Talk) -> None:
    """A cancel while the new Claude Code starts: the prompt is cancelled, the plan is not carried out, and the session
    goes on in the new mode with an empty context."""
    prompt = planning.prompt([planning.planned()])
    asked = planning.asked()
    planning.agent.reply(asked, clears(asked))
    planning.agent.cancel(planning.session)
    assert planning.result(prompt)["stopReason"] == "cancelled"
    assert planning.run([Say("Something else.")])["stopReason"] == "end_turn"
    assert planning.plan not in planning.asked_model()
    assert "Implement" not in planning.text
    assert modes(planning)[-1] == "auto"


def test_a_fresh_context_that_does_not_start(planning: Talk) -> None:
    """Where no new Claude Code starts the prompt fails in words; the next one goes on with the old conversation."""
    prompt = planning.prompt([planning.planned()])
    asked = planning.asked()
    shutil.move(planning.work, planning.work.with_name("away"))
    planning.agent.reply(asked, clears(asked))
    error = planning.agent.answer(prompt)["error"]
    assert error["code"] == -32603
    assert "the plan was not carried out" in error["message"]
    shutil.move(planning.work.with_name("away"), planning.work)
    assert planning.run([Say("As before.")])["stopReason"] == "end_turn"
    assert "Planned." in planning.asked_model()
    assert modes(planning) == ["plan"]


def test_a_fresh_context_is_taken_up_again(planning: Talk) -> None:
    """The session's id stays its own: who loads it gets the conversation with the plan's end."""
    planning.model.on(f"Implement the following plan:\n\n{planning.plan}", [[Say("Carried out.")]])
    tool = planning.planned()
    planning.agent.choose = clears
    planning.run([tool])
    planning.agent.answer(planning.agent.request("session/close", {"sessionId": planning.session}))
    begun = len(planning.agent.seen)
    params = {"sessionId": planning.session, "cwd": str(planning.work), "mcpServers": []}
    loaded = planning.agent.answer(planning.agent.request("session/load", params))["result"]
    assert loaded["modes"]["currentModeId"] == "auto"
    assert planning.agent.text(planning.agent.seen[begun:]) == "Carried out."
