"""The scripted model over HTTP: what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from acpbridge.testing import (
    Fail,
    FailInStream,
    ModelRequest,
    Pause,
    Say,
    ScriptedModel,
    Think,
    UseTool,
)
from tests.testing.model_client import answer, body, connected, events, post, said


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def test_a_prompt_without_a_script_is_echoed(model: ScriptedModel) -> None:
    """The default answer says the prompt."""
    assert said(answer(model, "how are you?")) == "echo: how are you?"


def test_the_stream_is_sse_over_a_connection_that_stays(model: ScriptedModel) -> None:
    """Two answers come over one connection, as event streams with a request id."""
    with connected(model) as connection:
        for prompt in ("one", "two"):
            response = post(connection, body(prompt))
            assert response.status == 200
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert response.headers["request-id"].startswith("req_")
            assert said(response.read()) == f"echo: {prompt}"


def test_the_last_script_that_matches_is_played(model: ScriptedModel) -> None:
    """Scripts match by a part of the prompt or by a predicate, and a later one overrides an earlier one."""
    model.on("hello", [[Say("first")]])
    model.on(lambda request: request.body["model"] == "other", [[Say("by predicate")]])
    model.on("hello you", [[Say("second")]])
    assert said(answer(model, "well, hello you")) == "second"
    assert said(answer(model, "well, hello")) == "first"
    assert said(answer(model, "nothing", model="other")) == "by predicate"


def test_subagents_and_the_session_have_scripts_of_their_own(model: ScriptedModel) -> None:
    """The same prompt is answered by the script for the kind of its request."""
    model.on("hello", [[Say("to you")]])
    model.on("hello", [[Say("to the subagent")]], subagent=True)
    assert said(answer(model, "hello")) == "to you"
    assert said(answer(model, "hello", system="You are an agent for Claude Code.")) == "to the subagent"


def test_a_directive_comes_before_a_registered_script(model: ScriptedModel) -> None:
    """The prompt itself decides, if it has a directive; a gate in it has the name that the test knows."""
    model.on("hello", [[Say("registered")]])
    model.gate("now").open()
    assert said(answer(model, 'hello [[do: [[{"wait": "now"}, {"text": "written"}]]]]')) == "written"


def test_a_wrong_directive_is_an_error_answer(model: ScriptedModel) -> None:
    """A mistake in a directive is told with HTTP 400."""
    with connected(model) as connection:
        response = post(connection, body("[[do: [}]]"))
        assert response.status == 400
        assert "no valid JSON" in json.loads(response.read())["error"]["message"]


def test_a_script_that_ended_says_so(model: ScriptedModel) -> None:
    """A request for a round that the script does not have is answered with words, not with an empty message."""
    model.on("x", [])
    assert said(answer(model, "x")) == "(the script has no round 0)"


def test_ids_are_new_each_time(model: ScriptedModel) -> None:
    """Message and tool ids are never used twice, not even by another model."""
    seen = set()
    with ScriptedModel() as other:
        for each in (model, model, other):
            each.on("x", [[UseTool("Bash", {})]])
            found = events(answer(each, "x"))
            seen |= {found[0]["message"]["id"], found[2]["content_block"]["id"]}
    assert len(seen) == 6


def test_the_directory_is_put_into_tool_inputs() -> None:
    """`$CWD` is the directory given to the model, or else the one that the request tells."""
    for given, expected in (("/given", "/given/f"), (None, "/told/f")):
        with ScriptedModel(cwd=given) as model:
            model.on("x", [[UseTool("Read", {"path": "$CWD/f"})]])
            whole = json.loads(answer(model, "x", stream=False, system="Primary working directory: /told"))
        assert whole["content"][0]["input"] == {"path": expected}


def test_without_a_stream_the_whole_message_comes(model: ScriptedModel) -> None:
    """A request that does not stream gets the message as JSON."""
    model.on("x", [[Think("hm"), Pause(0.01), Say("hello")]])
    whole = json.loads(answer(model, "x", stream=False))
    assert [block["type"] for block in whole["content"]] == ["thinking", "text"]
    assert whole["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication_error"), (429, "rate_limit_error"), (529, "overloaded_error"), (418, "api_error")],
)
def test_a_failure_is_an_error_answer(model: ScriptedModel, status: int, kind: str) -> None:
    """`Fail` answers with its status, the error object that belongs to it, and retry-after."""
    model.on("x", [[Fail(status, message="because", retry_after=1.5)]])
    with connected(model) as connection:
        response = post(connection, body("x"))
        assert (response.status, response.headers["retry-after"]) == (status, "1.5")
        assert json.loads(response.read()) == {"type": "error", "error": {"type": kind, "message": "because"}}
    assert model.wait_for_request(lambda r: r.outcome == "failed").status == status


def test_a_failure_ends_after_its_times(model: ScriptedModel) -> None:
    """The tries of one request are counted, and a success begins the count anew."""
    model.on("x", [[Fail(529, times=2), Say("at last")]])
    for _turn in range(2):
        with connected(model) as connection:
            for attempt in (1, 2, 3):
                response = post(connection, body("x"))
                response.read()
                assert response.status == (200 if attempt == 3 else 529)
    assert [request.attempt for request in model.requests] == [1, 2, 3, 1, 2, 3]


def test_the_tries_of_two_sessions_are_counted_apart(model: ScriptedModel) -> None:
    """The same prompt in another session is another request."""
    model.on("x", [[Fail(529, times=1), Say("at last")]])
    for session in ("a", "b"):
        answer(model, "x", metadata={"user_id": json.dumps({"session_id": session})})
    assert [(r.session_id, r.attempt, r.status) for r in model.requests] == [("a", 1, 529), ("b", 1, 529)]


def test_a_failure_in_the_stream_is_an_error_event(model: ScriptedModel) -> None:
    """The error event ends the stream; to one who does not stream it is a 529."""
    model.on("x", [[Say("part"), FailInStream("overloaded_error", "too much")]])
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}}
    found = events(answer(model, "x"))
    assert found[-1] == failed
    assert "message_stop" not in [event["type"] for event in found]
    with connected(model) as connection:
        response = post(connection, body("x", stream=False))
        assert (response.status, json.loads(response.read())) == (529, failed)


def test_five_thousand_deltas_are_five_thousand_events(model: ScriptedModel) -> None:
    """Events are put into few writes, but each delta stays an event of its own."""
    model.on("x", [[Say("0123456789" * 500, each=1)]])
    deltas = [event["delta"]["text"] for event in events(answer(model, "x")) if event["type"] == "content_block_delta"]
    assert deltas == list("0123456789" * 500)


def test_side_requests_have_answers_of_their_own(model: ScriptedModel) -> None:
    """A title fits its schema, the others have short texts, and a test can set them; no script is played to them."""
    model.on("x", [[Say("never")]])
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    title = {"tools": [], "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    assert json.loads(said(answer(model, "x", **title))) == {"title": "Scripted title"}
    assert said(answer(model, "[SUGGESTION MODE: x")) == "go on"
    assert "<summary>" in said(answer(model, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. x"))
    assert said(answer(model, "x", max_tokens=1)) == "ok"
    model.on_side("suggestion", [Say("run the tests")])
    assert said(answer(model, "[SUGGESTION MODE: x")) == "run the tests"
    with pytest.raises(ValueError, match="not a kind of side request"):
        model.on_side("main", [Say("x")])


def test_the_other_paths_of_the_api(model: ScriptedModel) -> None:
    """count_tokens, HEAD / and the list of models are answered, all else is a 404 with an error object."""
    asked = [
        ("POST", "/v1/messages/count_tokens", b"x" * 40),
        ("HEAD", "/", None),
        ("GET", "/v1/models?limit=5", None),
        ("GET", "/api/other", None),
        ("POST", "/v1/complete", b"{}"),
        ("POST", "/v1/messages", b"not json"),
        ("POST", "/v1/messages", b'{"messages": [1]}'),
    ]
    answers: list[tuple[int, Any]] = []
    with connected(model) as connection:
        for method, path, content in asked:
            connection.request(method, path, content)
            response = connection.getresponse()
            text = response.read()
            answers.append((response.status, json.loads(text) if text else None))
    assert answers[0] == (200, {"input_tokens": 10})
    assert answers[1] == (200, None)
    assert [entry["type"] for entry in answers[2][1]["data"]] == ["model"] * 3
    assert [status for status, _value in answers[3:]] == [404, 404, 400, 400]
    assert {value["error"]["type"] for _status, value in answers[3:]} == {"not_found_error", "invalid_request_error"}


def test_a_predicate_that_fails_is_the_tests_failure() -> None:
    """An exception in a predicate is answered with a 400 and raised at the end of the with statement."""

    def fail(_request: ModelRequest) -> bool:
        raise KeyError("oops")

    model = ScriptedModel()
    model.start()
    model.on(fail, [[Say("never")]])
    with connected(model) as connection:
        assert post(connection, body("x")).status == 400
    with pytest.raises(KeyError, match="oops"):
        model.__exit__(None, None, None)


def test_waiting_for_a_request_in_vain_tells_what_was_seen(model: ScriptedModel) -> None:
    """The error of a wait lists the requests."""
    answer(model, "hello there")
    with pytest.raises(TimeoutError, match="hello there"):
        model.wait_for_request(lambda r: r.kind == "quota", timeout=0)
