"""The directory that one works in is somebody's project: nothing in it is run as a part of the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_modules_of_the_project_are_not_imported(tmp_path: Path) -> None:
    """`acpbridge chat` in a project with modules of the names that the agent imports is not disturbed by them.

    A newcomer's report: the agent was started with the current directory first on its path, and a project's loguru.py
    was executed.
    """
    for name in ("json", "loguru", "attrs"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the module of a project was run')\n")
    for name in ("middleware", "acpbridge"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the package of a project was run')\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "acpbridge", "chat", "--offline", "hello", "there"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "echo: hello there" in done.stdout
