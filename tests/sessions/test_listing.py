"""`session/list`: which sessions are in it, in which order, and what is said of each."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from pathlib import Path

import pytest

from acpbridge.sessions import continued, heads
from acpbridge.sessions.failures import RequestRefused
from acpbridge.sessions.heads import clean_title, read_head
from acpbridge.sessions.listing import list_sessions, page
from middleware import acp
from middleware.messages import Request
from tests.sessions.replaying import told
from tests.sessions.writing import Transcript


def _session(config: Path, number: int, *, cwd: str = "/repo", project: str = "-repo") -> Transcript:
    """A session that was written to at second `number`."""
    name = str(uuid.UUID(int=number))
    transcript = Transcript(config, session=name, cwd=cwd, project=project)
    transcript.user(f"prompt {number}")
    os.utime(transcript.path, (number, number))
    return transcript


def _listed(answer: acp.ListSessionsResponse) -> list[str | None]:
    return [row.title for row in answer.sessions]


def test_newest_first_in_pages(config: Path) -> None:
    """Newest first, a page at a time; the cursor of a page begins the next, and the last page has none."""
    for number in range(5):
        _session(config, number)
    first = page(None, 0, size=2)
    assert _listed(first) == ["prompt 4", "prompt 3"]
    assert first.next_cursor == "offset:2"
    last = page(None, 4, size=2)
    assert _listed(last) == ["prompt 0"]
    assert last.next_cursor is None
    assert first.sessions[0].updated_at == "1970-01-01T00:00:04.000Z"


def test_one_directory(config: Path, tmp_path: Path) -> None:
    """A working directory lists its own sessions, not those of another one whose name is encoded alike."""
    (tmp_path / "a.b").mkdir()
    (tmp_path / "a-b").mkdir()
    project = "".join(character if character.isalnum() else "-" for character in str(tmp_path / "a.b"))
    _session(config, 1, cwd=str(tmp_path / "a.b"), project=project)
    _session(config, 2, cwd=str(tmp_path / "a-b"), project=project)
    assert _listed(page(str(tmp_path / "a.b"), 0)) == ["prompt 1"]
    assert _listed(page(str(tmp_path / "nowhere"), 0)) == []


def test_what_is_no_session(config: Path) -> None:
    """Subagents, files without a conversation, other files and unreadable ones are left out; the rest is listed."""
    _session(config, 1)
    side = Transcript(config, session=str(uuid.UUID(int=2)))
    side.user("a subagent's", isSidechain=True)
    titles = Transcript(config, session=str(uuid.UUID(int=3)))
    titles.line('{"type":"ai-title","aiTitle":"A title","sessionId":"x"}')
    (config / "projects" / "-repo" / "notes.jsonl").write_text("{}")
    (config / "projects" / "-repo" / f"{uuid.UUID(int=4)}.jsonl").mkdir()
    assert _listed(page(None, 0)) == ["prompt 1"]


def test_no_directory_of_claude_code(config: Path) -> None:
    """Where Claude Code never ran, the list is empty."""
    assert page(None, 0).sessions == []


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (["custom", "ai"], "by the person"),
        (["ai"], "by Claude"),
        ([], "the prompt"),
        (["broken"], "the prompt"),
    ],
)
def test_title(config: Path, lines: list[str], title: str) -> None:
    """A title is what the person gave, else what Claude made, else the first prompt."""
    known = {
        "custom": {"type": "custom-title", "customTitle": "by the  person"},
        "ai": {"type": "ai-title", "aiTitle": "by Claude"},
    }
    t = Transcript(config)
    t.user("<command-name>/clear</command-name>")
    t.user("the prompt")
    for line in lines:
        t.line(
            json.dumps(known[line], separators=(",", ":")) if line in known else '{"type":"ai-title","aiTitle":"cut \\'
        )
    head = read_head(t.path, 0)
    assert head is not None
    assert head.title == title


def test_only_the_ends_are_read(config: Path) -> None:
    """Of a large transcript the beginning and the end are read: a title in its middle is not seen."""
    t = Transcript(config)
    t.user("first prompt")
    t.user("x" * 200_000)
    t.line('{"type":"ai-title","aiTitle":"in the middle"}')
    t.user('he said "aiTitle":"quoted" and ' + "y" * 200_000)
    t.line('{"type":"ai-title","aiTitle":"at the \\"end\\" é"}')
    head = read_head(t.path, 0)
    assert head is not None
    assert head.title == 'at the "end" é'


HUGE = "x" * 200_000
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": HUGE}}


def _odd(config: Path, kind: str) -> Transcript:
    """A transcript that is odd in this way."""
    t = Transcript(config)
    match kind:
        case "broken and huge first line":
            t.line('{"parentUuid":null,"type":"user","message":{"content":"' + HUGE)
        case "huge first prompt":
            t.user(HUGE)
        case "image first":
            t.user([IMAGE])
        case "meta records first":
            for _ in range(100):
                t.line('{"type":"queue-operation","operation":"enqueue","content":"' + "y" * 2000 + '"}')
            t.user("a reminder " + HUGE, isMeta=True)
        case "a byte order mark":
            t.path.write_bytes(b"\xef\xbb\xbf")
        case "NUL bytes":
            t.path.write_bytes(b"\0" * 100_000)
            t.line("")
        case "empty":
            return t
        case "only an image":
            t.user([IMAGE])
            return t
        case "only an answer":
            t.line('{"type":"user","message":"' + HUGE)
            t.answer("an answer", HUGE)
            t.line('{"type":"user","message":"' + HUGE)
            return t
        case "only commands":
            t.said("<local-command-caveat>x</local-command-caveat>", isMeta=True)
            t.said("<command-name>/model</command-name>")
            t.said("<local-command-stdout>Set model</local-command-stdout>")
            t.answer("No response requested.", model="<synthetic>")
            return t
    t.user("the prompt")
    t.answer("the answer")
    match kind:
        case "huge at both ends":
            t.path.write_bytes(b'{"type":"user' + HUGE.encode() + b"\n" + t.path.read_bytes() + b"[" * 200_000 + b"\n")
        case "no newline at the end":
            t.path.write_bytes(t.path.read_bytes().rstrip(b"\n"))
        case "a cut last line":
            with t.path.open("a") as file:
                file.write('{"parentUuid":"' + HUGE)
        case "CRLF":
            t.path.write_bytes(t.path.read_bytes().replace(b"\n", b"\r\n"))
    return t


@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        ("broken and huge first line", ["the prompt"]),
        ("huge first prompt", ["x" * 255 + "…"]),
        ("image first", ["the prompt"]),
        ("meta records first", ["the prompt"]),
        ("a byte order mark", ["the prompt"]),
        ("NUL bytes", ["the prompt"]),
        ("huge at both ends", ["the prompt"]),
        ("no newline at the end", ["the prompt"]),
        ("a cut last line", ["the prompt"]),
        ("CRLF", ["the prompt"]),
        ("only an image", [None]),
        ("only an answer", [None]),
        ("empty", []),
        ("only commands", []),
    ],
)
def test_what_can_be_loaded_is_listed(config: Path, kind: str, titles: list[str | None]) -> None:
    """A session that has something to be told is listed, however odd its transcript is, and no other.

    Found by breaking: one whose first line was broken and long could be loaded, and was not listed.
    """
    t = _odd(config, kind)
    assert _listed(page(None, 0)) == titles
    assert bool(told(t)) == bool(titles)


def test_a_search_has_an_end(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so much is read, from either end, of a transcript whose ends say nothing."""
    t = Transcript(config)
    t.line("z" * 300_000)
    t.user("the prompt")
    t.line("z" * 300_000)
    head = read_head(t.path, 0)
    assert head is not None
    assert head.title == "the prompt"
    monkeypatch.setattr(heads, "SEARCHED", 200_000)
    assert read_head(t.path, 0) is None


