"""Writing transcripts as Claude Code does, for the tests of what reads them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

SESSION = "0b0b0b0b-0000-4000-8000-000000000001"


_COMPACT: dict[str, Any] = {"separators": (",", ":"), "ensure_ascii": False}


class Transcript:
    """A transcript that is being written. Each record is the child of the one before, unless a parent is given."""

    def __init__(self, config: Path, *, session: str = SESSION, cwd: str = "/repo", project: str = "-repo") -> None:
        self.session, self.cwd = session, cwd
        self.path = config / "projects" / project / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self.last: str | None = None

    def line(self, text: str) -> None:
        """Write a line as it is."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def record(self, kind: str, *, parent: str | None = "", **members: Any) -> str:
        """Write a record of the tree; its uuid."""
        name: str = members.pop("uuid", str(uuid.uuid4()))
        above = self.last if parent == "" else parent
        whole = {"parentUuid": above, "isSidechain": False, "type": kind, "uuid": name, **members}
        stamp = {"timestamp": "2026-01-01T00:00:00.000Z", "cwd": self.cwd, "sessionId": self.session}
        self.line(json.dumps({**whole, **{key: value for key, value in stamp.items() if key not in whole}}, **_COMPACT))
        self.last = name
        return name

    def user(self, content: Any, **members: Any) -> str:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return self.record("user", message={"role": "user", "content": blocks}, **members)

    def said(self, content: Any, **members: Any) -> str:
        """A user record whose content is a plain string."""
        return self.record("user", message={"role": "user", "content": content}, **members)

    def answer(
        self, *blocks: dict[str, Any] | str, message: str = "msg_1", model: str = "claude-opus-5-5", **members: Any
    ) -> str:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return self.record(
            "assistant", message={"id": message, "role": "assistant", "model": model, "content": content}, **members
        )

    def use(self, call: str, name: str, message: str = "msg_1", **given: Any) -> str:
        return self.answer({"type": "tool_use", "id": call, "name": name, "input": given}, message=message)

    def result(self, call: str, text: str, **members: Any) -> str:
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": text}], **members)
