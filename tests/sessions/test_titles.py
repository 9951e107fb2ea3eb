"""What a session is called: when a title is made, of what, and what the client is told (reference 9.8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from acpbridge.sessions.heads import StoredTitles, read_titles
from acpbridge.sessions.titles import CONTEXT, Titles
from middleware import acp
from middleware.messages import Message, Prompt, Update
from tests.sessions.writing import Transcript

LONG = "tell me about whales"


class World:
    """A session's titles, with stand-ins for Claude Code and the transcript."""

    def __init__(self) -> None:
        self.fed: list[Message] = []
        self.asked: list[str] = []
        self.answers: list[Any] = []
        self.stored = StoredTitles()
        self.held: asyncio.Event | None = None
        self.titles = Titles(
            session="s", ask=self._ask, feed=lambda *m: self.fed.extend(m), now=lambda: "now", stored=self._stored
        )

    async def _ask(self, subtype: str, **members: Any) -> Any:
        assert (subtype, members["persist"]) == ("generate_session_title", True)
        self.asked.append(members["description"])
        if self.held is not None:
            await self.held.wait()
        answer = self.answers.pop(0) if self.answers else {"title": "A title"}
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _stored(self) -> StoredTitles:
        return self.stored

    async def prompt(self, *texts: str) -> None:
        """A prompt, and the title that is made of it."""
        blocks = tuple(acp.TextContent(text=text) for text in texts)
        description = self.titles.prompted(Prompt(session="s", request=1, prompt="p", content=blocks))
        if description is not None:
            await self.titles.make(description)

    def says(self, text: str, **frame: Any) -> None:
        message = {"model": frame.pop("model", "claude"), "content": [{"type": "text", "text": text}]}
        self.titles.observe({"type": "assistant", "message": message, **frame})

    async def turn_ends(self, reason: str = "completed") -> None:
        self.titles.observe({"type": "result", "terminal_reason": reason})
        await self.titles.idle()

    @property
    def told(self) -> list[str | acp.Null | None]:
        updates = [message.update for message in self.fed if isinstance(message, Update)]
        assert all(isinstance(update, acp.SessionInfoUpdate) and update.updated_at == "now" for update in updates)
        return [update.title for update in updates if isinstance(update, acp.SessionInfoUpdate)]


def play(story: Callable[[World], Awaitable[None]]) -> World:
    world = World()

    async def run() -> None:
        await story(world)

    asyncio.run(run())
    return world


def test_of_a_prompt() -> None:
    """A title is made of the first prompt that says enough, all its texts, once; and told once."""

    async def story(world: World) -> None:
        await world.prompt("short")
        await world.prompt("  tell me", "about whales\n")
        await world.turn_ends()
        await world.prompt("and more about whales")
        await world.turn_ends()

    world = play(story)
    assert world.asked == ["tell me\nabout whales"]
    assert world.told == ["A title"]


def test_of_what_both_said() -> None:
    """Where the prompt says too little, a title is made at the turn's end of the last that both sides said."""

    async def story(world: World) -> None:
        await world.prompt("hi")
        world.says("Hello! What about whales?")
        world.says("a subagent's", parent_tool_use_id="a")
        world.says("No response requested.", model="<synthetic>")
        await world.turn_ends()
        await world.turn_ends()

    world = play(story)
    assert world.asked == ["hi\nHello! What about whales?"]
    assert world.told == ["A title"]


def test_the_last_of_it() -> None:
    """What was said long ago does not count."""

    async def story(world: World) -> None:
        await world.prompt("old")
        world.says("x" * CONTEXT)
        await world.turn_ends()

    assert play(story).asked == ["x" * CONTEXT]


@pytest.mark.parametrize("answer", [RuntimeError("busy"), {"title": None}, {"title": " "}, None, {"title": 7}])
def test_a_failure_is_tried_again(answer: Any) -> None:
    """Where none is made the client is told what the list shows, and the next prompt tries again."""

    async def story(world: World) -> None:
        world.answers = [answer]
        world.stored = StoredTitles(said=LONG)
        await world.prompt(LONG)
        await world.turn_ends()
        await world.prompt("what do whales eat?")

    world = play(story)
    assert world.asked == [LONG, "what do whales eat?"]
    assert world.told == [LONG, "A title"]


