"""The scripted model over HTTP: standing still, cuts, clients that go away, and its own end."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from acpbridge.testing import Cut, Pause, Reply, Say, ScriptedModel, Wait
from tests.testing.model_client import answer, body, connected, post, said


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def reply_text(model: ScriptedModel, reply: Reply) -> str:
    model.on("x", [reply])
    return said(answer(model, "x"))


def test_a_cut_resets_the_connection(model: ScriptedModel) -> None:
    """`Cut` is a connection reset after what was said before it."""
    gate = model.gate()
    model.on("x", [[Say("part"), Wait(gate), Cut()]])
    with connected(model) as connection:
        response = post(connection, body("x"))
        assert said(response.read1(65536)) == "part"
        gate.open()
        with pytest.raises(ConnectionError):
            response.read()
    assert model.wait_for_request(lambda r: r.outcome == "cut").status == 200


def test_a_cut_first_of_all_gives_no_answer(model: ScriptedModel) -> None:
    """`Cut` as the first step resets the connection before the answer's head."""
    model.on("x", [[Cut()]])
    with connected(model) as connection, pytest.raises(ConnectionError):
        post(connection, body("x"))
    assert model.wait_for_request(lambda r: r.outcome == "cut").status is None


def test_a_reply_stands_still_at_a_gate(model: ScriptedModel) -> None:
    """What stands before the gate comes, what stands behind it comes when the gate opens."""
    gate = model.gate()
    model.on("x", [[Say("before "), Wait(gate), Say("after")]])
    with connected(model) as connection:
        response = post(connection, body("x"))
        gate.wait_reached()
        assert said(response.read1(65536)) == "before "
        assert model.requests[0].outcome == "open"
        gate.open()
        assert said(response.read()) == "after"
    assert model.wait_for_request(lambda r: r.outcome == "answered").number == 1


def test_an_open_gate_does_not_stop_anybody(model: ScriptedModel) -> None:
    """A gate stays open for later replies."""
    gate = model.gate()
    gate.open()
    assert reply_text(model, [Wait(gate), Say("through")]) == "through"
    assert reply_text(model, [Wait(gate), Say("again")]) == "again"


def test_one_gate_holds_several_replies(model: ScriptedModel) -> None:
    """Opening a gate lets all go that stand there."""
    gate = model.gate()
    model.on("x", [[Say("."), Wait(gate), Say("done")]])
    with connected(model) as one, connected(model) as two:
        responses = [post(connection, body("x")) for connection in (one, two)]
        gate.open()
        assert [said(response.read()) for response in responses] == [".done", ".done"]


@pytest.mark.parametrize("streaming", [True, False])
def test_a_client_that_goes_away_at_a_gate_is_recorded(model: ScriptedModel, streaming: bool) -> None:
    """A closed connection ends the answer although its gate is closed."""
    gate = model.gate()
    model.on("x", [[Wait(gate), Say("never")]])
    with connected(model) as connection:
        connection.request("POST", "/v1/messages", body("x", stream=streaming))
        gate.wait_reached()
    gone = model.wait_for_request(lambda r: r.client_gone)
    assert (gone.status, gate.is_open) == (None, False)


def test_a_client_that_goes_away_in_a_pause_is_recorded(model: ScriptedModel) -> None:
    """A closed connection ends a pause of an hour at once."""
    model.on("x", [[Say.pieces(["part", "never"], pause=3600)]])
    with connected(model) as connection:
        response = post(connection, body("x"))
        assert said(response.read1(65536)) == "part"
        response.close()
    assert model.wait_for_request(lambda r: r.client_gone).status == 200


def test_a_client_that_goes_away_in_a_flood_is_recorded(model: ScriptedModel) -> None:
    """A closed connection ends an answer that the socket cannot take."""
    model.on("x", [[Say("x" * 20_000_000, each=100_000)]])
    with connected(model) as connection:
        response = post(connection, body("x"))
        response.read1(10)
        response.close()
    assert model.wait_for_request(lambda r: r.client_gone).outcome == "client gone"


def test_closing_the_model_ends_everything() -> None:
    """Answers at gates and in pauses, and idle connections, end when the model is closed; no thread stays."""
    before = set(threading.enumerate())  # another model may serve other tests at the same time
    model = ScriptedModel()
    model.start()
    gate = model.gate()
    model.on("gate", [[Say("part"), Wait(gate)]])
    model.on("pause", [[Say("part"), Pause(3600)]])
    with connected(model) as one, connected(model) as two, connected(model) as idle:
        post(idle, body("idle")).read()
        responses = [post(connection, body(prompt)) for connection, prompt in ((one, "gate"), (two, "pause"))]
        for response in responses:
            assert said(response.read1(65536)) == "part"
        model.close()
        for response in responses:
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                response.read()
    assert [request.outcome for request in model.requests] == ["answered", "stopped", "stopped"]
    ours = [thread for thread in threading.enumerate() if thread not in before]
    assert [thread.name for thread in ours if thread.name.startswith("scripted-model")] == []
    model.close()


def test_a_request_is_recorded_before_it_is_answered(model: ScriptedModel) -> None:
    """A test sees a request, without its headers, while its answer stands at a gate."""
    gate = model.gate()
    model.on("x", [[Wait(gate), Say("done")]])
    with connected(model) as connection:
        connection.request("POST", "/v1/messages?beta=true", body("x y"), {"x-api-key": "secret"})
        request = model.wait_for_request(lambda r: r.kind == "main")
        assert (request.number, request.prompt, request.round, request.streaming) == (1, "x y", 0, True)
        assert request.path == "/v1/messages?beta=true"
        assert "secret" not in repr([getattr(request, name) for name in ("body", "due", "path", "session_id")])
        gate.open()
        connection.getresponse().read()
