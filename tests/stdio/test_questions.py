"""Questions to the person through the real program and the real Claude Code: Claude's own, and an MCP server's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpbridge.testing import Say, ScriptedModel, UseTool
from tests.stdio.agent_process import AgentProcess, Message, Seen
from tests.stdio.mcp_client import LEGACY, PATIENT, answer, elicitation, over_http, patient, server, texts

OPTIONS = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
PICK = {"question": "Which one?", "header": "Pick", "multiSelect": False, "options": OPTIONS}
MANY = {"question": "Which ones?", "header": "Many", "multiSelect": True, "options": OPTIONS}


@pytest.fixture(scope="module")
def asking(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client can be asked anything."""
    with AgentProcess(model, tmp_path_factory.mktemp("asking") / "home") as agent:
        agent.initialize({"elicitation": {"form": {}, "url": {}}})
        yield agent


@pytest.fixture(scope="module")
def plain(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """An agent whose client has no elicitation."""
    with AgentProcess(model, tmp_path_factory.mktemp("plain") / "home") as agent:
        agent.initialize()
        yield agent


def ask(*questions: dict[str, Any]) -> UseTool:
    return UseTool("AskUserQuestion", {"questions": list(questions)})


def last(agent: AgentProcess) -> Message:
    """How the last call ended."""
    ended = [item.update for item in agent.seen if item.update.get("status") in ("completed", "failed")]
    return ended[-1]


def count(agent: AgentProcess) -> int:
    return sum(item.message.get("method") == "elicitation/create" for item in agent.seen)


def taken_back(agent: AgentProcess) -> list[Message]:
    return [item.message["params"] for item in agent.seen if item.message.get("method") == "$/cancel_request"]


def test_form(asking: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A question is put as a form about its announced call, and the answers reach the model."""
    model.on("ask both", [[ask(PICK, MANY)], [Say("thanks")]])
    session = asking.new_session(tmp_path)
    number = count(asking) + 1
    prompt = asking.prompt(session, "ask both")
    asked = elicitation(asking, number)
    params = asked["params"]
    assert (params["mode"], params["sessionId"]) == ("form", session)
    assert params["message"] == "Please answer the following questions."
    assert params["toolCallId"] in [update["toolCallId"] for update in asking.updates("tool_call")]
    properties = params["requestedSchema"]["properties"]
    assert list(properties) == ["question_0", "question_0_custom", "question_1", "question_1_custom"]
    answer(asking, asked, "accept", question_0="B", question_1=["A", "B"], question_1_custom="C")
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert '"Which one?"="B", "Which ones?"="A, B, C"' in str(last(asking)["rawOutput"])


HIDDEN = {
    "question": "Delete \u202eit?",
    "header": "Fi\u200ble",
    "options": [{"label": "A\u200b", "description": "\u2066now"}, {"label": "B", "description": "never"}],
}


def test_what_is_not_seen(asking: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A question is shown without what is not seen in it, and Claude Code is answered in its own words."""
    model.on("ask covertly", [[ask(HIDDEN)], [Say("thanks")]])
    session = asking.new_session(tmp_path)
    number = count(asking) + 1
    prompt = asking.prompt(session, "ask covertly")
    asked = elicitation(asking, number)
    assert asked["params"]["message"] == "Delete it?"
    shown = asked["params"]["requestedSchema"]["properties"]["question_0"]
    assert shown["title"] == "File"
    assert shown["oneOf"][0] == {"const": "A\u200b", "title": "A", "description": "now"}
    answer(asking, asked, "accept", question_0=shown["oneOf"][0]["const"])
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert '"Delete \u202eit?"="A\u200b"' in last(asking)["rawOutput"]["output"]


def test_decline_and_cancel(asking: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """Who declines has not answered, and the turn goes on; who cancels has the call fail."""
    model.on("ask twice", [[ask(PICK)], [ask(PICK)], [Say("well")]])
    session = asking.new_session(tmp_path)
    number = count(asking)
    prompt = asking.prompt(session, "ask twice")
    answer(asking, elicitation(asking, number + 1), "decline")
    second = elicitation(asking, number + 2)
    assert "did not answer" in str(last(asking)["rawOutput"])
    answer(asking, second, "cancel")
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert (last(asking)["status"], "Tool use aborted" in str(last(asking))) == ("failed", True)


def test_withdrawn(asking: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A cancel takes the open question back: `$/cancel_request`, and the prompt is answered without an answer to it."""
    model.on("ask in vain", [[ask(PICK)], [Say("never")]])
    session = asking.new_session(tmp_path)
    number = count(asking) + 1
    prompt = asking.prompt(session, "ask in vain")
    asked = elicitation(asking, number)
    asking.cancel(session)
    assert asking.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert {"requestId": asked["id"]} in taken_back(asking)
    answer(asking, asked, "cancel")


@pytest.fixture(params=["a request over stdio", "a result over stdio", "a result over HTTP"])
def with_server(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The params of a session with the server `ask`, in each way in which a server may ask."""
    if request.param == "a result over HTTP":
        with over_http("streamable-http") as url:
            there = {"type": "http", "name": "ask", "url": url, "headers": []}
            yield {"mcpServers": [there], "_meta": PATIENT}
    else:
        environment = LEGACY if request.param == "a request over stdio" else {}
        yield {"mcpServers": [server("ask")], "_meta": patient(**environment)}


def test_mcp_server_asks(
    asking: AgentProcess, model: ScriptedModel, tmp_path: Path, with_server: dict[str, Any]
) -> None:
    """An MCP server's form and its URL reach the client, and the client's answer the server. The end of the URL is
    told where the protocol has a word for it."""
    model.on("let it ask", [[UseTool("mcp__ask__asks")], [UseTool("mcp__ask__opens")], [Say("asked")]])
    session = asking.new_session(tmp_path, **with_server)
    number, before = count(asking), len(asking.seen)
    prompt = asking.prompt(session, "let it ask")
    form = elicitation(asking, number + 1)
    assert (form["params"]["mode"], form["params"]["message"]) == ("form", "Who are you?")
    assert form["params"]["requestedSchema"]["properties"] == {"name": {"type": "string", "title": "Name"}}
    answer(asking, form, "accept", name="Bo")
    url = elicitation(asking, number + 2)
    assert "accept: Bo" in str(last(asking))
    assert (url["params"]["mode"], url["params"]["url"]) == ("url", "https://example.test/sign-in")
    answer(asking, url, "accept")
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert "accept" in str(last(asking))
    messages = [item.message for item in asking.seen[before:]]
    completed = [message["params"] for message in messages if message.get("method") == "elicitation/complete"]
    told = {"elicitationId": url["params"]["elicitationId"]}
    assert completed == ([told] if with_server["_meta"] == patient(**LEGACY) else [])


def test_mcp_server_needs_a_page(
    asking: AgentProcess, model: ScriptedModel, tmp_path: Path, with_server: dict[str, Any]
) -> None:
    """A call that fails for want of a visit to a page is made again when the person was there."""
    model.on("let it need", [[UseTool("mcp__ask__needs")], [Say("needed")]])
    session = asking.new_session(tmp_path, **with_server)
    number = count(asking) + 1
    prompt = asking.prompt(session, "let it need")
    asked = elicitation(asking, number)
    assert (asked["params"]["mode"], asked["params"]["url"]) == ("url", "https://example.test/needed")
    assert asked["params"]["elicitationId"] == "elicitation-2"
    answer(asking, asked, "accept")
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert (last(asking)["status"], "paid" in str(last(asking)["content"])) == ("completed", True)


def test_mcp_server_is_refused(
    asking: AgentProcess, model: ScriptedModel, tmp_path: Path, with_server: dict[str, Any]
) -> None:
    """A server is told which of the two it was: the person said no, or nothing; an error of the client is nothing."""
    uses = [[UseTool(f"mcp__ask__{name}")] for name in ("asks", "opens", "asks")]
    model.on("let it ask in vain", [*uses, [Say("then not")]])
    session = asking.new_session(tmp_path, **with_server)
    number = count(asking)
    prompt = asking.prompt(session, "let it ask in vain")
    answer(asking, elicitation(asking, number + 1), "decline")
    second = elicitation(asking, number + 2)
    assert "decline" in str(last(asking)["content"])
    answer(asking, second, "cancel")
    third = elicitation(asking, number + 3)
    assert "cancel" in str(last(asking)["content"])
    asking.send({"id": third["id"], "error": {"code": -32603, "message": "no window"}})
    assert asking.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert "cancel" in str(last(asking)["content"])


def test_mcp_question_is_withdrawn(
    asking: AgentProcess, model: ScriptedModel, tmp_path: Path, with_server: dict[str, Any]
) -> None:
    """A cancel takes a server's open question back from the client, and the prompt is answered without an answer."""
    model.on("let it ask for ever", [[UseTool("mcp__ask__asks")], [Say("never")]])
    session = asking.new_session(tmp_path, **with_server)
    number = count(asking) + 1
    prompt = asking.prompt(session, "let it ask for ever")
    asked = elicitation(asking, number)
    asking.cancel(session)
    assert asking.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert {"requestId": asked["id"]} in taken_back(asking)
    assert asking.open_calls() == []
    answer(asking, asked, "accept", name="Bo")


def test_choice_without_forms(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """For a client without forms each question is a permission request with one option a choice."""
    second = {**PICK, "question": "And then?"}
    model.on("ask plainly", [[ask(PICK, second)], [Say("thanks")]])
    session = plain.new_session(tmp_path)
    plain.choose = lambda request: "choice-1"
    assert plain.answer(plain.prompt(session, "ask plainly"))["result"]["stopReason"] == "end_turn"
    names = [option["name"] for option in plain.permission(1)["params"]["options"]]
    assert names == ["A", "B", "Don't answer"]
    assert plain.permission(2)["params"]["toolCall"]["title"] == "And then?"
    assert '"Which one?"="B", "And then?"="B"' in str(last(plain)["rawOutput"])


def test_no_choice_without_forms(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """Who does not answer lets the turn go on without an answer; a request that is cancelled fails the call."""
    model.on("ask plainly in vain", [[ask(PICK)], [ask(PICK)], [Say("well")]])
    session = plain.new_session(tmp_path)
    options = iter(["dismiss", None])
    plain.choose = lambda request: next(options)
    before = len(plain.seen)
    assert plain.answer(plain.prompt(session, "ask plainly in vain"))["result"]["stopReason"] == "end_turn"
    ended = [item.update for item in plain.seen[before:] if item.update.get("status") in ("completed", "failed")]
    assert [update["status"] for update in ended] == ["completed", "failed"]
    assert "did not answer" in str(ended[0])
    assert "Tool use aborted" in str(ended[1])


def test_choice_is_withdrawn(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """A cancel takes the request back that stands for a form."""
    model.on("ask plainly for ever", [[ask(PICK)], [Say("never")]])
    session = plain.new_session(tmp_path)
    plain.choose = None

    def asked(seen: list[Seen]) -> Message | None:
        requests = [item.message for item in seen if item.message.get("method") == "session/request_permission"]
        return requests[-1] if requests and requests[-1]["params"]["sessionId"] == session else None

    prompt = plain.prompt(session, "ask plainly for ever")
    request = plain.wait_for(asked, "the question")
    plain.cancel(session)
    assert plain.answer(prompt)["result"]["stopReason"] == "cancelled"
    assert {"requestId": request["id"]} in taken_back(plain)
    assert plain.open_calls() == []
    plain.reply(request, "choice-0")


def test_refused_without_forms(plain: AgentProcess, model: ScriptedModel, tmp_path: Path) -> None:
    """What a client cannot be asked is refused at once: the model and the server are told, and the turn goes on."""
    model.on("ask for many", [[ask(MANY)], [UseTool("mcp__ask__asks")], [Say("then not")]])
    session = plain.new_session(tmp_path, mcpServers=[server("ask")], _meta=PATIENT)
    plain.choose = lambda request: "allow-once"
    assert plain.answer(plain.prompt(session, "ask for many"))["result"]["stopReason"] == "end_turn"
    ended = [item.update for item in plain.seen if item.update.get("status") in ("completed", "failed")]
    assert "one choice a question" in str(ended[-2])
    assert "cancel" in str(ended[-1])
    assert count(plain) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no executable there")
@pytest.mark.parametrize(
    ("capabilities", "said"),
    [
        ({"elicitation": {"form": {}}}, '{"behavior": "completed", "result": "retry_fallback"}'),
        ({"elicitation": {"url": {}}}, "no dialog"),
    ],
)
def test_dialog(model: ScriptedModel, tmp_path: Path, capabilities: dict[str, Any], said: str) -> None:
    """The dialog about a declined request is declared to Claude Code for a client with forms, and the client's answer
    is Claude Code's."""
    executable = tmp_path / "claude"
    script = Path(__file__).parents[1] / "dialog_claude.py"
    executable.write_text(f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(script)!r}, run_name='__main__')\n")
    executable.chmod(0o755)
    with AgentProcess(model, tmp_path / "home", environment={"CLAUDE_CODE_EXECUTABLE": str(executable)}) as agent:
        agent.initialize(capabilities)
        session = agent.new_session(tmp_path / "work")
        prompt = agent.prompt(session, "decline")
        if said != "no dialog":
            asked = elicitation(agent)
            assert asked["params"]["message"] == "Fable 5 declined this request (cyber). Retry with Opus 4.8?"
            answer(agent, asked, "accept", choice="retry_fallback")
        assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
        assert texts(agent, session) == [said]
