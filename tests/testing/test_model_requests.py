"""What a request of Claude Code is, and which round is due: the shapes were read off Claude Code 2.1.332."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.testing.requests import Due, Kind, classify, conversation, session_id, working_directory
from acpbridge.testing.sides import instance_of

REMINDER = {"type": "text", "text": "<system-reminder>\nAttribution for git commits\n</system-reminder>\n"}
ENVIRONMENT = {"role": "system", "content": "# Environment\n - Primary working directory: /w/x\n - Platform: linux\n"}
ATTRIBUTION = "x-anthropic-billing-header: cc_version=2.1.332.534; cc_entrypoint=sdk-cli;"
TOOLS = [{"name": "Agent"}, {"name": "Bash"}]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(value: str = "yes") -> dict[str, Any]:
    return {"role": "assistant", "content": [text(value)]}


RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "max_tokens": 128000, "tools": TOOLS, "system": [text(ATTRIBUTION)], **more}


@pytest.mark.parametrize(
    ("request_body", "kind"),
    [
        (body(user(REMINDER, "hello"), ENVIRONMENT), "main"),
        (body(user("hello"), tools=[{"name": "Bash"}]), "main"),
        (body(user("hello"), system=[text(ATTRIBUTION + " cc_is_subagent=true;")]), "subagent"),
        (body(user("hello"), system="You are an agent for Claude Code, Anthropic's official CLI"), "subagent"),
        (body(user("hello"), system="Be good.", tools=[{"name": "Bash"}]), "subagent"),
        (body(user("hello"), system="Be good.", tools=[{"name": "Task"}]), "main"),
        (body(user("<session>\nhi\n</session>"), tools=[], output_config={"format": {"type": "json_schema"}}), "title"),
        (body(user("hi"), tools=[], output_format={"type": "json_schema"}), "title"),
        (body(user("hi"), output_config={"format": {"type": "json_schema"}}), "main"),
        (
            body(
                user("Select memories relevant to:\nhi"),
                tools=[],
                output_config={"format": {"type": "json_schema", "schema": {"properties": {"selected_memories": {}}}}},
            ),
            "recall",
        ),
        (body(user("hi"), assistant(), user("[SUGGESTION MODE: Suggest what the user might type]")), "suggestion"),
        (body(user("hi"), assistant(), user("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")), "compact"),
        (body(user("hi"), system="You are tasked with summarizing conversations.", tools=[]), "compact"),
        (body(user("quota"), max_tokens=1, tools=[]), "quota"),
        (body(user("hi"), tools=[]), "helper"),
    ],
)
def test_requests_are_told_apart(request_body: dict[str, Any], kind: Kind) -> None:
    """Each kind of request has marks of its own."""
    assert classify(request_body) == kind


@pytest.mark.parametrize(
    ("messages", "due"),
    [
        pytest.param([user(REMINDER, "hi"), ENVIRONMENT], (["hi"], 0), id="first request"),
        pytest.param([{"role": "user", "content": "hi"}], (["hi"], 0), id="content as a string"),
        pytest.param([user("hi"), ENVIRONMENT, assistant(), user(RESULT)], (["hi"], 1), id="after a tool"),
        pytest.param(
            [user("hi"), assistant(), user(RESULT), assistant(), user(RESULT)], (["hi"], 2), id="after two tools"
        ),
        pytest.param([user("hi"), assistant(), user("next")], (["next"], 0), id="next prompt"),
        pytest.param([user("a", "b", "c")], (["a", "b", "c"], 0), id="blocks of one prompt"),
        pytest.param([user("failed\n", "next")], (["next"], 0), id="joined with a prompt that failed"),
        pytest.param([user("hello\n")], (["hello\n"], 0), id="a line break at the end"),
        pytest.param(
            [user("hi"), assistant(), user("[Request interrupted by user]\n", "next")], (["next"], 0), id="interrupted"
        ),
        pytest.param(
            [user("one"), user("[Request interrupted by user]"), user("two")], (["two"], 0), id="messages not joined"
        ),
        pytest.param(
            [user("one\n", "[Request interrupted by user]\n", "two")], (["two"], 0), id="interrupted before an answer"
        ),
        pytest.param(
            [user("hi"), assistant(), user(RESULT, "[Request interrupted by user for tool use]\n", "next")],
            (["next"], 0),
            id="interrupted tool",
        ),
        pytest.param(
            [
                user("hi"),
                assistant(),
                user(
                    RESULT,
                    "The user sent a new message while you were working:\nsecond\nline\n\n"
                    "This is how Claude Code surfaces messages the user sends mid-turn.",
                ),
            ],
            (["second\nline"], 0),
            id="queued prompt folded in",
        ),
        pytest.param(
            [
                user("hi"),
                assistant(),
                user(
                    RESULT,
                    "<system-reminder>\nThe user sent a new message while you were working:\nsecond\n"
                    "</system-reminder>",
                ),
            ],
            (["second"], 0),
            id="queued prompt folded in as a reminder",
        ),
        pytest.param(
            [
                user("hi"),
                assistant(),
                user(RESULT),
                assistant(),
                user("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nA task ended.\n</system-reminder>"),
            ],
            (["hi"], 2),
            id="task notification",
        ),
        pytest.param(
            [user("hi"), assistant(), user("<system-reminder>\nOutput token limit hit. Resume\n</system-reminder>")],
            (["hi"], 1),
            id="output limit",
        ),
        pytest.param(
            [
                user("This session is being continued from a previous conversation that ran out of context. ..."),
                assistant(),
                user(
                    REMINDER,
                    "<local-command-caveat>The command below</local-command-caveat>\n",
                    "<command-name>/compact</command-name>\n",
                    "<local-command-stdout>Compacted </local-command-stdout>\n",
                    "next",
                ),
            ],
            (["next"], 0),
            id="after a compaction",
        ),
        pytest.param(
            [user("<system-reminder>\nx\n</system-reminder>\nhi")], (["hi"], 0), id="reminder in the same block"
        ),
        pytest.param([user(REMINDER)], ([], 0), id="nothing of the person"),
    ],
)
def test_the_round_is_counted_from_the_persons_last_prompt(
    messages: list[dict[str, Any]], due: tuple[list[str], int]
) -> None:
    """The prompt is the person's last, and its round the number of answers since."""
    prompts, number = due
    assert conversation(body(*messages)) == Due(prompts=tuple(prompts), round=number)


def test_the_session_is_read_from_the_metadata() -> None:
    """`metadata.user_id` is a JSON text that has the session's id."""
    assert session_id({"metadata": {"user_id": '{"device_id":"d","session_id":"s-1"}'}}) == "s-1"
    assert session_id({}) is None


def test_the_directory_is_read_from_the_environment_message() -> None:
    """The working directory stands in a system message of the conversation, or in the system prompt."""
    assert working_directory(body(user("hi"), ENVIRONMENT)) == "/w/x"
    assert working_directory({"system": "Primary working directory: C:\\w", "messages": []}) == "C:\\w"
    assert working_directory(body(user("Primary working directory: /lie"))) is None


def test_an_answer_in_a_schema_fits_it() -> None:
    """Required properties are there with values of their types, and free strings say the text."""
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "sort": {"enum": ["bug", "task"]},
            "count": {"type": "integer", "minimum": 3},
            "ok": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "more": {"type": "string"},
        },
        "required": ["title", "sort", "count", "ok", "tags", "maybe"],
    }
    assert instance_of(schema, "T") == {
        "title": "T",
        "sort": "bug",
        "count": 3,
        "ok": False,
        "tags": ["T", "T"],
        "maybe": None,
    }
