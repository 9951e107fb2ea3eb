"""A copy of a transcript: it is the SDK's where that is right, and whole where that is not."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest

from acpbridge.sessions import copying
from acpbridge.sessions.copying import copy_transcript
from acpbridge.sessions.listing import page
from acpbridge.sessions.transcripts import active_branch
from tests.sessions.replaying import told
from tests.sessions.writing import SESSION, Transcript

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _copy(t: Transcript, title: str = "A title") -> Transcript:
    """The copy, as a transcript that can be written on."""
    copy = Transcript(t.path.parents[2], session=copy_transcript(t.path, title))
    assert copy.path.stat().st_size > 0
    return copy


def _without_names(path: Path) -> list[Any]:
    """The records of a file, each uuid replaced by where it stood first, and without the time of the copy."""
    known: dict[str, str] = {}
    text = _UUID.sub(lambda found: known.setdefault(found[0], f"name {len(known)}"), path.read_text())
    text = re.sub(r'"timestamp":"20(?!26-01-01)[^"]*"', '"timestamp":"now"', text)
    return [json.loads(line) for line in text.splitlines()]


def test_as_the_sdk_copies(config: Path) -> None:
    """Of an ordinary transcript it is what the SDK makes of it: record for record, but for the new names."""
    t = Transcript(config)
    t.user("one", permissionMode="plan", slug="a-slug", teamName="t", agentName="a")
    t.record("progress", data={"a": 1})
    t.record("progress")
    first = t.answer("two ü", {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "x"}})
    t.result("c", "y", toolUseResult={"stdout": "y"}, sourceToolAssistantUUID=first)
    t.user("a subagent's", isSidechain=True)
    t.record("system", parent=None, logicalParentUuid=first, subtype="other")
    t.user("another way", parent=first)
    t.user("a reminder", isMeta=True)
    t.line('{"type":"ai-title","aiTitle":"A title","sessionId":"x"}')
    t.line('{"type":"content-replacement","sessionId":"' + SESSION + '","replacements":[{"a":1}]}')
    t.line('{"type":"content-replacement","sessionId":"another","replacements":[{"b":1}]}')
    t.line("{ broken")
    t.line('{"type":"user","uuid":7}')
    t.line('{"type":"file-history-snapshot","uuid":"u"}')
    theirs = t.path.with_name(claude_agent_sdk.fork_session(t.session).session_id + ".jsonl")
    ours = _copy(t, "A title (fork)").path
    assert len(_without_names(ours)) == 8
    assert _without_names(ours) == _without_names(theirs)
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(theirs.stat().st_mode)


def test_it_is_a_session_of_its_own(config: Path) -> None:
    """The copy is listed under its title, and what is written on is not in the first one."""
    t = Transcript(config)
    t.user("one")
    copy = _copy(t, "Another (fork)")
    assert sorted(str(row.title) for row in page(None, 0).sessions) == ["Another (fork)", "one"]
    copy.last = [record["uuid"] for record in active_branch(copy.path)][-1]
    copy.user("two")
    assert (len(told(copy)), len(told(t))) == (2, 1)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_what_looks_like_a_new_line(config: Path, separator: str) -> None:
    """A text with another alphabet's line end in it is one line of the file: the SDK lost all that came before it."""
    t = Transcript(config)
    t.user("one")
    t.answer(f"two{separator}two")
    t.user("three")
    assert [update["content"]["text"] for update in told(_copy(t))] == ["one", f"two{separator}two", "three"]


def test_compacted(config: Path) -> None:
    """The messages that a compaction kept are kept in the copy too: the SDK's had them no more."""
    t = Transcript(config)
    t.user("forgotten")
    kept = t.answer("kept")
    metadata = {"trigger": "manual", "preservedMessages": {"uuids": [kept], "anchorUuid": "the-summary"}}
    t.record("system", parent=None, logicalParentUuid=kept, subtype="compact_boundary", compactMetadata=metadata)
    t.said("Summary of it all", uuid="the-summary", isCompactSummary=True)
    t.user("after")
    shown = [update["content"]["text"] for update in told(_copy(t)) if update["sessionUpdate"].endswith("chunk")]
    assert shown == ["kept", "after"]


def test_a_circle(config: Path) -> None:
    """Records that are each other's parents hold nobody up: the SDK never came back."""
    t = Transcript(config)
    t.record("progress", uuid="a", parent="b")
    t.record("progress", uuid="b", parent="a")
    t.user("one", parent="b")
    t.record("user", parent=["no name"], message={"content": "two"})  # type: ignore[arg-type]
    records = [json.loads(line) for line in _copy(t).path.read_text().splitlines()]
    assert [record.get("parentUuid") for record in records[:2]] == [None, None]


def test_nested_too_deeply(config: Path) -> None:
    """A record that is nested too deeply to be read is left out like a broken line: the SDK's fork fails of it."""
    t = Transcript(config)
    t.user("one")
    deep = "[" * 100_000 + "]" * 100_000
    t.line(f'{{"parentUuid":null,"type":"user","uuid":"deep","message":{{"content":{deep}}}}}')
    t.line(f'{{"type":"content-replacement","replacements":{deep}}}')
    t.answer("two")
    with pytest.raises(RecursionError):
        claude_agent_sdk.fork_session(t.session)
    assert [update["content"]["text"] for update in told(_copy(t))] == ["one", "two"]


def test_a_long_chain(config: Path) -> None:
    """A chain of parents is as long as a conversation, also through what is not copied."""
    t = Transcript(config)
    t.user("one")
    with t.path.open("a") as file:
        for number in range(20_000):
            parent = t.last if number == 0 else f"p{number - 1}"
            file.write(f'{{"parentUuid":"{parent}","type":"progress","uuid":"p{number}"}}\n')
    t.answer("two", parent="p19999")
    assert [update["content"]["text"] for update in told(_copy(t))] == ["one", "two"]


def test_a_failure_leaves_nothing(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that cannot be written to its end is removed."""
    t = Transcript(config)
    t.user("one")

    def full() -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(copying, "now", full)
    with pytest.raises(OSError, match="space"):
        copy_transcript(t.path, "x")
    assert list(t.path.parent.iterdir()) == [t.path]


def test_a_large_one_is_not_held(config: Path) -> None:
    """A transcript of 20 MB is copied in a small part of that."""
    t = Transcript(config)
    for _ in range(400):
        t.user("x" * 50_000)
    tracemalloc.start()
    try:
        copy = copy_transcript(t.path, "x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert t.path.with_name(f"{copy}.jsonl").stat().st_size > 20_000_000
    assert peak < 3_000_000