def test_long_title() -> None:
    """A title is one line of at most 256 characters."""
    assert clean_title(" a\n b\t c ") == "a b c"
    assert clean_title("x" * 300) == "x" * 255 + "…"


def test_cleared_session(config: Path) -> None:
    """A session that was cleared is listed once, under its own id, as what it is at now."""
    old, new = _session(config, 1), _session(config, 2)
    continued.remember(old.session, new.session)
    answer = page(None, 0)
    assert [(row.session_id, row.title) for row in answer.sessions] == [(old.session, "prompt 2")]
    assert continued.conversation_of(old.session) == new.session
    continued.forget(old.session)
    assert continued.conversation_of(old.session) == old.session


async def _refused(cwd: str | None, cursor: str | None) -> None:
    params = acp.ListSessionsRequest(cwd=cwd, cursor=cursor)
    await list_sessions(None, Request(request=1, method="session/list", params=params))  # type: ignore[arg-type]


@pytest.mark.parametrize(("cwd", "cursor"), [("relative", None), (None, "5"), (None, "offset:-1"), (None, "offset:٣")])
def test_wrong_request(cwd: str | None, cursor: str | None) -> None:
    """A relative directory, and a cursor that is none of ours, are -32602 and named."""
    with pytest.raises(RequestRefused, match=r"cwd|cursor") as refused:
        asyncio.run(_refused(cwd, cursor))
    assert refused.value.failure.code == -32602
