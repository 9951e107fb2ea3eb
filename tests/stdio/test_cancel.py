"""Cancels through the real program with the real Claude Code, each case once; `repeat_cancels` plays them often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acpbridge.testing import ScriptedModel
from tests.stdio.agent_process import AgentProcess
from tests.stdio.cancel_scenarios import CASES, DELAYS, Case, play


@pytest.fixture(scope="module")
def shared(model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AgentProcess, str, Path]]:
    """One agent and one session for all cases: what one leaves behind meets the next."""
    home = tmp_path_factory.mktemp("cancels")
    with AgentProcess(model, home / "home") as agent:
        agent.initialize()
        session = agent.new_session(home / "work")
        yield agent, session, home / "work"


@pytest.mark.parametrize("case", [*CASES, *DELAYS], ids=lambda case: case.__name__)
def test_cancel(case: Case, shared: tuple[AgentProcess, str, Path], model: ScriptedModel) -> None:
    """Every stopped prompt is answered `cancelled`, nothing stays open, nothing comes later, the next prompt runs."""
    agent, session, work = shared
    play(case, agent, model, session, work)
