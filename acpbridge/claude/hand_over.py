"""From the SDK loop into the pipeline: what one turn of the loop brings is handed over at once.

Claude Code's frames come in chunks. Fed one by one, each would wake the first stage's thread by itself, and the two
threads would pass the interpreter's lock to and fro: a third of what a streamed delta costs (docs/compared.md).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from middleware import Message

from .loop import SdkLoop


class HandOver:
    """`feed` for the agent end. Messages keep their order; from another thread than the loop's they go at once."""

    def __init__(self, loop: SdkLoop, feed: Callable[..., None]) -> None:
        self._loop = loop
        self._feed = feed
        self._waiting: list[Message] = []

    def __call__(self, *messages: Message) -> None:
        if threading.get_ident() != self._loop.thread_id:
            self._feed(*messages)
            return
        if not self._waiting:
            self._loop.loop.call_soon(self._flush)
        self._waiting += messages

    def _flush(self) -> None:
        messages, self._waiting = self._waiting, []
        self._feed(*messages)
