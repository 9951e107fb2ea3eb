"""A directory of Claude Code's own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CLAUDE_CONFIG_DIR."""
    place = tmp_path / "config"
    place.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))
    return place
