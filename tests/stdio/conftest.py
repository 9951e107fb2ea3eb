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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the agent and the sessions that the tests of a module share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared(model: ScriptedModel, home: Path) -> Iterator[AgentProcess]:
    """One agent for all tests of a module; each has sessions of its own."""
    with AgentProcess(model, home / "home") as agent:
        agent.initialize()
        yield agent


@pytest.fixture
def agent(model: ScriptedModel, tmp_path: Path) -> Iterator[AgentProcess]:
    """An agent that is initialized. It must end by itself, leaving no process."""
    with AgentProcess(model, tmp_path / "home") as agent:
        agent.initialize()
        yield agent
