"""Permission requests, one case a row; tests/golden/permissions/requests.json has what a client is sent for each.

python -m tests.permissions.cases       # writes the golden file anew; read the difference before you keep it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from middleware import ClientProfile
from middleware.messages import FileState, PermissionAsk, SessionModes, Task, Usage
from middleware.stages import Permissions
from tests.permissions.bundles import ACCEPT_EDITS, bash, directories, reads, rules
from tests.tools.play import AIR, CWD, HOME, PLAIN, SESSION, TERMINALS, Json, runner, wire

GOLDEN = Path(__file__).parents[1] / "golden" / "permissions" / "requests.json"

FILE = f"{CWD}/a.py"
OLD = FileState(path=FILE, state="text", text="one\ntwo\nthree\n")


def ask(name: str, input: Json, *suggestions: Json, **members: Any) -> PermissionAsk:
    return PermissionAsk(
        session=SESSION,
        ask="a",
        tool_use=members.pop("tool_use", "t"),
        name=name,
        input=input,
        suggestions=list(suggestions) or None,
        **members,
    )


CASES: dict[str, tuple[PermissionAsk, ClientProfile]] = {
    "command": (
        ask(
            "Bash",
            {"command": "npm test", "description": "Run the tests"},
            bash("npm test:*"),
            decision_reason="Needed to verify\nthe change.\x07",
            blocked_path=f"{CWD}/node_modules",
        ),
        PLAIN,
    ),
    "command with what is not seen": (
        ask(
            "Bash",
            {"command": "echo \u202efr- mr ;\u202c x\u200by", "description": "Say \u2066it\u2069"},
            bash("echo \u202efr- mr:*"),
            decision_reason="Needed\u200b to\u202e verify.",
        ),
        PLAIN,
    ),
    "file with what is not seen": (
        ask("Write", {"file_path": "/tmp/sa\u200bfe/a", "content": "\u202ex\n"}, ACCEPT_EDITS),
        PLAIN,
    ),
    "command on a terminal": (ask("Bash", {"command": "ls"}, directories("/tmp/out")), TERMINALS),
    "new file": (
        ask(
            "Write",
            {"file_path": FILE, "content": "x\n"},
            ACCEPT_EDITS,
            file=FileState(path=FILE, state="missing"),
        ),
        PLAIN,
    ),
    "existing file": (ask("Write", {"file_path": FILE, "content": "new\n"}, ACCEPT_EDITS, file=OLD), PLAIN),
    "hidden file": (
        ask("Write", {"file_path": FILE, "content": "new\n"}, file=FileState(path=FILE, state="hidden")),
        PLAIN,
    ),
    "file that nobody looked at": (ask("Write", {"file_path": FILE, "content": "new\n"}), PLAIN),
    "edit": (
        ask("Edit", {"file_path": FILE, "old_string": "two", "new_string": "TWO"}, ACCEPT_EDITS, file=OLD),
        PLAIN,
    ),
    "read outside": (ask("Read", {"file_path": "/tmp/data/a"}, reads("//tmp/data/**")), PLAIN),
    "fetch": (ask("WebFetch", {"url": "https://example.com/x", "prompt": "sum up"}), PLAIN),
    "skill": (ask("Skill", {"skill": "pdf to text"}), PLAIN),
    "enter plan mode": (ask("EnterPlanMode", {}), PLAIN),
    "plan": (ask("ExitPlanMode", {"plan": "1. do it"}), PLAIN),
    "sandbox": (
        ask(
            "SandboxNetworkAccess",
            {"host": "example.com"},
            rules(("SandboxNetworkAccess", "example.com")),
            tool_use=None,
        ),
        PLAIN,
    ),
    "computer use": (
        ask(
            "mcp__computer-use__click",
            {"x": 1, "y": 2},
            rules(("mcp__computer-use__click", None)),
            display_name="Click",
        ),
        PLAIN,
    ),
    "mcp": (
        ask(
            "mcp__tiny__echo",
            {"text": "hi"},
            rules(("mcp__tiny__echo", None)),
            display_name="tiny - echo",
            mcp_server={"name": "tiny", "source": "project", "token": "SECRET"},
        ),
        PLAIN,
    ),
    "subagent": (ask("Bash", {"command": "ls"}, agent="agent 1"), PLAIN),
    "unknown tool": (ask("FutureTool", {"query": "x"}), PLAIN),
    "air": (
        ask("Bash", {"command": "rm -rf  x\ny"}, decision_reason="Dangerous", default_to_no=True),
        AIR,
    ),
}


def play(name: str) -> Json:
    """The request that a client is sent for a case."""
    message, profile = CASES[name]
    made = runner(Permissions(restart=True, home=HOME), profile=profile)
    made.feed(
        SessionModes(session=SESSION, available=("default", "acceptEdits", "plan", "auto"), current="plan"),
        Usage(session=SESSION, used=142_000, size=200_000),
        Task(session=SESSION, task="agent 1", state="running", tool_use="parent"),
    ).run()
    made.client.clear()
    (request,) = wire(made.feed(message).run().client)
    return request


def main() -> None:
    text = json.dumps({name: play(name) for name in CASES}, indent=1, ensure_ascii=False, sort_keys=True)
    GOLDEN.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
