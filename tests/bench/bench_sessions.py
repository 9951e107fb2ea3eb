"""What listing and loading cost: run it, and compare with the figures below.

    python -m tests.bench.bench_sessions

Two shared and busy processors, Linux, 5,000 transcripts of 64 KB each in 50 directories, warm file cache:

| figure | median | aim |
|---|---|---|
| list, first page of 1000, all directories | 190 ms | 300 ms |
| list, all five pages | 910 ms | 1500 ms |
| list, one directory of 100 | 10 ms | 20 ms |
| replay of 50 MB, records to updates | 310 ms | 500 ms |
| held at a time while it is replayed | 4 MB | 10 MB |
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
import tracemalloc
import uuid
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from acpbridge import flow
from acpbridge.sessions.listing import page
from acpbridge.sessions.replay import Replay
from middleware.profile import ClientProfile

TRANSCRIPTS, DIRECTORIES, ROUNDS = 5000, 50, 5


def _record(parent: str | None, name: str, kind: str, text: str, cwd: str) -> str:
    message = {"role": kind, "id": f"msg_{name}", "model": "claude", "content": [{"type": "text", "text": text}]}
    record = {"parentUuid": parent, "isSidechain": False, "type": kind, "message": message, "uuid": name, "cwd": cwd}
    return json.dumps(record, separators=(",", ":")) + "\n"


def _write(config: Path) -> str:
    """Write the transcripts; the working directory of one of the directories."""
    cwd = ""
    for place in range(DIRECTORIES):
        cwd = str(config / "work" / str(place))
        os.makedirs(cwd)
        project = config / "projects" / "".join(c if c.isalnum() else "-" for c in os.path.realpath(cwd))
        project.mkdir(parents=True)
        for number in range(TRANSCRIPTS // DIRECTORIES):
            path = project / f"{uuid.uuid4()}.jsonl"
            lines = [_record(None, "a", "user", f"the prompt {number}", cwd)]
            lines += [_record("a", f"b{index}", "assistant", "x" * 6000, cwd) for index in range(10)]
            path.write_text("".join(lines) + '{"type":"ai-title","aiTitle":"A title","sessionId":"s"}\n')
    return cwd


def _measure(what: str, run: Callable[[], object]) -> None:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    print(f"{what:45} median {statistics.median(times) * 1000:7.1f} ms   worst {max(times) * 1000:7.1f} ms")


def _all_pages() -> None:
    offset: int | None = 0
    while offset is not None:
        cursor = page(None, offset).next_cursor
        offset = int(cursor.partition(":")[2]) if cursor else None


def _large(config: Path) -> Path:
    path = config / "large.jsonl"
    parent = None
    with path.open("w") as file:
        for number in range(1000):
            for kind in ("user", "assistant"):
                name = f"{kind}{number}"
                file.write(_record(parent, name, kind, "x" * 25_000, "/repo"))
                parent = name
    return path


def _replay(path: Path) -> int:
    replay = Replay("s", "/repo", path, flow.past(), ClientProfile())
    return sum(len(piece) for piece in replay.pieces())


def main() -> None:
    logger.remove()
    with tempfile.TemporaryDirectory() as name:
        config = Path(name)
        os.environ["CLAUDE_CONFIG_DIR"] = name
        cwd = _write(config)
        _measure("list, first page of 1000, all directories", lambda: page(None, 0))
        _measure("list, all five pages", _all_pages)
        _measure("list, one directory of 100", lambda: page(cwd, 0))
        large = _large(config)
        _measure(f"replay of {large.stat().st_size / 1e6:.0f} MB", lambda: _replay(large))
        tracemalloc.start()
        count = _replay(large)
        print(f"{count} updates, at most {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB held at a time")


if __name__ == "__main__":
    main()
