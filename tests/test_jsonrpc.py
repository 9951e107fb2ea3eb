"""JSON-RPC, tested with bytes alone: what a line means, what is refused, that each request has exactly one answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from acpbridge import json_lines
from acpbridge.json_lines import MAX_DEPTH, decode, encode
from acpbridge.jsonrpc import (
    Closed,
    ErrorReply,
    Notification,
    Peer,
    ProtocolError,
    Refused,
    Reply,
    Request,
    error_member,
    failure_of,
)
from middleware.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Failure


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | members).encode() + b"\n"


def refused(peer: Peer, raw: bytes) -> dict[str, Any]:
    """The error response to broken input; its two forms must say the same."""
    received = peer.receive(raw)
    assert isinstance(received, Refused)
    answer = json.loads(received.answer)
    assert received.answer.endswith(b"\n")
    assert set(answer) == {"jsonrpc", "id", "error"}
    assert answer["error"] == error_member(received.error)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def debug_log() -> Any:
    lines: list[str] = []
    sink = logger.add(lambda message: lines.append(str(message)), level="DEBUG", format="{message}")
    yield lines
    logger.remove(sink)


def test_a_request_is_an_event_and_its_answer_a_line() -> None:
    """A request comes out with id, method and params; the answer carries the same id and ends the line."""
    peer = Peer()
    request = peer.receive(line(id="a1", method="session/new", params={"cwd": "/"}))
    assert request == Request(id="a1", method="session/new", params={"cwd": "/"})
    assert dict(peer.requests) == {"a1": "session/new"}
    assert peer.respond("a1", {"ok": True}) == b'{"jsonrpc":"2.0","id":"a1","result":{"ok":true}}\n'
    assert not peer.requests


def test_a_result_of_nothing_is_null() -> None:
    """authenticate and logout return nothing, which JSON-RPC spells `result: null`."""
    peer = Peer()
    peer.receive(line(id=0, method="logout"))
    assert json.loads(peer.respond(0, None)) == {"jsonrpc": "2.0", "id": 0, "result": None}


@pytest.mark.parametrize(
    ("params", "expected"), [({}, {}), ([1], [1]), (None, None)], ids=["object", "array", "null is absent"]
)
def test_params_are_an_object_an_array_or_absent(params: Any, expected: Any) -> None:
    """Params that are null count as absent, since many clients write null where they have none."""
    assert Peer().receive(line(id=1, method="m", params=params)) == Request(id=1, method="m", params=expected)


def test_a_notification_is_an_event_without_an_id() -> None:
    """A message without an id is a notification and leaves nothing to answer."""
    peer = Peer()
    assert peer.receive(line(method="session/cancel", params={"sessionId": "s"})) == Notification(
        method="session/cancel", params={"sessionId": "s"}
    )
    assert not peer.requests


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\r"])
def test_line_endings_do_not_matter(ending: bytes) -> None:
    """LF, CRLF and no line ending at all frame the same message."""
    assert Peer().receive(line(method="m").strip() + ending) == Notification(method="m", params=None)


@pytest.mark.parametrize("raw", [b"", b"\n", b"\r\n", b"  \t \n"])
def test_blank_lines_are_ignored(raw: bytes) -> None:
    """A blank line is neither a message nor an error."""
    assert Peer().receive(raw) is None


def test_a_byte_order_mark_is_no_error() -> None:
    """A client started through PowerShell may put a byte order mark before its first message."""
    assert Peer().receive(b"\xef\xbb\xbf" + line(method="m")) == Notification(method="m", params=None)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'{"jsonrpc":"2.0","method":"m"} x',
        b'{"jsonrpc":"2.0","method":"\xff"}',
        b'{"jsonrpc":"2.0","method":"\xed\xa0\x80"}',
        b'{"jsonrpc":"2.0","method":"a\tb"}',
        '{"jsonrpc":"2.0","method":"m"}'.encode("utf-16"),
        b'{"jsonrpc":"2.0","method":"m","params":[NaN]}',
        b'{"jsonrpc":"2.0","method":"m","params":[-Infinity]}',
        b'{"jsonrpc":"2.0","method":"m","params":[1e999]}',
        b'{"jsonrpc":"2.0","method":"m","params":[' + b"9" * 5000 + b"]}",
        b"[" * 1_000_000,
        b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}",
    ],
    ids=[
        "cut off",
        "trailing text",
        "invalid UTF-8",
        "surrogate in UTF-8",
        "control character",
        "UTF-16",
        "NaN",
        "infinity",
        "overflow",
        "huge integer",
        "a million brackets",
        "one level too deep",
    ],
)
def test_what_is_no_json_is_a_parse_error(raw: bytes) -> None:
    """Text that is not JSON in UTF-8, or that no consumer could hold, is answered -32700, id null, never raised."""
    answer = refused(Peer(), raw)
    assert answer["id"] is None
    assert answer["error"]["code"] == PARSE_ERROR
    assert answer["error"]["message"] == "Parse error"


def test_nesting_up_to_the_limit_is_read() -> None:
    """128 levels are accepted on every Python version, whatever its own recursion limit."""
    depth = MAX_DEPTH - 1
    received = Peer().receive(b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * depth + b"]" * depth + b"}")
    assert isinstance(received, Notification)


def test_many_brackets_are_not_deep_nesting() -> None:
    """A long flat list is read: only the depth counts."""
    received = Peer().receive(line(method="m", params=[[]] * 500))
    assert received == Notification(method="m", params=[[]] * 500)


def test_a_parse_error_quotes_nothing_of_the_input() -> None:
    """The error says where the input breaks, and repeats none of it, since it may hold a secret."""
    answer = refused(Peer(), b'{"token": "sk-secret", }')
    assert "character" in answer["error"]["data"]["details"]
    assert "secret" not in json.dumps(answer)


@pytest.mark.parametrize("raw", [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"m"}]'])
def test_a_batch_is_refused_as_a_whole(raw: bytes) -> None:
    """A JSON array is answered with one -32600, id null, in these words (reference 1.1)."""
    answer = refused(Peer(), raw)
    assert answer["id"] is None
    assert answer["error"] == {"code": -32600, "message": "Invalid request: JSON-RPC batches are not supported"}


@pytest.mark.parametrize(
    ("raw", "expected_id"),
    [
        (b"1", None),
        (b'"text"', None),
        (b"null", None),
        (b"{}", None),
        (line(id=7), 7),
        (line(id="x"), "x"),
        (line(id=None), None),
        (line(id=1, method=5), 1),
        (line(id=1, method=None), 1),
        (b'{"id":3,"method":"m"}', 3),
        (b'{"jsonrpc":"1.0","id":3,"method":"m"}', 3),
        (b'{"jsonrpc":2.0,"method":"m"}', None),
        (line(id=None, method="m"), None),
        (line(id=1.5, method="m"), None),
        (line(id=1e300, method="m"), None),
        (line(id=True, method="m"), None),
        (line(id=[1], method="m"), None),
        (line(id={}, method="m"), None),
    ],
)
def test_what_is_no_request_is_refused(raw: bytes, expected_id: int | str | None) -> None:
    """JSON that is no JSON-RPC message is answered -32600, with its id if that is a string or integer, else null."""
    peer = Peer()
    answer = refused(peer, raw)
    assert answer["error"]["code"] == INVALID_REQUEST
    assert answer["id"] == expected_id
    assert type(answer["id"]) is type(expected_id)
    assert not peer.requests


def test_a_refused_message_comes_back_as_data() -> None:
    """The error's data is the refused message (reference 1.1), unless that is long."""
    assert refused(Peer(), line(id=7, foo="bar"))["error"]["data"] == {"jsonrpc": "2.0", "id": 7, "foo": "bar"}
    assert "data" not in refused(Peer(), line(id=7, foo="bar" * 10_000))["error"]


