"""The HTTP/1.1 server under the scripted model: threads, sockets, and standing still until something happens.

It knows nothing of Anthropic's API: `HttpServer(answer)` calls `answer(exchange)` in the connection's own thread for
each request, and the `Exchange` sends what it is told. Nothing sleeps: a pause waits on the client's socket and on a
socket by which the server or a gate wakes it, so that a client that goes away, or the end of the server, ends an
answer at once.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from loguru import logger

from acpbridge.testing.script import Gate

_CLOSE_TIMEOUT = 5.0


class ClientGone(Exception):
    """The client closed the connection before the answer was complete."""


class Stopped(Exception):
    """The server was closed while the answer was being given."""


class _Waiter:
    """Waits for the client to go away, for a wake-up, or for a time; belongs to one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._reading, selectors.EVENT_READ)
        self._watched = False

    def close(self) -> None:
        self._selector.close()
        self._reading.close()
        self._writing.close()

    def wake(self) -> None:
        """End the wait (from any thread). A full or closed socket means that it was woken, or has ended, already."""
        with contextlib.suppress(BlockingIOError, OSError):
            self._writing.send(b"w")

    def watch(self) -> None:
        """Look at the client's socket in the waits to come."""
        if not self._watched:
            self._selector.register(self._connection, selectors.EVENT_READ)
            self._watched = True

    def unwatch(self) -> None:
        if self._watched:
            self._selector.unregister(self._connection)
            self._watched = False

    def wait(self, seconds: float | None) -> bool:
        """True after a wake-up, False when the time is over. Raises ClientGone."""
        while True:
            ready = self._selector.select(seconds)
            if not ready:
                return False
            for key, _events in ready:
                if key.fileobj is self._connection:
                    self._look_at_client()
            if any(key.fileobj is self._reading for key, _events in ready):
                self._reading.recv(4096)
                return True

    def _look_at_client(self) -> None:
        try:
            gone = not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
            gone = True
        if gone:
            raise ClientGone
        # It has sent its next request already: that waits for its turn, and the socket stays readable until then.
        self.unwatch()


