"""What an ask shows of a call, beside what the call's own updates say."""

from __future__ import annotations

from typing import Any

from middleware import Pipeline, StepRunner, acp
from middleware.messages import PermissionRequest, ToolCallUpdate, ToolResponse, ToolResult, ToolUse
from middleware.stages import ToolCalls


def test_what_an_ask_showed_is_told_again_with_the_result() -> None:
    """A client that shows the request apart from the call gets the file's old text with the result, too.

    Found by breaking: the patch of a Write was the same as what the ask had shown, was not sent, and the call stayed a
    creation for good.
    """
    old_and_new = acp.Diff(path="/w/a", old_text="old", new_text="new")
    asked = PermissionRequest(
        session="s",
        ask="a",
        tool_use="t",
        name="Write",
        input={"file_path": "/w/a", "content": "new\n"},
        call=acp.ToolCallUpdate(tool_call_id="t", content=[old_and_new]),
        options=(),
    )
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-old", "+new"]}]
    response: dict[str, Any] = {"type": "update", "filePath": "/w/a", "content": "new\n", "structuredPatch": patch}
    response["originalFile"] = "old\n"
    runner = StepRunner(Pipeline([ToolCalls()]))
    runner.feed(ToolUse(session="s", tool_use="t", name="Write", input={"file_path": "/w/a", "content": "new\n"})).run()
    runner.feed(asked).run()
    runner.feed(ToolResponse(session="s", tool_use="t", name="Write", response=response)).run()
    runner.feed(ToolResult(session="s", tool_use="t", content="done")).run()
    contents = [
        message.change.content
        for message in runner.client
        if isinstance(message, ToolCallUpdate) and message.change.content is not None
    ]
    assert [item.old_text for content in contents[-1:] for item in content if isinstance(item, acp.Diff)] == ["old"]