def test_an_integer_written_as_a_float_is_an_integer() -> None:
    """1.0 and 1 are the same JSON number, as an id of a request and of an answer."""
    peer = Peer()
    assert peer.receive(b'{"jsonrpc":"2.0","id":1.0,"method":"m"}') == Request(id=1, method="m", params=None)
    call, _ = peer.call("c")
    assert peer.receive(line(id=0.0, result=5)) == Reply(call=call, result=5)


def test_params_of_another_type_are_invalid_params() -> None:
    """A request whose params are a string is answered -32602 with its id; such a notification is dropped."""
    peer = Peer()
    answer = refused(peer, line(id=4, method="m", params="text"))
    assert (answer["id"], answer["error"]["code"]) == (4, INVALID_PARAMS)
    assert not peer.requests
    assert peer.receive(line(method="m", params=3)) is None


def test_an_id_in_flight_is_refused_and_the_first_request_stays_answerable() -> None:
    """A second request with an open id gets -32600 with that id; the first one is answered as usual, once."""
    peer = Peer()
    peer.receive(line(id=1, method="first"))
    answer = refused(peer, line(id=1, method="second"))
    assert (answer["id"], answer["error"]["code"]) == (1, INVALID_REQUEST)
    assert dict(peer.requests) == {1: "first"}
    assert json.loads(peer.respond(1, "done"))["result"] == "done"
    assert peer.receive(line(id=1, method="third")) == Request(id=1, method="third", params=None)


