"""`ContextWindow` alone: what the client is told of an emptied context."""

from __future__ import annotations

from middleware import Pipeline, StepRunner
from middleware.messages import MessageStarted, SessionRestarted, TokenCount, Usage
from middleware.stages import ContextWindow


def test_an_empty_context() -> None:
    """With a restart the context is empty: the client is told so at once, and only where it was told of another one."""
    runner = StepRunner(Pipeline([ContextWindow()]))
    restarted = SessionRestarted(session="s")
    assert list(runner.feed(restarted).run().client) == [restarted]
    runner.client.clear()
    runner.feed(MessageStarted(session="s", message="m", model="opus", usage=TokenCount(input=70))).run()
    runner.client.clear()
    runner.feed(restarted, restarted).run()
    used = [message.used for message in runner.client if isinstance(message, Usage)]
    assert (used, len(runner.client)) == ([0], 3)
