"""An ordered list of stages, and the one rule of routing.

    client                                                                       agent
      |                                                                            |
      |   +---------+    +---------+    +---------+              +-----------+     |
      |-->| stage 0 |--->| stage 1 |--->| stage 2 |---> ... ---->| stage n-1 |---->|     ToAgent
      |<--|         |<---|         |<---|         |<--- ... <----|           |<----|     ToClient
      |   +---------+    +---------+    +---------+              +-----------+     |

A message's class says which way it goes. A stage that answers in place of the far end returns a message of the other
direction, and that one travels from the stage's own position. Between neighbours and per direction the order is kept;
messages of opposite directions meet in a stage in the order of its inbox, which is all the nondeterminism there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import attrs
from loguru import logger

from .errors import Failure, IllegalMessage, PipelineError
from .messages import Message, ToAgent, ToClient
from .stage import Context, Expired, Stage, outcome_messages


def _stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    listed = tuple(stages)
    for stage in listed:
        if not isinstance(stage, Stage):
            raise PipelineError(f"{stage!r} is no stage")
    if not listed:
        raise PipelineError("a pipeline needs at least one stage")
    if len({id(stage) for stage in listed}) != len(listed):
        raise PipelineError("a stage stands twice in the pipeline; state belongs to one place, make two instances")
    return listed


@attrs.frozen
class Pipeline:
    """Stages in the order in which a client's message meets them. One pipeline serves one connection.

    Raises:
        PipelineError: no stage, the same instance twice, or something that is no stage.
    """

    stages: tuple[Stage, ...] = attrs.field(converter=_stages)

    def next_index(self, index: int, message: Message) -> int | None:
        """The stage that a message goes to from `index`; None when it leaves the pipeline."""
        following = index + message.toward
        return following if 0 <= following < len(self.stages) else None

    def first_index(self, message: Message) -> int:
        """The stage that meets a message first when it enters from outside.

        Raises:
            PipelineError: it is no message, or one of no direction.
        """
        if not isinstance(message, (ToAgent, ToClient)):
            raise PipelineError(f"{type(message)!r} cannot be fed: it is neither ToAgent nor ToClient")
        return 0 if message.toward > 0 else len(self.stages) - 1

    def __str__(self) -> str:
        return "client = " + " = ".join(stage.name for stage in self.stages) + " = agent"


def handle(stage: Stage, item: Message | Expired, context: Context) -> tuple[Message, ...]:
    """Have a stage handle one item. Raises whatever the stage raises; nothing is emitted then."""
    outcome = stage.handle(item, context)
    # A stage that has a `handle` of its own is looked at again; `Stage.handle` has looked already.
    checked = type(stage).handle is Stage.handle
    return cast(tuple[Message, ...], outcome) if checked else outcome_messages(outcome, stage.handle)


def answer_failure(stage: Stage, item: Message | Expired, error: Exception) -> tuple[Message, ...]:
    """What follows when a stage fails: a request is answered with -32603, an event is dropped; both are logged.

    An answer goes on as it came: somebody waits for it, and for nothing else. (An illegal one is dropped: for that a
    strict `Validation` fails.) The text of an error answer holds nothing of the exception, which belongs into the log,
    not into an editor.
    """
    session = getattr(item, "session", None)
    logger.opt(exception=error).error(
        "stage {} failed on {} of session {}: {}", stage.name, type(item).__name__, session, type(error).__name__
    )
    if not isinstance(item, Message):
        return ()
    if item.answers is not None and not isinstance(error, IllegalMessage):
        return (item,)
    try:
        return outcome_messages(
            item.failed(Failure.internal("a stage of the agent failed; its log says more")), item.failed
        )
    except Exception as broken:
        logger.opt(exception=broken).error("{} of session {} stays without an answer", type(item).__name__, session)
        return ()


def close(stage: Stage, context: Context) -> tuple[Message, ...]:
    """What a stage says at its end. Raises whatever the stage raises."""
    return outcome_messages(stage.close(context), stage.close)


def closing_messages(stage: Stage, context: Context) -> tuple[Message, ...]:
    """What a stage says at its end; a stage that fails there is logged and owes nothing."""
    try:
        return close(stage, context)
    except Exception as error:
        logger.opt(exception=error).error("stage {} failed to close: {}", stage.name, type(error).__name__)
        return ()