def test_ids_1_and_the_string_1_are_two_requests() -> None:
    """A string id and an integer id are never the same request."""
    peer = Peer()
    peer.receive(line(id=1, method="a"))
    peer.receive(line(id="1", method="b"))
    assert json.loads(peer.respond("1", None))["id"] == "1"
    assert dict(peer.requests) == {1: "a"}


def test_broken_input_never_answers_an_open_request() -> None:
    """Garbage with the id of an open request is refused with id null: that request's answer is still to come."""
    peer = Peer()
    peer.receive(line(id=1, method="m"))
    assert refused(peer, line(id=1))["id"] is None
    assert refused(peer, b'{"id":1,"method":"m"}')["id"] is None
    assert dict(peer.requests) == {1: "m"}


@pytest.mark.parametrize("answer", [lambda peer: peer.respond(1, None), lambda peer: peer.fail(1, Failure.of(-32603))])
@pytest.mark.parametrize("again", [lambda peer: peer.respond(1, None), lambda peer: peer.fail(1, Failure.of(-32603))])
def test_a_request_is_answered_once(answer: Callable[[Peer], bytes], again: Callable[[Peer], bytes]) -> None:
    """Whichever way a request was answered, a second answer is a programming error."""
    peer = Peer()
    peer.receive(line(id=1, method="m"))
    answer(peer)
    with pytest.raises(ProtocolError):
        again(peer)


def test_an_answer_to_no_request_is_a_programming_error() -> None:
    """An id that was never received cannot be answered."""
    with pytest.raises(ProtocolError):
        Peer().respond(1, None)


def test_an_answer_that_json_cannot_hold_leaves_the_request_open() -> None:
    """When the result cannot be encoded nothing has changed, so that the request can still be failed."""
    peer = Peer()
    peer.receive(line(id=1, method="m"))
    circular: list[Any] = []
    circular.append(circular)
    for result in ({1, 2}, circular, object()):
        with pytest.raises((TypeError, ValueError)):
            peer.respond(1, result)
    assert json.loads(peer.fail(1, Failure.of(INTERNAL_ERROR)))["error"] == {
        "code": -32603,
        "message": "Internal error",
    }


