"""The file that a permission is asked for is read before the ask is told: bounded, and never what is no file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from acpbridge.claude.files import LIMIT, read, with_file
from middleware.messages import FileState, PermissionAsk

OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "a"}),
    ("Bash", {"command": "a"}),
    ("Write", {"file_path": 3}),
]


def ask(name: str, input: dict[str, Any]) -> PermissionAsk:
    return PermissionAsk(session="s", ask="a", tool_use="t", name=name, input=input)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"one\ntwo", "one\ntwo"),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        ("ü\u2028\U0001f600".encode(), "ü\u2028\U0001f600"),
        (b"\xef\xbb\xbfone", "one"),
        (b"x" * LIMIT, "x" * LIMIT),
    ],
    ids=["empty", "no newline", "CRLF", "not ASCII", "byte order mark", "1 MiB"],
)
def test_text(tmp_path: Path, data: bytes, text: str) -> None:
    """A text is taken as it is."""
    path = tmp_path / "a"
    path.write_bytes(data)
    assert read(str(path), "/") == FileState(path=str(path), state="text", text=text)


@pytest.mark.parametrize(
    "data",
    [b"x" * (LIMIT + 1), b"\xff\xfe1\x002\x00", b"caf\xe9", b"a\0b"],
    ids=["too large", "UTF-16", "Latin-1", "binary"],
)
def test_hidden(tmp_path: Path, data: bytes) -> None:
    """What is too large or no UTF-8 text is there, and is not shown."""
    path = tmp_path / "a"
    path.write_bytes(data)
    assert read(str(path), "/") == FileState(path=str(path), state="hidden")


def test_missing(tmp_path: Path) -> None:
    """A file that is not there, or whose directory is not, is missing; a path that is none is not."""
    (tmp_path / "file").write_text("x")
    assert read("a", str(tmp_path)).state == "missing"
    assert read("no/such/a", str(tmp_path)).state == "missing"
    assert read("file/a", str(tmp_path)).state == "missing"
    assert read("a\0b", str(tmp_path)).state == "hidden"
    assert read(".", str(tmp_path)).state == "hidden"


def test_pipes_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named pipe that nobody writes to is not opened: the read would never come back."""
    (tmp_path / "pipe").write_text("x")
    real = os.stat(tmp_path / "pipe")
    monkeypatch.setattr(os, "stat", lambda path: os.stat_result((stat.S_IFIFO | 0o600, *real[1:])))
    monkeypatch.setattr("builtins.open", lambda *arguments: pytest.fail("the pipe was opened"))
    assert read("pipe", str(tmp_path)) == FileState(path="pipe", state="hidden")


def test_which_asks(tmp_path: Path) -> None:
    """Only the tools that change a text file have their file looked at; a relative path is the session's."""
    (tmp_path / "a").write_text("old")
    for name, input in (
        ("Write", {"file_path": "a", "content": "x"}),
        ("Write", {"path": "a", "content": "x"}),
        ("Edit", {"file_path": "a"}),
        ("MultiEdit", {"file_path": "a"}),
    ):
        assert with_file(ask(name, input), str(tmp_path)).file == FileState(path="a", state="text", text="old")
    for name, input in OTHERS:
        asked = ask(name, input)
        assert with_file(asked, str(tmp_path)) is asked
