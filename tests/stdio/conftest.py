"""The real program against the scripted model: one model for all of these tests, one agent for each module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acpbridge.testing import ScriptedModel
from tests.stdio.agent_process import AgentProcess


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def agent(model: ScriptedModel, tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent that is initialized. It must end by itself, leaving no process."""
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize()
        yield agent
