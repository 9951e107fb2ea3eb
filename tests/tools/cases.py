"""The tools, one case a row: what is used, and what it gave. tests/golden/tools has what a client is shown of each.

python -m tests.tools.cases       # writes the golden files anew; read the difference before you keep it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs

from middleware.stages import ToolCalls
from tests.tools.play import CWD, Json, played, result, use

GOLDEN = Path(__file__).parents[1] / "golden" / "tools"


@attrs.frozen
class Case:
    """A tool use and its result. `given` are members of `ToolResult`."""

    tool: str
    input: dict[str, Any] = attrs.field(factory=dict)
    given: dict[str, Any] = attrs.field(factory=lambda: {"content": "ok"})

    def play(self) -> list[Json]:
        return played(ToolCalls(), use(self.tool, self.input), result(**self.given))


def text(*parts: str) -> list[Json]:
    return [{"type": "text", "text": part} for part in parts]


FILE = f"{CWD}/a.py"
PATCH = [{"oldStart": 4, "oldLines": 3, "newStart": 4, "newLines": 3, "lines": [" one", "-two", "+TWO", " three"]}]
CREATED: Json = {"type": "create", "filePath": FILE, "content": "x\n", "structuredPatch": [], "originalFile": None}
SHELL: Json = {"stdout": "out", "stderr": "", "interrupted": False, "isImage": False}
ERROR: Json = {"content": "No such file", "is_error": True}
IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
AGENT_TEXT = (
    "  <tools-used-before-summary>Read</tools-used-before-summary>\n  \n"
    "[Subagent hand-back] The text below is the final report of a subagent.\n  found it\n    indented\n"
    "agentId: a51c (use SendMessage with to: 'a51c' to go on)\n<usage>total_tokens: 102</usage>"
)

FAMILIES: dict[str, dict[str, Case]] = {
    "agents": {
        "agent": Case("Agent", {"description": "Sub work", "prompt": "do it"}, {"content": AGENT_TEXT}),
        "agent structured": Case(
            "Task",
            {"description": "Sub work", "prompt": "do it", "effort": "high", "subagent_type": "general-purpose"},
            {
                "content": AGENT_TEXT,
                "structured": {
                    "status": "completed",
                    "content": text("<tools-used-before-summary>Read</tools-used-before-summary>\n", "found it"),
                },
            },
        ),
        "agent fork": Case("Agent", {"effort": "low", "subagent_type": "fork"}),
        "agent turn limit": Case(
            "Agent",
            {"description": "Sub work"},
            {"content": "NOTE: this agent stopped at its 5-turn limit before finishing.\n\nhalf of it"},
        ),
        "agent failed": Case("Agent", {"description": "Sub work"}, ERROR),
        "skill": Case("Skill", {"skill": "pdf"}, {"content": "Launching skill: pdf"}),
        "skill unnamed": Case("Skill", {}),
        "send message": Case("SendMessage", {"to": "a51c", "message": "go on"}),
        "list agents": Case("ListAgents", {}, {"content": "none"}),
    },
    "commands": {
        "bash": Case(
            "Bash",
            {"command": "ls -la", "description": "List files", "command_description": "not this"},
            {"content": "out", "structured": SHELL},
        ),
        "bash other description": Case("Bash", {"command": "ls", "command_description": "List"}, {"content": ""}),
        "bash stderr": Case(
            "Bash", {"command": "make"}, {"content": "out\nerr", "structured": {**SHELL, "stderr": "err"}}
        ),
        "bash silent": Case(
            "Bash",
            {"command": "true", "description": "Nothing"},
            {"content": "", "structured": {**SHELL, "stdout": ""}},
        ),
        "bash failed": Case("Bash", {"command": "false"}, {"content": "Exit code 3\nboom", "is_error": True}),
        "bash rejected": Case(
            "Bash",
            {"command": "rm x"},
            {
                "content": "User refused permission to run tool",
                "is_error": True,
                "non_execution": "user-rejected",
                "user_feedback": "not now",
            },
        ),
        "bash interrupted": Case(
            "Bash", {"command": "x"}, {"content": "out", "structured": {**SHELL, "interrupted": True}}
        ),
        "bash truncated": Case(
            "Bash",
            {"command": "x"},
            {
                "content": "out",
                "structured": {**SHELL, "persistedOutputPath": "/tmp/o", "persistedOutputSize": 99999},
            },
        ),
        "bash return code explained": Case(
            "Bash",
            {"command": "grep x y"},
            {"content": "", "structured": {**SHELL, "stdout": "", "returnCodeInterpretation": "No matches found"}},
        ),
        "bash background": Case(
            "Bash",
            {"command": "sleep 9", "run_in_background": True},
            {
                "content": "Command running in background with ID: b1.",
                "structured": {**SHELL, "stdout": "", "backgroundTaskId": "b1"},
            },
        ),
        "bash image": Case("Bash", {"command": "shot"}, {"content": [IMAGE], "structured": {**SHELL, "isImage": True}}),
        "bash blocks": Case("Bash", {"command": "x"}, {"content": text("one", "two")}),
        "bash backticks": Case("Bash", {"command": "x"}, {"content": "a ```` b\n```\n"}),
        "powershell": Case("PowerShell", {"command": "Get-ChildItem"}, {"content": "out"}),
        "bash without input": Case("Bash", {}),
        "bash output": Case("BashOutput", {"bash_id": "b1"}, {"content": "more"}),
        "task output": Case("TaskOutput", {"task_id": "b1"}, {"content": "more"}),
        "kill shell": Case("KillShell", {"shell_id": "b1"}, {"content": "killed"}),
        "task stop": Case("TaskStop", {"task_id": "b1"}, {"content": "stopped"}),
        "monitor": Case("Monitor", {"command": "tail -f log", "description": "Watch the log"}, {"content": "started"}),
        "code execution": Case(
            "code_execution",
            {"code": "print(1)"},
            {"content": {"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}},
        ),
        "bash code execution": Case(
            "bash_code_execution",
            {"command": "false"},
            {"content": {"type": "bash_code_execution_result", "stdout": "", "stderr": "no", "return_code": 1}},
        ),
        "code execution error": Case(
            "code_execution",
            {"code": "x"},
            {"content": {"type": "code_execution_tool_result_error", "error_code": "unavailable"}},
        ),
        "editor view": Case(
            "text_editor_code_execution",
            {"command": "view", "path": "a.txt"},
            {"content": {"type": "text_editor_code_execution_view_result", "content": "x", "file_type": "text"}},
        ),
        "editor create": Case(
            "text_editor_code_execution",
            {"command": "create", "path": "a.txt"},
            {"content": {"type": "text_editor_code_execution_create_result", "is_file_update": False}},
        ),
        "editor replace": Case(
            "text_editor_code_execution",
            {"command": "str_replace", "path": "a.txt"},
            {"content": {"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b"]}},
        ),
    },
    "files": {
        "read": Case(
            "Read",
            {"file_path": FILE},
            {
                "content": "1\tone\n2\ttwo\n3\t",
                "structured": {
                    "type": "text",
                    "file": {"filePath": FILE, "content": "one\ntwo\n", "numLines": 3, "startLine": 1, "totalLines": 3},
                },
            },
        ),
        "read range": Case(
            "Read",
            {"file_path": FILE, "offset": 3, "limit": 2},
            {
                "content": "raw",
                "structured": {
                    "type": "text",
                    "file": {"content": "c\nd\n", "totalLines": 900, "truncatedByTokenCap": True},
                },
            },
        ),
        "read from a line": Case("Read", {"file_path": "/elsewhere/a.py", "offset": 7}, {"content": "7\tx"}),
        "read image": Case("Read", {"file_path": f"{CWD}/a.png"}, {"content": [IMAGE]}),
        "read without path": Case("Read", {}, ERROR),
        "write new": Case(
            "Write", {"file_path": FILE, "content": "x\n"}, {"content": "File created", "structured": CREATED}
        ),
        "write over": Case(
            "Write",
            {"file_path": FILE, "content": "one\nTWO\nthree\n"},
            {
                "content": "updated",
                "structured": {
                    **CREATED,
                    "type": "update",
                    "structuredPatch": PATCH,
                    "originalFile": "one\ntwo\nthree",
                },
            },
        ),
        "write over without a patch": Case(
            "Write",
            {"file_path": FILE, "content": "new"},
            {
                "content": "updated",
                "structured": {**CREATED, "type": "update", "content": "new", "originalFile": "old"},
            },
        ),
        "write over something too large": Case(
            "Write",
            {"file_path": FILE, "content": "new"},
            {"content": "updated", "structured": {**CREATED, "type": "update", "originalFile": None}},
        ),
        "write the same": Case(
            "Write",
            {"file_path": FILE, "content": "same"},
            {
                "content": "updated",
                "structured": {**CREATED, "type": "update", "content": "same", "originalFile": "same"},
            },
        ),
        "write by other names": Case("Write", {"path": FILE, "file_text": "x"}),
        "write without path": Case("Write", {"content": "only text"}),
        "write failed": Case("Write", {"file_path": FILE, "content": "x"}, ERROR),
        "edit": Case(
            "Edit",
            {"file_path": FILE, "old_string": "two", "new_string": "TWO"},
            {"content": "updated", "structured": {"filePath": FILE, "structuredPatch": PATCH, "originalFile": "two"}},
        ),
        "edit without object": Case("Edit", {"file_path": FILE, "old_string": "two", "new_string": ""}),
        "edit failed": Case("Edit", {"file_path": FILE, "old_string": "two", "new_string": "TWO"}, ERROR),
        "edit without input": Case("Edit", {}),
        "multi edit": Case(
            "MultiEdit",
            {
                "file_path": FILE,
                "edits": [
                    {"old_string": "a", "new_string": "b"},
                    {"old_string": "c", "new_string": "d", "replace_all": True},
                ],
            },
        ),
        "notebook edit": Case(
            "NotebookEdit",
            {"notebook_path": f"{CWD}/n.ipynb", "cell_id": "c1", "new_source": "# hi", "cell_type": "markdown"},
        ),
        "notebook insert": Case(
            "NotebookEdit", {"notebook_path": f"{CWD}/n.ipynb", "edit_mode": "insert", "new_source": "x = 1"}
        ),
        "notebook delete": Case(
            "NotebookEdit",
            {"notebook_path": f"{CWD}/n.ipynb", "cell_id": "c1", "edit_mode": "delete", "new_source": "x"},
        ),
        "ls": Case("LS", {"path": f"{CWD}/src"}, {"content": "- a.py"}),
    },
    "generic": {
        "mcp": Case("mcp__tiny__echo", {"text": "hi"}, {"content": text("echo: hi")}),
        "mcp resource": Case(
            "mcp__tiny__get",
            {},
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "x://1", "text": "body", "mimeType": "text/plain"}},
                    {"type": "resource", "resource": {"uri": "x://2", "blob": "aGk="}},
                    {"type": "resource_link", "uri": "x://3", "name": "three"},
                    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                ]
            },
        ),
        "unknown tool": Case("FutureTool", {"query": "how  so", "depth": 3}),
        "unknown tool with a file": Case("FutureTool", {"file_path": FILE}),
        "unknown tool without a clue": Case("FutureTool", {"depth": 3}),
        "nameless": Case("", {}),
        "Other": Case("Other", {"a": 1}),
        "unknown blocks": Case(
            "FutureTool",
            {},
            {
                "content": [
                    {"type": "hologram", "x": 1},
                    {"type": "resource", "resource": {}},
                    "loose",
                    {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
                ]
            },
        ),
        "documents": Case(
            "FutureTool",
            {},
            {
                "content": [
                    {
                        "type": "document",
                        "title": "A",
                        "source": {"type": "base64", "media_type": "a/b", "data": "aGk="},
                    },
                    {"type": "document", "source": {"type": "url", "url": "https://x.y/z.pdf"}},
                    {"type": "document", "source": {"type": "text", "data": "x" * 2048}},
                    {"type": "document", "source": {"type": "file", "file_id": "f"}},
                    {"type": "image", "source": {"type": "url", "url": "https://x.y/z.png"}},
                    {"type": "image", "source": {"type": "file", "file_id": "f"}},
                    {"type": "tool_reference", "tool_name": "Grep"},
                ]
            },
        ),
        "error with an image": Case("mcp__tiny__shot", {}, {"content": [*text("bad"), IMAGE], "is_error": True}),
        "advisor": Case("advisor", {}, {"content": {"type": "advisor_result", "text": "do this"}}),
        "advisor redacted": Case("advisor", {}, {"content": {"type": "advisor_redacted_result"}}),
        "advisor error": Case(
            "advisor", {}, {"content": {"type": "advisor_tool_result_error", "error_code": "overloaded"}}
        ),
        "sandbox": Case("SandboxNetworkAccess", {"host": "example.com"}),
    },
    "planning": {
        "enter": Case("EnterPlanMode", {}),
        "exit": Case("ExitPlanMode", {"plan": "1. do"}, {"content": "User has approved your plan."}),
        "exit with a file": Case(
            "ExitPlanMode", {"plan": "1. do"}, {"content": "ok", "structured": {"plan": "1. do", "filePath": "/p.md"}}
        ),
        "exit refused": Case("ExitPlanMode", {"plan": "1. do"}, {"content": "keep planning", "is_error": True}),
        "one question": Case("AskUserQuestion", {"questions": [{"question": "Which one?", "options": []}]}),
        "a question that is not all seen": Case("AskUserQuestion", {"questions": [{"question": "A\u202eB?"}]}),
        "two questions": Case("AskUserQuestion", {"questions": [{"question": "A?"}, {"question": "B?"}, "x"]}),
        "no findings": Case("ReportFindings", {"findings": []}),
        "findings": Case(
            "ReportFindings",
            {"findings": [{"file": "a.py", "line": 3, "summary": "bad"}, {"file": "b.py", "summary": "worse"}]},
        ),
        "todos": Case("TodoWrite", {"todos": [{"content": "a", "status": "pending"}, {"content": "b"}]}),
        "create task": Case("TaskCreate", {"subject": "a"}),
        "update task": Case("TaskUpdate", {"taskId": "1"}),
        "list tasks": Case("TaskList", {}),
        "get task": Case("TaskGet", {"taskId": "1"}),
    },
    "search": {
        "glob": Case("Glob", {"pattern": "**/*.py", "path": f"{CWD}/src"}, {"content": "a.py"}),
        "glob without path": Case("Glob", {"pattern": "*.py"}),
        "grep": Case(
            "Grep",
            {
                "pattern": "x y",
                "path": "src",
                "-i": True,
                "-n": True,
                "-A": 1,
                "-B": 2,
                "-C": 3,
                "output_mode": "files_with_matches",
                "head_limit": 5,
                "glob": "*.py",
                "type": "py",
                "multiline": True,
            },
            {"content": "a.py"},
        ),
        "grep count": Case("Grep", {"pattern": "x", "output_mode": "count", "-l": True}),
        "grep flags": Case("Grep", {"pattern": "x", "-l": "true", "-n": "true"}),
        "grep file": Case("Grep", {"pattern": "x", "-c": True, "file_path": "a.py"}),
        "web fetch": Case("WebFetch", {"url": "https://x.y/", "prompt": "sum up", "start_index": 100}),
        "web fetch without url": Case("WebFetch", {}),
        "web search": Case(
            "WebSearch",
            {"query": "q"},
            {
                "content": "text",
                "structured": {
                    "query": "q",
                    "results": ["said", {"tool_use_id": "x", "content": [{"title": "T", "url": "https://t"}]}],
                },
            },
        ),
        "web search plain": Case("WebSearch", {}, {"content": "found nothing"}),
        "server web search": Case(
            "web_search",
            {"query": "q"},
            {
                "content": [
                    {"type": "web_search_result", "title": "T", "url": "https://t", "encrypted_content": "SECRET"}
                ]
            },
        ),
        "server web search error": Case(
            "web_search",
            {"query": "q"},
            {"content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
        ),
        "server web fetch": Case(
            "web_fetch", {"url": "https://x.y"}, {"content": {"type": "web_fetch_result", "url": "https://x.y"}}
        ),
        "tool search": Case(
            "tool_search_tool_regex",
            {"query": "mail"},
            {
                "content": {
                    "type": "tool_search_tool_search_result",
                    "tool_references": [{"tool_name": "a"}, {"tool_name": "b"}],
                }
            },
        ),
        "tool search nothing": Case(
            "ToolSearch", {}, {"content": {"type": "tool_search_tool_search_result", "tool_references": []}}
        ),
    },
}


def main() -> None:
    for family, cases in FAMILIES.items():
        shown = {name: case.play() for name, case in cases.items()}
        text = json.dumps(shown, indent=1, ensure_ascii=False, sort_keys=True)
        (GOLDEN / f"{family}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