def test_calls_are_counted_from_0_and_completed_by_their_answer() -> None:
    """Our own ids are 0, 1, 2 ...; answers may come in any order, each completes its call once."""
    peer = Peer()
    first, raw = peer.call("session/request_permission", {"a": 1})
    second, _ = peer.call("elicitation/create")
    assert (first, second) == (0, 1)
    assert json.loads(raw) == {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"a": 1}}
    assert dict(peer.calls) == {0: "session/request_permission", 1: "elicitation/create"}
    assert peer.receive(line(id=1, result={"x": 1})) == Reply(call=1, result={"x": 1})
    assert peer.receive(line(id=0, result=None)) == Reply(call=0, result=None)
    assert not peer.calls
    assert peer.receive(line(id=0, result=None)) is None


def test_both_sides_may_use_the_same_id() -> None:
    """Ids of the two directions are independent: a request with id 0 does not touch our call 0."""
    peer = Peer()
    call, _ = peer.call("mine")
    assert peer.receive(line(id=0, method="theirs")) == Request(id=0, method="theirs", params=None)
    assert peer.receive(line(id=0, result=1)) == Reply(call=call, result=1)
    assert dict(peer.requests) == {0: "theirs"}


@pytest.mark.parametrize("bad_id", [99, "0", None, False, 0.5, [0], {"a": 0}])
def test_an_answer_to_no_call_is_ignored(bad_id: Any, debug_log: list[str]) -> None:
    """An answer with a foreign id leaves the open call open, answers nothing, and is one debug line."""
    peer = Peer()
    peer.call("m")
    assert peer.receive(line(id=bad_id, result={"secret": "s"})) is None
    assert dict(peer.calls) == {0: "m"}
    assert len(debug_log) == 1
    assert "secret" not in debug_log[0]


def test_an_error_answer_to_a_notification_is_ignored(debug_log: list[str]) -> None:
    """Some clients answer a notification with an error of id null: ignored, with a debug line (clients, point 3)."""
    peer = Peer()
    peer.notify("session/update", {})
    assert peer.receive(line(id=None, error={"code": -32601, "message": "unknown"})) is None
    assert len(debug_log) == 1


def test_an_error_answer_fails_its_call() -> None:
    """Code, message and data of an error arrive as they were sent."""
    peer = Peer()
    peer.call("m")
    error = {"code": -32000, "message": "login needed", "data": {"a": 1}}
    assert peer.receive(line(id=0, error=error)) == ErrorReply(
        call=0, error=Failure(code=-32000, message="login needed", data={"a": 1})
    )


@pytest.mark.parametrize("error", [None, "no", 5, [], {}, {"code": "x", "message": 7}, {"code": True}])
def test_a_malformed_error_still_fails_its_call(error: Any) -> None:
    """An error that is no proper error object completes the call as an internal error; nothing waits for ever."""
    peer = Peer()
    peer.call("m")
    reply = peer.receive(line(id=0, error=error))
    assert isinstance(reply, ErrorReply)
    assert reply.error.code == INTERNAL_ERROR
    assert reply.error.message.startswith("Internal error")
    assert not peer.calls


@pytest.mark.parametrize(
    ("members", "result"),
    [({"result": 1, "error": None}, 1), ({}, None)],
    ids=["error null beside a result", "neither member"],
)
def test_odd_successes_are_successes(members: dict[str, Any], result: Any) -> None:
    """`error: null` beside a result is a success; so is an answer with neither (a JavaScript handler's undefined)."""
    peer = Peer()
    peer.call("m")
    assert peer.receive(line(id=0, **members)) == Reply(call=0, result=result)


def test_an_answer_without_the_version_still_completes_its_call() -> None:
    """A response that forgot `jsonrpc` is better taken than left waiting for."""
    peer = Peer()
    peer.call("m")
    assert peer.receive(b'{"id":0,"result":3}') == Reply(call=0, result=3)


