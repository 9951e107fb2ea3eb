"""The valve of a session: when its reader goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from acpbridge.claude.flow_control import FlowControl
from tests.claude.fake_claude import run


class Pipe:
    """Room that a test gives and takes; `asked` counts how often somebody looked."""

    def __init__(self) -> None:
        self.room = False
        self.asked = 0
        self.looked = asyncio.Event()

    def has_room(self) -> bool:
        self.asked += 1
        self.looked.set()
        return self.room

    async def look(self) -> None:
        """Wait until somebody has looked again."""
        self.looked.clear()
        await self.looked.wait()


def held(flow: FlowControl) -> asyncio.Future[None]:
    """A reader that is held."""
    room: Awaitable[None] | None = flow.wait()
    assert room is not None
    return asyncio.ensure_future(room)


def test_room() -> None:
    """Where there is room nothing is awaited."""
    assert FlowControl(lambda: True).wait() is None


def test_no_room() -> None:
    """Without room the reader waits, also when there was news but no room, and goes on when there is."""

    async def scenario() -> None:
        pipe = Pipe()
        flow = FlowControl(pipe.has_room)
        reader = held(flow)
        await pipe.look()
        flow.recheck()
        await pipe.look()
        assert not reader.done()
        pipe.room = True
        flow.recheck()
        await reader
        assert flow.wait() is None

    run(scenario())


def test_room_that_comes_in_between_is_seen() -> None:
    """Room that comes after the reader was told to wait, and before it does, is not missed."""

    async def scenario() -> None:
        pipe = Pipe()
        flow = FlowControl(pipe.has_room)
        room = flow.wait()
        assert room is not None
        pipe.room = True
        flow.recheck()
        await room

    run(scenario())


def test_a_reader_that_must_go_on() -> None:
    """While the valve is open by force, readers go on whatever the pipeline says; released, they ask it again."""

    async def scenario() -> None:
        pipe = Pipe()
        flow = FlowControl(pipe.has_room)
        reader = held(flow)
        await pipe.look()
        flow.open()
        await reader
        assert flow.wait() is None
        flow.release()
        again = held(flow)
        await pipe.look()
        assert not again.done()
        pipe.room = True
        flow.recheck()
        await again

    run(scenario())
