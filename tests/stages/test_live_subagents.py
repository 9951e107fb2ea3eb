"""`LiveSubagents`: how many subagents are remembered. Who lives is tested where it matters, in the stages' tests."""

from __future__ import annotations

from middleware.stages.live_subagents import REMEMBERED, LiveSubagents
from tests.timing.words import subagent


def test_ended_subagents_are_forgotten_first() -> None:
    """A session that starts ever more subagents keeps those that live, and forgets the oldest that has ended."""
    subagents = LiveSubagents()
    subagents.take(subagent("lives"))
    for number in range(REMEMBERED):
        subagents.take(subagent(f"s{number}"))
        subagents.take(subagent(f"s{number}", "ended"))
    assert subagents.lives("lives")
    assert not subagents.take(subagent("s0", "ended", status="completed"))
    assert subagents.take(subagent("s1", "ended", status="completed"))


def test_the_oldest_goes_when_all_live() -> None:
    """The bound holds in any case."""
    subagents = LiveSubagents()
    for number in range(REMEMBERED + 1):
        subagents.take(subagent(f"s{number}"))
    assert not subagents.lives("s0")
    assert subagents.lives("s1")
    assert subagents.lives(f"s{REMEMBERED}")
