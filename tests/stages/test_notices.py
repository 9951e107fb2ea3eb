"""`Notices` alone: how a notice is shown to a client with notices, and in a transcript (reference 10.3)."""

from __future__ import annotations

from typing import Any

import pytest

from middleware import Pipeline, StepRunner, acp
from middleware.messages import Initialized, Notice, SessionClosed, Text, Update
from middleware.profile import ClientProfile
from middleware.stages import Notices
from middleware.stages.notices import plain
from middleware.testing import check_stage

S = "s"


def shown(*notices: Notice | SessionClosed, capable: bool = True) -> list[Any]:
    """What the client is shown: a notice, a text, or a chunk with `_meta`."""
    capabilities: dict[str, Any] = {"session": {"notices": {}}} if capable else {}
    runner = StepRunner(Pipeline([Notices()]))
    runner.feed(Initialized(profile=ClientProfile(capabilities=capabilities)), *notices).run()
    updates = [message.update if isinstance(message, Update) else message for message in runner.client]
    return [update for update in updates if not isinstance(update, SessionClosed)]


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("## A heading\n# Another", "A heading\nAnother"),
        ("**bold** and __bold__", "bold and bold"),
        ("a `command`, ``code``", "a command, ``code``"),
        ("2 ** 8, a_b__c, #1 is `open", "2 ** 8, a_b__c, #1 is `open"),
    ],
)
def test_plain(text: str, without: str) -> None:
    """Marks of Markdown that come in pairs, or begin a line, are taken out; what only looks like one stays."""
    assert plain(text) == without


def test_a_notice() -> None:
    """A client with notices gets title and description in plain text, with its weight."""
    notice = Notice(session=S, title="**Mind** the `gap`", description="It is wide.", severity="warning")
    [update] = shown(notice)
    assert isinstance(update, acp.Notice)
    assert (update.title, update.description, update.severity) == ("Mind the gap", "It is wide.", "warning")


@pytest.mark.parametrize(
    ("notice", "title"),
    [
        (Notice(session=S, title="x" * 257), "Claude reported a notice"),
        (Notice(session=S, title="x" * 257, severity="warning"), "Claude reported a warning"),
        (Notice(session=S, title="x" * 257, fallback="Model fallback"), "Model fallback"),
    ],
)
def test_a_long_title(notice: Notice, title: str) -> None:
    """A title of more than 256 characters becomes the description, under a title of its kind."""
    [update] = shown(notice)
    assert (update.title, update.description) == (title, "x" * 257)


def test_an_empty_title() -> None:
    """A title of marks only is one of its kind."""
    [update] = shown(Notice(session=S, title="##  ", description="It is."))
    assert (update.title, update.description) == ("Claude reported a notice", "It is.")


@pytest.mark.parametrize(
    ("notice", "text"),
    [
        (Notice(session=S, title="A", description="B"), "**A:** B\n\n"),
        (Notice(session=S, title="A"), "**A**\n\n"),
        (Notice(session=S, title="A", description="B", transcript="In other words"), "In other words\n\n"),
    ],
)
def test_in_a_transcript(notice: Notice, text: str) -> None:
    """A client without notices reads a paragraph."""
    [message] = shown(notice, capable=False)
    assert isinstance(message, Text)
    assert (message.text, message.synthetic) == (text, True)


def test_with_meta() -> None:
    """A paragraph may say in `_meta` what it is; a notice does not."""
    notice = Notice(session=S, title="A", meta={"claudeCode": {"kind": "k"}})
    [chunk] = shown(notice, capable=False)
    assert isinstance(chunk, acp.AgentMessageChunk)
    assert chunk.meta == {"claudeCode": {"kind": "k"}}
    [update] = shown(notice)
    assert update.meta is None


def test_where() -> None:
    """Some are for clients with notices only, some for transcripts only."""
    aside = Notice(session=S, title="A", where="notices")
    plain_text = Notice(session=S, title="B", where="transcript")
    assert [update.title for update in shown(aside, plain_text)] == ["A"]
    assert [message.text for message in shown(aside, plain_text, capable=False)] == ["**B**\n\n"]


def test_once() -> None:
    """Of those with one mark a client with notices is told the first of each session, a transcript all."""
    notice, other = Notice(session=S, title="A", once="t"), Notice(session="other", title="B", once="t")
    told: list[Notice | SessionClosed] = [notice, notice, other, SessionClosed(session=S), notice]
    assert [update.title for update in shown(*told)] == ["A", "B", "A"]
    assert len(shown(*told, capable=False)) == 4


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    check_stage(Notices, [Notice(session=S, title="A", once="t"), Notice(session=S, title="A", once="t")])
