"""Reading a transcript: its active branch, whatever else is in the file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from acpbridge.sessions.places import find_transcript, is_session_id
from acpbridge.sessions.transcripts import active_branch, has_conversation, tail_records
from tests.sessions.writing import SESSION, Transcript


def test_a_line(config: Path) -> None:
    """Without branches it is what was written, in order."""
    t = Transcript(config)
    names = [t.user("one"), t.answer("two"), t.user("three")]
    assert _branch(t) == names


def test_the_newest_branch(config: Path) -> None:
    """An edited prompt leaves its first version on a branch of its own, which is not the conversation any more."""
    t = Transcript(config)
    root = t.user("one")
    answer = t.answer("two")
    t.user("first version")
    t.answer("to the first", message="msg_2")
    second = t.user("second version", parent=answer)
    assert _branch(t) == [root, answer, second]


def test_parallel_tools(config: Path) -> None:
    """Calls and results of parallel tools are all there, each result behind its call, though each hangs elsewhere."""
    t = Transcript(config)
    asked = t.user("go")
    one = t.use("a", "Bash", command="a")
    two = t.use("b", "Bash", command="b")
    last = t.result("b", "B", parent=two)
    first = t.result("a", "A", parent=one)
    end = t.answer("done", message="msg_2", parent=last)
    branch = _branch(t)
    assert sorted(branch) == sorted([asked, one, two, first, last, end])
    assert branch.index(one) < branch.index(first)
    assert branch.index(two) < branch.index(last)
    assert branch[-1] == end


def test_beside_the_conversation(config: Path) -> None:
    """A subagent's records, a team's and reminders end no branch; what was written last of the rest does."""
    t = Transcript(config)
    names = [t.user("one"), t.answer("two")]
    t.user("a reminder", isMeta=True)
    t.user("a subagent's", isSidechain=True, parent=None)
    assert _branch(t) == names


def test_compaction(config: Path) -> None:
    """Behind a compaction the conversation begins with its summary; what it kept stands behind the summary."""
    t = Transcript(config)
    t.user("forgotten")
    kept = t.answer("kept")
    metadata = {"preservedMessages": {"uuids": [kept], "anchorUuid": "the-summary"}}
    boundary = t.record("system", parent=None, subtype="compact_boundary", compactMetadata=metadata)
    t.said("Summary of it all", uuid="the-summary", isCompactSummary=True)
    after = t.user("after")
    assert _branch(t) == [boundary, "the-summary", kept, after]


def test_broken_lines(config: Path) -> None:
    """Broken lines, other values than records and a last line that is cut are skipped; the rest is the conversation."""
    t = Transcript(config)
    t.line("{ this is not JSON")
    one = t.user("one")
    odd = ("", "[]", "null", '"text"', "\x00\x00", '{"type":"user"}', '{"type":"user","uuid":7}', "[" * 100_000)
    for text in (*odd, '{"type":["user"],"uuid":"x"}', '{"type":{},"uuid":"y"}'):
        t.line(text)
    two = t.answer("two")
    with t.path.open("a") as file:
        file.write('{"parentUuid":"' + two + '","type":"user","uuid":"cut","message":{"con')
    assert _branch(t) == [one, two]


def test_circle(config: Path) -> None:
    """Records that are each other's parents end the way where it closes."""
    t = Transcript(config)
    t.user("one", uuid="a", parent="b")
    t.answer("two", uuid="b", parent="a")
    t.user("three", uuid="c", parent="b")
    assert _branch(t) == ["a", "b", "c"]


def test_nothing_said(config: Path) -> None:
    """A file with titles only is no conversation, and one with a message is."""
    t = Transcript(config)
    t.line('{"type":"ai-title","aiTitle":"A","sessionId":"x"}')
    assert not has_conversation(t.path)
    assert _branch(t) == []
    t.user("one")
    assert has_conversation(t.path)


def test_the_end_first(config: Path) -> None:
    """From the end a transcript is read in the order of its lines backwards, however the pieces are cut."""
    t = Transcript(config)
    names = [t.user(f"text {number} ü{'x' * number * 7}") for number in range(40)]
    for piece in (1, 7, 100, 1 << 16):
        assert [record["uuid"] for record in tail_records(t.path, piece)] == names[::-1]


def test_a_large_one_is_not_held(config: Path) -> None:
    """Reading 50 MB needs a small part of that in memory at a time, and gives every record."""
    t = Transcript(config)
    t.path.write_text("")
    text = "x" * 50_000
    with t.path.open("a") as file:
        for number in range(1000):
            parent = f'"{number - 1}"' if number else "null"
            file.write(
                f'{{"parentUuid":{parent},"isSidechain":false,"type":"user","message":{{"role":"user","content":"{text}"}}'
                f',"uuid":"{number}"}}\n'
            )
    assert t.path.stat().st_size > 50_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in active_branch(t.path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1000
    assert peak < 5_000_000


@pytest.mark.parametrize("name", ["", "..", "a/b", "../../etc/passwd", SESSION + "\n", SESSION[:-1], SESSION + "/../x"])
def test_ids_are_looked_at(config: Path, name: str) -> None:
    """Nothing but a uuid gets near a path."""
    assert not is_session_id(name)
    with pytest.raises(ValueError, match="not a session id"):
        find_transcript(name)


def test_found_in_any_project(config: Path) -> None:
    """A transcript is found wherever it lies, also behind a symbolic link; an unreadable directory stops nobody."""
    t = Transcript(config / "elsewhere", project="-somewhere")
    (config / "projects").mkdir()
    (config / "projects" / "-linked").symlink_to(t.path.parent)
    (config / "projects" / "a-file").write_text("")
    assert find_transcript(SESSION) == config / "projects" / "-linked" / t.path.name
    assert find_transcript(SESSION.replace("1", "2")) is None


def _branch(transcript: Transcript) -> list[str]:
    return [record["uuid"] for record in active_branch(transcript.path)]
