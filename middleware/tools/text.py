"""Text that is shown in a tool call: fences that hold, paths that are short, strings that are legal."""

from __future__ import annotations

import os.path
import re

from middleware import acp

_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def fenced(text: str, language: str = "") -> str:
    """A Markdown code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def text_content(text: str) -> acp.Content:
    return acp.Content(content=acp.TextContent(text=text))


def display_path(path: str, cwd: str) -> str:
    """A path as people read it: relative inside the working directory, else as given (reference 4.3)."""
    if not cwd or not os.path.isabs(path):
        return path
    try:
        relative = os.path.relpath(path, cwd)
    except ValueError:  # another drive
        return path
    return path if relative == os.pardir or relative.startswith(os.pardir + os.sep) else relative
