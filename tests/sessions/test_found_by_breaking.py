"""Faults that hostile testers and a newcomer found, each with the input that showed it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from acpbridge.sessions import modes
from acpbridge.sessions.failures import RequestRefused
from acpbridge.sessions.listing import list_sessions
from acpbridge.sessions.new import check_directories
from middleware import acp
from middleware.messages import Request


def test_a_nul_in_a_listed_directory_is_the_clients_mistake() -> None:
    """`session/list` with a NUL in its cwd is -32602: it was an internal error with Python's words."""
    asked = Request(request=1, method="session/list", params=acp.ListSessionsRequest(cwd="/tmp/\0"))
    nobody: Any = None
    with pytest.raises(RequestRefused) as refused:
        asyncio.run(list_sessions(nobody, asked))
    assert refused.value.failure.code == -32602


def test_a_nul_in_an_additional_directory_is_the_clients_mistake(tmp_path: Path) -> None:
    """So it is in `additionalDirectories`."""
    with pytest.raises(RequestRefused) as refused:
        check_directories(str(tmp_path), ["/tmp/\0"])
    assert refused.value.failure.code == -32602


@pytest.mark.parametrize(("value", "root"), [("1", False), ("yes", True), ("", True)])
def test_only_one_value_makes_a_sandbox(value: str, root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code takes IS_SANDBOX=1 and nothing else: with `yes` it was given a flag with which it does not start."""
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setenv("IS_SANDBOX", value)
    assert modes.is_root() is root
