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


class SubagentTranscript(Transcript):
    """The transcript of a subagent that is being written, with the small file beside it."""

    def __init__(self, main: Transcript, task: str, **about: Any) -> None:
        self.session, self.cwd, self.last = main.session, main.cwd, None
        self.path = main.path.with_suffix("") / "subagents" / f"agent-{task}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self.task = task
        if about:
            self.path.with_suffix(".meta.json").write_text(json.dumps(about), encoding="utf-8")

    def record(self, kind: str, *, parent: str | None = "", **members: Any) -> str:
        return super().record(kind, parent=parent, **{"isSidechain": True, "agentId": self.task, **members})

    def hears(self, text: str, **members: Any) -> str:
        """A message that reaches it while it does not work."""
        frame = "The coordinator sent a message while you were working:\n{}\n\n{}"
        then = "Address this before completing your current task."
        return self.said(frame.format(text, then), isMeta=True, origin={"kind": "coordinator"}, **members)

    def hears_at_work(self, text: str, **members: Any) -> str:
        """A message that reaches it between two of its tools."""
        attachment = {"type": "queued_command", "prompt": text, "origin": {"kind": "coordinator"}, "isMeta": True}
        return self.record("attachment", attachment=attachment, **members)


def notification(task: str, status: str, summary: str = "It ended") -> dict[str, Any]:
    """The members of a user record with which Claude Code tells the model that a task ended."""
    text = f"<task-notification>\n<task-id>{task}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>"
    return {"content": f"{text}\n</task-notification>", "origin": {"kind": "task-notification"}}