def test_a_cancelled_call_is_forgotten_and_its_late_answer_dropped() -> None:
    """`cancel` sends $/cancel_request and does not wait; an answered call cannot be cancelled any more."""
    peer = Peer()
    call, _ = peer.call("session/request_permission")
    raw = peer.cancel(call)
    assert raw is not None
    assert json.loads(raw) == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}}
    assert peer.receive(line(id=0, result={})) is None
    assert peer.cancel(call) is None


def test_a_close_fails_our_calls_and_names_what_we_owe() -> None:
    """At the close every open call fails, and the far side's open requests are listed and can still be answered."""
    peer = Peer()
    peer.call("a")
    peer.call("b")
    peer.receive(line(id="p", method="session/prompt"))
    closed = peer.close()
    assert [reply.call for reply in closed.failed] == [0, 1]
    assert {reply.error.message for reply in closed.failed} == {"Internal error: the other side closed the connection"}
    assert closed.unanswered == ("p",)
    assert json.loads(peer.respond("p", {"stopReason": "cancelled"}))["id"] == "p"
    assert peer.close() == Closed(failed=(), unanswered=())


def test_after_the_close_nothing_can_be_called_and_nothing_is_received() -> None:
    """A call that nobody could answer is a programming error; a line after the close is ignored."""
    peer = Peer()
    peer.close()
    with pytest.raises(ProtocolError):
        peer.call("m")
    assert peer.receive(line(id=1, method="m")) is None
    assert not peer.calls
    assert not peer.requests


@pytest.mark.parametrize(
    ("error", "message", "data"),
    [
        (Failure.of(-32700), "Parse error", None),
        (Failure.of(-32600), "Invalid request", None),
        (Failure.method_not_found("a/b"), '"Method not found": a/b', {"method": "a/b"}),
        (Failure.of(-32602, "cwd"), "Invalid params: cwd", None),
        (Failure.of(-32603), "Internal error", None),
        (Failure.of(-32000), "Authentication required", None),
        (Failure.session_not_found("s1"), "Resource not found: s1", {"sessionId": "s1"}),
        (Failure.of(-32022, data={"requested": 0}), "Unsupported protocol version", {"requested": 0}),
        (Failure.of(-32800), "Request cancelled", None),
    ],
)
def test_errors_have_the_words_of_the_reference(error: Failure, message: str, data: Any) -> None:
    """The messages are those of the error table (reference 1.1), with the detail after a colon."""
    wire = {"code": error.code, "message": message} | ({} if data is None else {"data": data})
    assert error_member(error) == wire
    assert failure_of(wire) == error


def test_text_goes_out_as_utf8() -> None:
    """Characters are not escaped, and no line break of the text becomes one of the line."""
    raw = encode({"text": "grüße\n\r \U0001f600"})
    assert raw.decode() == '{"text":"grüße\\n\\r \U0001f600"}\n'


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"], ids=["U+2028", "U+2029", "U+0085"])
def test_what_others_take_for_a_line_break_is_escaped(character: str) -> None:
    """A line is one line for every reader, whatever a text or a key holds; so is one that had to be repaired."""
    message = {f"k{character}": [f"a{character}{character}b", "…\u20a8"]}
    raw = encode(message)
    assert raw.decode().splitlines() == [raw.decode().removesuffix("\n")]
    assert json.loads(raw) == message
    assert "…\u20a8" in raw.decode()
    assert json.loads(encode({"a": f"\ud800{character}"})) == {"a": f"\ufffd{character}"}
    assert character not in encode({"a": f"\ud800{character}"}).decode()


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud800\ud83d\ude00", "\ufffd\U0001f600"),
        ("\udcff", "\ufffd"),
    ],
    ids=["high", "reversed pair", "pair", "high before a pair", "low"],
)
def test_a_lone_surrogate_never_goes_out(text: str, sent: str) -> None:
    """U+FFFD replaces a lone surrogate in keys and values; the halves of a pair become one character."""
    raw = encode({text: [text, (text,), {"deep": text}]})
    assert json.loads(raw) == {sent: [sent, [sent], {"deep": sent}]}
    assert b"\\u" not in raw


