"""The table of all tools, and the questions that a stage asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware import acp
from middleware.messages import FileState

from . import agents, commands, files, planning, search
from .files import changed_file
from .generic import describe_any_result, describe_error, describe_unknown
from .text import REPEATED, characters, legal_json
from .views import Contents, Given, Input, ResultView, Tool, Use, UseView

TOOLS: Mapping[str, Tool] = {
    **agents.TOOLS,
    **commands.TOOLS,
    **files.TOOLS,
    **planning.TOOLS,
    **search.TOOLS,
}
"""All tools that are known by name."""

_OWN_ERRORS = frozenset(commands.TOOLS)
"""Tools that show their failures themselves."""

_CHANGES = frozenset({"Edit", "MultiEdit", "Write"})


def describe_use(name: str, input: Input, *, cwd: str = "", file: FileState | None = None) -> UseView:
    """A call's view from what is known of its input; an incomplete input gives a view that is true so far.

    Args:
        name: the tool.
        input: its input, or the members of it that are known.
        cwd: the session's working directory; paths inside it are shown relative to it.
        file: the file that the tool is about to change, where it was looked at.
    """
    tool = TOOLS.get(name)
    use = Use(name=name, input=input, cwd=cwd, file=file)
    return tool.use(use) if tool is not None else describe_unknown(use)


def describe_result(name: str, input: Input, given: Given, *, cwd: str = "") -> ResultView:
    """A result's view. What no rule knows is shown as JSON, never passed through raw."""
    tool = TOOLS.get(name)
    if given.is_error and (tool is None or tool.result is None or name not in _OWN_ERRORS):
        return describe_error(given)
    use = Use(name=name, input=input, cwd=cwd)
    if tool is None or tool.result is None:
        return describe_any_result(use, given)
    return tool.result(use, given)


def describe_change(
    name: str, input: Input, response: Any, *, cwd: str = ""
) -> tuple[Contents | None, tuple[acp.ToolCallLocation, ...] | None]:
    """What a tool's own object says of the file that it changed; (None, None) for a tool that changes none."""
    if name not in _CHANGES or not isinstance(response, dict):
        return None, None
    return changed_file(Use(name=name, input=input, cwd=cwd), response)


def raw_input(input: Input, view: UseView, *, repeat: bool = True, partial: bool = False) -> dict[str, Any]:
    """The input as `rawInput`, without the long texts that the view's diff shows.

    Args:
        repeat: whether short texts are repeated beside the diff, for clients that read `rawInput`.
        partial: the input still streams: what is long will come with the whole of it.
    """
    has_diff = any(isinstance(item, acp.Diff) for item in view.content)
    limit = REPEATED if repeat else 0
    kept = {
        key: value
        for key, value in input.items()
        if not (
            (has_diff and key in view.texts and characters(value, limit) > limit)
            or (partial and characters(value, REPEATED) > REPEATED)
        )
    }
    made: dict[str, Any] = legal_json(kept)
    return made


def response_meta(response: Any) -> Any:
    """A tool's own object for `_meta.claudeCode.toolResponse`: all of it while it is short, else its short members.

    What is long in it (the text of a file, a patch, an output) is what the call shows. Members that say nothing are
    left out: a hook does not have them, the stream and a transcript do.
    """
    if isinstance(response, Mapping):
        response = {key: value for key, value in response.items() if value is not None}
    if characters(response, REPEATED) <= REPEATED:
        return legal_json(response)
    if isinstance(response, Mapping):
        return legal_json({key: value for key, value in response.items() if _is_short(value)})
    return None


def _is_short(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple) and characters(value, 256) <= 256