def test_nothing_to_make_one_of() -> None:
    """A turn that was stopped, or in which little was said, is called what the list calls it."""

    async def story(world: World) -> None:
        world.stored = StoredTitles(said="hi")
        await world.prompt("hi")
        await world.turn_ends()
        await world.prompt("ho")
        world.says("A long answer that was stopped")
        await world.turn_ends("aborted_streaming")

    world = play(story)
    assert (world.asked, world.told) == ([], ["hi"])


def test_commands_say_nothing() -> None:
    """A command is no subject."""

    async def story(world: World) -> None:
        await world.prompt("/compact and keep what is about whales")
        await world.turn_ends()

    assert play(story).asked == []


def test_the_persons_name_wins() -> None:
    """What the person calls it is adopted, at a prompt or a turn's end, also behind a title that was made."""

    async def story(world: World) -> None:
        world.stored = StoredTitles(custom="Mine", made="Other")
        await world.prompt(LONG)
        world.stored = StoredTitles(custom="Mine  again")
        await world.turn_ends()
        await world.turn_ends()
        await world.prompt("something else altogether")

    world = play(story)
    assert (world.asked, world.told) == ([], ["Mine", "Mine again"])


def test_from_before() -> None:
    """A session that has a title from before keeps it, and the client has it from the list; one that has only its
    first prompt is given one."""

    async def titled(world: World) -> None:
        world.titles.known(StoredTitles(made="Old", said="x"))
        world.stored = StoredTitles(made="Old", said="x")
        await world.prompt(LONG)
        await world.turn_ends()

    async def untitled(world: World) -> None:
        world.titles.known(StoredTitles(said="hi"))
        world.stored = StoredTitles(said="hi")
        await world.turn_ends()
        await world.prompt(LONG)

    assert (play(titled).asked, play(titled).told) == ([], [])
    assert (play(untitled).asked, play(untitled).told) == ([LONG], ["A title"])


def test_given_by_the_client() -> None:
    """For a session that the client named none is made; another name is still adopted."""

    async def story(world: World) -> None:
        world.titles.given()
        await world.prompt(LONG)
        await world.turn_ends()
        world.stored = StoredTitles(custom="Renamed")
        await world.turn_ends()

    world = play(story)
    assert (world.asked, world.told) == ([], ["Renamed"])


def test_what_comes_too_late() -> None:
    """A title of a conversation that was cleared, or of a session that was closed, is nobody's; the next is made."""

    async def story(world: World) -> None:
        world.held = asyncio.Event()
        making = asyncio.create_task(world.prompt(LONG))
        await asyncio.sleep(0)
        world.titles.forget()
        await world.turn_ends()
        world.held.set()
        await making
        assert world.told == []
        world.held = None
        await world.prompt("now about something else")

    world = play(story)
    assert world.asked == [LONG, "now about something else"]
    assert world.told == ["A title"]


def test_closed() -> None:
    """Of a session that is closed nothing is told, though its last turn still comes to its end."""

    async def story(world: World) -> None:
        await world.prompt("hi")
        world.titles.close()
        world.stored = StoredTitles(custom="Mine")
        world.says("Hello! What about whales?")
        await world.turn_ends()

    world = play(story)
    assert (world.asked, world.told) == ([], [])


def test_one_at_a_time() -> None:
    """While one is being made no other is asked for, and nothing else is told."""

    async def story(world: World) -> None:
        world.held = asyncio.Event()
        world.stored = StoredTitles(said=LONG)
        making = asyncio.create_task(world.prompt(LONG))
        await asyncio.sleep(0)
        await world.prompt("a second long prompt")
        await world.turn_ends()
        assert world.told == []
        world.held.set()
        await making

    world = play(story)
    assert (world.asked, world.told) == ([LONG], ["A title"])


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [None, {"type": "text"}]}},
        {"type": "result"},
    ],
)
def test_frames_that_say_nothing(frame: dict[str, Any]) -> None:
    """A frame that lacks what it should have is nothing."""

    async def story(world: World) -> None:
        world.titles.observe(frame)
        await world.turn_ends()

    world = play(story)
    assert (world.asked, world.told) == ([], [])


def test_out_of_a_transcript(config: Path) -> None:
    """A transcript says what the person called it, what Claude did, and what was asked first."""
    t = Transcript(config)
    assert read_titles(t.path) == StoredTitles()
    t.user("the prompt")
    assert read_titles(t.path) == StoredTitles(said="the prompt")
    t.line('{"type":"ai-title","aiTitle":"made"}')
    t.line('{"type":"custom-title","customTitle":"chosen"}')
    assert read_titles(t.path) == StoredTitles(custom="chosen", made="made", said="the prompt")