def test_numbers_that_json_lacks_become_null() -> None:
    """NaN and the infinities are sent as null; the rest of the message is untouched."""
    value = {"a": float("nan"), "b": [float("inf"), -float("inf"), 1.5], "c": True, "d": 2, "e": None}
    assert json.loads(encode(value)) == {"a": None, "b": [None, None, 1.5], "c": True, "d": 2, "e": None}


def test_a_payload_too_deep_for_the_encoder_is_cut() -> None:
    """What Claude Code nests too deeply for JSON is cut off with null, and what is beside it arrives."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    message = json.loads(encode({"beside": 1, "deep": deep}))
    assert message["beside"] == 1
    while message:
        depth_left, message = message, message["deep"] if isinstance(message, dict) else message[0]
    assert depth_left == [None]


def test_the_same_object_twice_is_no_circle() -> None:
    """A list that stands in two places of a message is sent twice, also on the slow path."""
    shared = ["\ud800"]
    assert json.loads(encode({"a": shared, "b": [shared, shared]})) == {"a": ["\ufffd"], "b": [["\ufffd"], ["\ufffd"]]}


def test_the_usual_message_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload without defects goes through the encoder once; `repair` is for what the encoder refuses."""
    repaired: list[Any] = []

    def record(value: Any) -> dict[str, Any]:
        repaired.append(value)
        return {}

    monkeypatch.setattr(json_lines, "repair", record)
    encode({"text": "plain \U0001f600", "n": 1.5})
    assert repaired == []
    encode({"text": "\ud800"})
    assert len(repaired) == 1


def test_a_lone_surrogate_never_comes_in() -> None:
    """An escaped lone surrogate is legal JSON, and would break a path or a log further on: U+FFFD takes its place."""
    raw = b'{"jsonrpc":"2.0","method":"m","params":{"\\ud800k":["\\uDFFF","\\ud83d\\ude00","\\\\ud800"]}}'
    assert Peer().receive(raw) == Notification(method="m", params={"\ufffdk": ["\ufffd", "\U0001f600", "\\ud800"]})


@given(st.binary())
def test_any_bytes_are_survived(raw: bytes) -> None:
    """Whatever the bytes, `receive` raises nothing."""
    received = Peer().receive(raw)
    assert received is None or isinstance(received, Refused)


# Surrogates included: Python's strings can hold them.
any_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud800\udfff"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda children: st.lists(children) | st.dictionaries(any_text, children),
    max_leaves=20,
)
members = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
    json_values | st.just("2.0") | st.sampled_from([0, 1, "m"]),
)


@given(st.lists(members, max_size=8))
def test_any_json_is_survived_and_bookkept(messages: list[dict[str, Any]]) -> None:
    """Whatever JSON objects arrive, nothing is raised, refusals are one line of JSON, and only requests are owed."""
    peer = Peer()
    peer.call("a")
    peer.call("b")
    owed: set[int | str] = set()
    completed: list[int] = []
    for message in messages:
        received = peer.receive(json.dumps(message).encode())
        if isinstance(received, Request):
            assert received.id not in owed
            owed.add(received.id)
        elif isinstance(received, Reply | ErrorReply):
            completed.append(received.call)
        elif isinstance(received, Refused):
            assert received.answer.count(b"\n") == 1
            assert json.loads(received.answer)["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)
    assert set(peer.requests) == owed
    assert sorted([*completed, *peer.calls]) == [0, 1]


@given(json_values)
def test_whatever_is_sent_is_read_back_by_a_strict_reader(value: Any) -> None:
    """Every message is one line of strict UTF-8 JSON; a second trip changes nothing any more."""
    raw = encode({"v": value})
    assert raw.count(b"\n") == 1
    assert raw.endswith(b"\n")
    decoded = decode(raw)
    assert encode(decoded) == raw
