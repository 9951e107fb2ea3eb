"""A question with one choice as a permission request: for clients that have no forms (beyond the reference)."""

from __future__ import annotations

from middleware import acp
from middleware.tools.text import fenced, one_line
from middleware.tools.unseen import apart, plain

from .asked import Asked, Option

DISMISS = "dismiss"
"""The option with which the person does not answer."""


def choices_for(asked: Asked, tool_use: str) -> tuple[acp.ToolCallUpdate, tuple[acp.PermissionOption, ...]]:
    """What is asked, as the call that it is about, and one option a choice."""
    names = apart([option.label for option in asked.options])
    options = [
        acp.PermissionOption(option_id=f"choice-{index}", name=name, kind="allow_once")
        for index, name in enumerate(names)
    ]
    options.append(acp.PermissionOption(option_id=DISMISS, name="Don't answer", kind="reject_once"))
    lines = [_line(option, name) for option, name in zip(asked.options, names, strict=True)]
    text = "\n".join([plain(asked.question), "", *lines])
    call = acp.ToolCallUpdate(
        tool_call_id=tool_use,
        kind="other",  # some take a call without a kind for one that only reads (examples/clients 5)
        status="pending",
        title=one_line(asked.question),
        content=[acp.Content(content=acp.TextContent(text=text))],
        meta={"claudeCode": {"toolName": "AskUserQuestion"}},
    )
    return call, tuple(options)


def choice_of(asked: Asked, option: str | None) -> str | None:
    """The label that an option stands for; None for one that is no choice."""
    return next((one.label for index, one in enumerate(asked.options) if option == f"choice-{index}"), None)


def _line(option: Option, name: str) -> str:
    line = f"- **{name}**" + (f": {plain(option.description)}" if option.description else "")
    return line if option.preview is None else f"{line}\n\n{fenced(plain(option.preview))}"
