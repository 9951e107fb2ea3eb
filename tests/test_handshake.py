"""The early answer to `initialize`: on real pipes, with every kind of first line, in the words of the client end."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpbridge import handshake
from acpbridge.client_end import ClientEnd, Line, Written
from middleware import Pipeline, StepRunner
from middleware.messages import Initialized
from tests.acp.official import problems


def initialize(**members: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}, **members}
    return json.dumps(message).encode()


@contextmanager
def stdin(data: bytes, *, more: bool = True) -> Iterator[BinaryIO]:
    """A pipe with this in it, read as the program reads its stdin; without `more` the client is gone."""
    read, write = os.pipe()
    with open(read, "rb", buffering=1 << 16) as stream:
        try:
            os.write(write, data)
            if not more:
                os.close(write)
            yield stream
        finally:
            if more:
                os.close(write)


def early(data: bytes) -> tuple[bytes, bytes] | None:
    return handshake.early_answer(io.BufferedReader(io.BytesIO(data)))


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("behind", [b"", b'{"jsonrpc":"2.0"', b"x\ny\n"])
def test_a_whole_line(ending: bytes, behind: bytes) -> None:
    """A whole line with `initialize` is answered, whatever stands behind it, and all of it is still there to be
    read."""
    with stdin(initialize() + ending + behind) as stream:
        found = handshake.early_answer(stream)
        assert found is not None
        line, answer = found
        assert line == initialize()
        assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": handshake.result()}
        assert answer.endswith(b"\n")
        assert answer.count(b"\n") == 1
        assert stream.readline() == initialize() + ending


def test_the_client_may_be_gone_already() -> None:
    """A client that has written its line and gone is answered too; one that wrote nothing is not."""
    with stdin(initialize() + b"\n", more=False) as stream:
        assert handshake.early_answer(stream) is not None
    with stdin(b"", more=False) as stream:
        assert handshake.early_answer(stream) is None


@pytest.mark.parametrize("data", [b"{", initialize(), initialize()[:-1]])
def test_half_a_line(data: bytes) -> None:
    """What has no line ending yet is left to whoever reads stdin, and nobody waits for the rest of it here."""
    with stdin(data) as stream:
        assert handshake.early_answer(stream) is None
        assert stream.peek() == data  # type: ignore[attr-defined]


def test_a_stdin_that_cannot_be_read(tmp_path: Any) -> None:
    """An error of stdin is nothing that ends the program here: its reader says what is wrong."""

    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            raise OSError("no such device")

    assert handshake.early_answer(io.BufferedReader(Broken())) is None


@pytest.mark.parametrize("number", [0, -1, 2**53, 10**300, "", "a", "ab-c", "\u007f"])
def test_ids(number: Any) -> None:
    """The id of the answer is that of the request, a number or a text."""
    found = early(initialize(id=number) + b"\n")
    assert found is not None
    assert json.loads(found[1])["id"] == number


NOT_PLAIN = [
    b"",
    b"\r",
    b"{",
    b"[]",
    b"5",
    b"null",
    b"\xff\xfe",
    initialize(method="session/new"),
    initialize(method=None),
    initialize(jsonrpc="1.0"),
    initialize(jsonrpc=2.0),
    initialize(id=None),
    initialize(id=1.0),
    initialize(id=True),
    initialize(id=[]),
    initialize(id="\ud800"),
    initialize(id="ü"),
    initialize(params=None),
    initialize(params=[]),
    initialize(params={}),
    initialize(params={"protocolVersion": 0}),
    initialize(params={"protocolVersion": -1}),
    initialize(params={"protocolVersion": 65536}),
    initialize(params={"protocolVersion": True}),
    initialize(params={"protocolVersion": 1.5}),
    initialize(params={"protocolVersion": None}),
    initialize(params={"protocolVersion": "one"}),
    initialize(params={"protocolVersion": "1" * 5000}),
    initialize(params={"protocolVersion": 1, "clientCapabilities": []}),
    initialize(params={"protocolVersion": 1, "x": float("nan")}),
    initialize(params={"protocolVersion": 1}).replace(b'"protocolVersion"', b'"x":1e999,"protocolVersion"'),
    initialize(params={"protocolVersion": 1}).replace(
        b'"protocolVersion"', b'"x":' + b"9" * 5000 + b',"protocolVersion"'
    ),
    initialize(params={"protocolVersion": 1, "x": "@"}).replace(b'"@"', b"[" * 130 + b"]" * 130),
    initialize(params={"protocolVersion": 1, "x": "@"}).replace(b'"@"', b"[" * 20000),
    initialize(params={"protocolVersion": 1, "x": "@"}).replace(b"@", b"\xed\xa0\x80"),
    initialize().decode().encode("utf-16"),
    b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}]',
]


@pytest.mark.parametrize("line", NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_what_is_left_to_the_client_end(line: bytes) -> None:
    """Whatever is not a plain `initialize` gets no early answer, however hostile it is."""
    assert early(line + b"\n") is None


@pytest.mark.parametrize("version", [1, 2, 65535, "1", " 99 "])
def test_versions(version: Any) -> None:
    """A client that asks for a later version, or in text, is answered early too."""
    found = early(initialize(params={"protocolVersion": version}) + b"\n")
    assert found is not None
    assert json.loads(found[1])["result"]["protocolVersion"] == 1


def test_the_result_is_legal() -> None:
    """What is said of the agent is what ACP has words for."""
    assert problems("InitializeResponse", handshake.result()) == []


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
ODD = st.floats() | st.sampled_from(["1", "2.0", -1, 2**70, [[]], {}]) | st.lists(st.floats(), max_size=2) | PLAIN
MEMBERS = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": st.integers() | st.text(st.characters(max_codepoint=127), max_size=5) | st.just(1) | ODD,
        "method": st.just("initialize"),
        "params": st.fixed_dictionaries(
            {"protocolVersion": st.sampled_from([1, 2, "1", " 2"]) | st.just(1) | st.integers(-1, 3) | ODD},
            optional={
                "clientCapabilities": st.dictionaries(st.text(max_size=5), PLAIN, max_size=3) | ODD,
                "clientInfo": PLAIN,
                "_meta": PLAIN | ODD,
                "other": PLAIN | ODD,
            },
        ),
    },
    optional={"result": PLAIN, "x": PLAIN},
)


def _hears(line: bytes, answered: bytes | None) -> tuple[list[Any], list[Initialized]]:
    """What the client end answers, and what it tells the stages."""
    runner = StepRunner(Pipeline([ClientEnd(answered=answered)])).feed(Line(data=line)).run()
    said = [json.loads(message.data) for message in runner.client if isinstance(message, Written)]
    return said, [message for message in runner.agent if isinstance(message, Initialized)]


@given(MEMBERS, st.sampled_from([b"", b"\xef\xbb\xbf"]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_same_words(message: dict[str, Any], mark: bytes, ascii_only: bool) -> None:
    """Whatever is answered early, the client end would have answered in the same words; it says nothing more, and
    tells the stages the same of the client."""
    try:
        line = mark + json.dumps(message, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        line = mark + json.dumps(message).encode()
    found = early(line + b"\n")
    if found is None:
        return
    assert found[0] == line
    answers, told = _hears(line, None)
    assert answers == [json.loads(found[1])]
    assert len(told) == 1
    assert _hears(line, line) == ([], told)


def test_most_first_lines_are_answered_early() -> None:
    """What an editor sends is plain: that the rules above do not refuse it."""
    params = {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
        "clientInfo": {"name": "editor", "title": "Ed", "version": "0.1"},
        "_meta": {"ünï": "cöde"},
    }
    assert early(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode() + b"\n")
