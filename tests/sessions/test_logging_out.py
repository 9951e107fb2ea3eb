"""`logout` where Claude Code's own does not succeed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from acpbridge.sessions.logging_out import log_out


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Claude Code that cannot be started is -32603, in words."""
    monkeypatch.setenv("CLAUDE_CODE_EXECUTABLE", "/nowhere/claude")
    failure = log_out()
    assert failure is not None
    assert failure.code == -32603
    assert "claude auth logout failed: " in failure.message


if sys.platform != "win32":  # where a script is a program

    @pytest.mark.parametrize(("code", "failed"), [(0, False), (3, True)])
    def test_its_exit_code(code: int, failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another exit code than 0 is -32603, with the end of what it wrote to stderr."""
        program = tmp_path / "claude"
        text = (
            f"import sys\nassert sys.argv[1:] == ['auth', 'logout']\nsys.stderr.write('no keychain')\nsys.exit({code})"
        )
        program.write_text(f"#!{sys.executable}\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("CLAUDE_CODE_EXECUTABLE", str(program))
        failure = log_out()
        assert (failure is not None) == failed
        if failure is not None:
            assert failure.message.endswith("claude auth logout failed: exit code 3")
            assert failure.data == {"stderr": "no keychain"}
