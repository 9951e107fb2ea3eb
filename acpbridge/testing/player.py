"""Plays the moves of a reply (sse.py) on an exchange (server.py): a stream of events, or the whole message to one who
does not stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from acpbridge.testing.record import Outcome
from acpbridge.testing.script import Cut, Fail, FailInStream, Pause, Wait
from acpbridge.testing.server import Exchange
from acpbridge.testing.sse import SSE, MessageBuilder, Move, Wire

_BUFFER = 16 * 1024
"""Bytes of events that are put into one write when nothing makes the reply stand still between them."""

_FAILED_WITHOUT_STREAM = 529
"""The status instead of an error event, to a request that does not stream."""


class Record(Protocol):
    """Notes how the answer goes on: always just before the client can see it, so that who has seen it finds it
    noted."""

    def __call__(self, *, status: int | None = None, outcome: Outcome | None = None) -> None: ...


def perform(
    exchange: Exchange,
    moves: Iterable[Move],
    streaming: bool,
    headers: Mapping[str, str],
    record: Record,
    wire: Wire = SSE,
) -> None:
    """Answer; `wire` is that of a stream. Raises ClientGone and Stopped, whatever has been noted by then."""
    answer = _Stream(exchange, headers, record, wire) if streaming else _Whole(exchange, headers, record)
    for move in moves:
        match move:
            case Pause():
                answer.flush()
                exchange.pause(move.seconds)
            case Wait():
                answer.flush()
                exchange.wait(move.gate)
            case Fail():
                retry = {} if move.retry_after is None else {"retry-after": f"{move.retry_after:g}"}
                record(status=move.status, outcome="failed")
                exchange.send_json(move.status, move.body, {**headers, **retry})
                return
            case FailInStream():
                answer.fail(move.body)
                return
            case Cut():
                answer.flush()
                record(outcome="cut")
                exchange.reset()
                return
            case _:
                answer.add(move)
    answer.end()


class _Stream:
    """The events on their way to the socket, several in one write."""

    def __init__(self, exchange: Exchange, headers: Mapping[str, str], record: Record, wire: Wire) -> None:
        self._exchange = exchange
        self._headers = {"content-type": wire.content, **headers}
        self._record = record
        self._encode = wire.encode
        self._buffer = bytearray()

    def add(self, event: dict[str, Any]) -> None:
        self._buffer += self._encode(event)
        if len(self._buffer) >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Give what was added to the socket; the head of the answer goes before the first event."""
        if not self._buffer:
            return
        if not self._exchange.begun:
            self._record(status=200)
            self._exchange.begin_stream(self._headers)
        self._exchange.write(bytes(self._buffer))
        self._buffer.clear()

    def fail(self, body: dict[str, Any]) -> None:
        self.add(body)
        self._end("failed")

    def end(self) -> None:
        self._end("answered")

    def _end(self, outcome: Outcome) -> None:
        self._record(outcome=outcome)
        self.flush()
        self._exchange.end_stream()


class _Whole:
    """The message, sent at its end."""

    def __init__(self, exchange: Exchange, headers: Mapping[str, str], record: Record) -> None:
        self._exchange = exchange
        self._headers = headers
        self._record = record
        self._builder = MessageBuilder()

    def add(self, event: dict[str, Any]) -> None:
        self._builder.add(event)

    def flush(self) -> None:
        """Nothing can be sent before the end."""

    def fail(self, body: dict[str, Any]) -> None:
        self._record(status=_FAILED_WITHOUT_STREAM, outcome="failed")
        self._exchange.send_json(_FAILED_WITHOUT_STREAM, body, self._headers)

    def end(self) -> None:
        self._record(status=200, outcome="answered")
        self._exchange.send_json(200, self._builder.message, self._headers)
