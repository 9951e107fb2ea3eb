"""`ContextWindow` alone: what is told of an emptied context, of a smaller one, and of the account's limits."""

from __future__ import annotations

import pytest

from middleware import Pipeline, StepRunner
from middleware.messages import Compaction, MessageStarted, RateLimit, SessionRestarted, TokenCount, Usage
from middleware.stages import ContextWindow

S = "s"
STARTED = MessageStarted(session=S, message="m", model="opus", usage=TokenCount(input=70))
LIMIT = RateLimit(session=S, info={"status": "allowed_warning"})


@pytest.fixture
def runner() -> StepRunner:
    return StepRunner(Pipeline([ContextWindow()]))


def test_an_empty_context(runner: StepRunner) -> None:
    """With a restart the context is empty: the client is told so at once, and only where it was told of another one."""
    restarted = SessionRestarted(session=S)
    assert list(runner.feed(restarted).run().client) == [restarted]
    runner.client.clear()
    runner.feed(STARTED).run()
    runner.client.clear()
    runner.feed(restarted, restarted).run()
    used = [message.used for message in runner.client if isinstance(message, Usage)]
    assert (used, len(runner.client)) == ([0], 3)


def test_a_compaction(runner: StepRunner) -> None:
    """What is left of the conversation is told behind the end of its compaction (reference 10.12)."""
    begun = Compaction(session=S, state="in_progress", compaction="c")
    done = Compaction(session=S, state="completed", compaction="c", tokens=7)
    runner.feed(STARTED, begun).run()
    runner.client.clear()
    runner.feed(done).run()
    assert runner.client == [done, Usage(session=S, used=7, size=200_000, model="opus")]


def test_a_limit(runner: StepRunner) -> None:
    """What is said of the account's limits goes out with the context's use, where that is known (reference 2.7)."""
    assert runner.feed(LIMIT).run().client == [LIMIT]
    runner.feed(STARTED).run()
    runner.client.clear()
    usage = Usage(session=S, used=70, size=200_000, model="opus", rate_limit=LIMIT.info)
    assert runner.feed(LIMIT).run().client == [LIMIT, usage]
    runner.client.clear()
    assert runner.feed(RateLimit(session="other", info=LIMIT.info)).run().client[1:] == []
