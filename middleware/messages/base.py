"""What a message is: its direction, and the request that it makes or answers. The words themselves are beside this."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import ClassVar

import attrs

from middleware.errors import Failure

RequestId = int | str
Key = tuple[str, RequestId]
"""What kind of request, and which."""


class Toward(enum.IntEnum):
    """A direction; as a number it is the step in the pipeline's index."""

    CLIENT = -1
    AGENT = 1


@attrs.frozen(kw_only=True)
class Message:
    """The parent of all messages."""

    toward: ClassVar[Toward]

    @property
    def opens(self) -> Key | None:
        """The request that this message makes."""
        return None

    @property
    def answers(self) -> Key | None:
        """The request that this message ends."""
        return None

    def failed(self, failure: Failure) -> Iterable[Message]:
        """What the sender is owed when a stage fails on this message: an answer for a request, else nothing."""
        return ()


class ToAgent(Message):
    """A message on its way from the client to the agent."""

    toward = Toward.AGENT


class ToClient(Message):
    """A message on its way from the agent to the client."""

    toward = Toward.CLIENT
