"""The surroundings of the scripted model: its environment for Claude Code, and the program."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import urlsplit

import pytest

from acpbridge.testing import (
    ScriptedModel,
)
from acpbridge.testing.__main__ import environment_line, main


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def test_the_url_needs_a_running_model() -> None:
    """Asking for the url too early says what to do."""
    with pytest.raises(RuntimeError, match="call start"):
        _url = ScriptedModel().url


def test_the_environment_is_a_home_of_its_own(model: ScriptedModel, tmp_path: Path) -> None:
    """The variables lead to the model and to the given home, where the settings are written."""
    variables = model.prepare(tmp_path, {"permissions": {"allow": ["Read"]}, "extra": 1}, max_retries=2)
    assert variables["ANTHROPIC_BASE_URL"] == model.url
    assert variables["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert variables["HOME"] == variables["USERPROFILE"] == str(tmp_path)
    settings = json.loads((Path(variables["CLAUDE_CONFIG_DIR"]) / "settings.json").read_text("utf-8"))
    assert settings == {
        "permissions": {"defaultMode": "default", "allow": ["Read"]},
        "skipWebFetchPreflight": True,
        "extra": 1,
    }


def test_the_package_does_not_import_the_sdk() -> None:
    """Importing the public names is quick: claude_agent_sdk stays unloaded."""
    code = "import sys, acpbridge.testing; sys.exit('claude_agent_sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_program_prints_its_environment_and_ends_at_a_signal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`python -m acpbridge.testing` prints the lines that point Claude Code at it and serves until Ctrl-C."""
    printed: SimpleQueue[str] = SimpleQueue()
    found = []

    class Output:
        def write(self, text: str) -> None:
            printed.put(text)

        def flush(self) -> None:
            pass

    def use() -> None:
        try:
            lines = printed.get(timeout=20)
            url = lines.partition("ANTHROPIC_BASE_URL=")[2].split("\n")[0].strip("'") or lines.split("'")[1]
            connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
            connection.request("GET", "/v1/models")
            found.append((lines, connection.getresponse().status))
            connection.close()
        finally:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "stdout", Output())
    user = threading.Thread(target=use)
    user.start()
    assert main(["--home", str(tmp_path)]) == 0
    user.join()
    [(lines, status)] = found
    assert status == 200
    assert environment_line("HOME", str(tmp_path)) in lines.splitlines()
    assert (tmp_path / ".claude" / "settings.json").exists()


@pytest.mark.parametrize(("system", "line"), [("posix", "export A='it'\"'\"'s a'"), ("nt", "$env:A = 'it''s a'")])
def test_the_lines_are_for_the_systems_shell(monkeypatch: pytest.MonkeyPatch, system: str, line: str) -> None:
    """sh and PowerShell each get their quoting."""
    monkeypatch.setattr(os, "name", system)
    assert environment_line("A", "it's a") == line