class Exchange:
    """One request and its answer. Its methods raise ClientGone and Stopped."""

    def __init__(self, handler: _Handler, body: bytes) -> None:
        self.method: str = handler.command
        self.path: str = handler.path
        self.header_names: frozenset[str] = frozenset(name.lower() for name in handler.headers)
        self.body = body
        self.begun = False
        self._handler = handler
        self._server = handler.http

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        """The whole answer (no body to HEAD)."""
        content = json.dumps(value, ensure_ascii=False).encode()
        self._head(status, {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})})
        if self.method != "HEAD":
            self._send(content)

    def begin_stream(self, headers: Mapping[str, str]) -> None:
        """The head of a stream of events."""
        self._head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked", **headers})

    def write(self, content: bytes) -> None:
        """A part of the stream, given to the socket before this returns."""
        self._send(b"%x\r\n%b\r\n" % (len(content), content))

    def end_stream(self) -> None:
        """The end of the stream; the connection stays."""
        self._send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Reset the connection (TCP RST), whatever has been sent."""
        self._handler.reset()

    def pause(self, seconds: float) -> None:
        """Stand still for so long."""
        while self._stand(seconds):
            pass

    def wait(self, gate: Gate) -> None:
        """Stand still until the gate is open."""
        wake = self._handler.waiter.wake
        gate.arrive(wake)
        try:
            while not gate.is_open:
                self._stand(None)
        finally:
            gate.leave(wake)

    def _stand(self, seconds: float | None) -> bool:
        try:
            woken = self._handler.waiter.wait(seconds)
        except ClientGone:
            # Closing the server shuts its connections down, which looks the same from here.
            self._server.check()
            raise
        self._server.check()
        return woken

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        try:
            self._handler.end_headers()
        except OSError as error:
            raise self._lost() from error

    def _send(self, content: bytes) -> None:
        try:
            self._handler.connection.sendall(content)
        except OSError as error:
            raise self._lost() from error

    def _lost(self) -> Exception:
        return Stopped() if self._server.closing else ClientGone()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ScriptedModel"
    disable_nagle_algorithm = True
    connection: socket.socket

    def setup(self) -> None:
        self.http = cast("HttpServer", self.server)
        super().setup()
        self.waiter = _Waiter(self.connection)
        self.http.joined(self)

    def finish(self) -> None:
        self.http.left(self)
        self.waiter.close()
        super().finish()

    def handle(self) -> None:
        # A client may go away between two requests, or in the middle of one: nothing to answer then.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        self.waiter.watch()
        try:
            self.http.answer(Exchange(self, body))
        except (ClientGone, Stopped):
            self.close_connection = True
        finally:
            self.waiter.unwatch()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def reset(self) -> None:
        # Lingering for no time makes close() send a reset instead of the end of the data.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(_LINGER, 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        logger.trace("scripted model: {}", format % args)


_LINGER = "hh" if hasattr(socket, "SO_EXCLUSIVEADDRUSE") else "ii"
"""struct linger: two u_short on Windows (only there SO_EXCLUSIVEADDRUSE exists), two int elsewhere."""


def _end(connection: socket.socket) -> None:
    """Make the thread that reads from it, or writes to it, go on."""
    with contextlib.suppress(OSError):  # the client has closed it already
        connection.shutdown(socket.SHUT_RDWR)


class HttpServer:
    """Listens on 127.0.0.1 from `start()` to `close()`; one thread for each connection."""

    def __init__(self, answer: Callable[[Exchange], None]) -> None:
        self.answer = answer
        self.closing = False
        self._lock = threading.Lock()
        self._handlers: set[_Handler] = set()
        self._threads: set[threading.Thread] = set()
        self._listener: socket.socket | None = None

    def start(self, port: int) -> int:
        """Listen on a port, 0 for any free one; the port. Raises OSError when it is taken."""
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self._wake_reading, self._wake_writing = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept, name="scripted-model", daemon=True)
        self._acceptor.start()
        bound: int = self._listener.getsockname()[1]
        return bound

    def close(self) -> None:
        """End every answer at once, and all threads."""
        if self._listener is None or self.closing:
            return
        with self._lock:
            self.closing = True
            handlers = tuple(self._handlers)
        self._wake_writing.send(b"w")
        self._acceptor.join(_CLOSE_TIMEOUT)
        for handler in handlers:
            handler.waiter.wake()
            _end(handler.connection)
        with self._lock:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join(_CLOSE_TIMEOUT)
        for each in (self._listener, self._wake_reading, self._wake_writing):
            each.close()

    def check(self) -> None:
        """Raises Stopped once the server is being closed."""
        if self.closing:
            raise Stopped

    def joined(self, handler: _Handler) -> None:
        """A connection has begun (its thread calls this)."""
        with self._lock:
            self._handlers.add(handler)
            if self.closing:
                _end(handler.connection)

    def left(self, handler: _Handler) -> None:
        """A connection has ended (its thread calls this)."""
        with self._lock:
            self._handlers.discard(handler)

    def _accept(self) -> None:
        assert self._listener is not None
        self._listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake_reading, selectors.EVENT_READ)
            while not self.closing:
                selector.select()
                if self.closing:
                    return
                try:
                    connection, address = self._listener.accept()
                except (BlockingIOError, ConnectionError):
                    continue  # the client has given up meanwhile
                connection.setblocking(True)
                thread = threading.Thread(
                    target=self._serve, args=(connection, address), name="scripted-model-connection", daemon=True
                )
                with self._lock:
                    self._threads.add(thread)
                thread.start()

    def _serve(self, connection: socket.socket, address: Any) -> None:
        try:
            # A handler serves its connection inside its constructor, and asks its server nothing but what is above.
            _Handler(connection, address, cast("Any", self))
        finally:
            connection.close()
            with self._lock:
                self._threads.discard(threading.current_thread())
