"""Files: Read, Write, Edit, MultiEdit, NotebookEdit and LS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware import acp

from . import diffs
from .blocks import contents_of, text_in
from .paths import display_path
from .text import fenced, legal, one_line, raw_text, text_content
from .unseen import spelled
from .views import Contents, Given, ResultView, Tool, Use, UseView, at, count_of, text_of

_CONTENT_KEYS = ("content", "file_text", "file_content")


def _named(verb: str, path: str, use: Use) -> str:
    return f"{verb} {one_line(spelled(display_path(path, use.cwd)))}"


# ------------------------------------------------------------------------------------------------- Read


def _read(use: Use) -> UseView:
    path, offset, limit = text_of(use.input, "file_path"), count_of(use.input, "offset"), count_of(use.input, "limit")
    start = 1 if offset is None else offset
    lines = ""
    if limit is not None and limit > 0:
        lines = f" ({start} - {start + limit - 1})"
    elif offset:
        lines = f" (from line {offset})"
    return UseView(
        kind="read",
        title=_named("Read", path, use) + lines if path else "Read File",
        locations=at(path, max(start, 1)),
    )


def _read_result(use: Use, given: Given) -> ResultView:
    """The lines with their numbers, from the tool's own object where there is one."""
    text = text_in(given.content)
    raw = raw_text(text)
    file = given.object.get("file")
    if given.object.get("type") == "text" and isinstance(file, dict) and text_of(file, "content"):
        return ResultView(
            status="completed",
            content=(text_content(fenced(_numbered(use, given.object, file))),),
            raw_output=raw,
        )
    return ResultView(status="completed", content=contents_of(given.content, fence=True), raw_output=raw)


def _numbered(use: Use, tool: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    first = count_of(file, "startLine")
    if first is None:
        first = count_of(use.input, "offset")
    lines = text_of(file, "content").removesuffix("\n").split("\n")
    numbered = [f"{number}\t{line}" for number, line in enumerate(lines, 1 if first is None else first)]
    if file.get("truncatedByTokenCap") is True or tool.get("truncatedByTokenCap") is True:
        total = count_of(file, "totalLines")
        numbered.append(f"[File truncated: showing {len(lines)} of {len(lines) if total is None else total} lines]")
    return "\n".join(numbered)


# ------------------------------------------------------------------------------------------------- Write


def _write(use: Use) -> UseView:
    path = text_of(use.input, "file_path", "path")
    key = next((key for key in _CONTENT_KEYS if isinstance(use.input.get(key), str)), None)
    content: Contents = ()
    if key is not None:
        text = use.input[key]
        if not path:
            content = (text_content(text),)
        else:
            content = diffs.overwriting(use.file, text) if use.file is not None else diffs.creation(path, text)
    return UseView(
        kind="edit",
        title=_named("Write", path, use) if path else "Preparing file…",
        content=content,
        locations=at(path),
        texts=(key,) if key is not None else _CONTENT_KEYS,
    )


# ------------------------------------------------------------------------------------------------- Edit, MultiEdit


def _edit(use: Use) -> UseView:
    path = text_of(use.input, "file_path")
    content, locations = _edited(use, path, [use.input]) if path else ((), ())
    return UseView(
        kind="edit",
        title=_named("Edit", path, use) if path else "Edit",
        content=content,
        locations=locations or at(path),
        texts=("old_string", "new_string"),
    )


def _multi_edit(use: Use) -> UseView:
    path, edits = text_of(use.input, "file_path"), use.input.get("edits")
    listed = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    content, locations = _edited(use, path, listed) if path else ((), ())
    return UseView(
        kind="edit",
        title=_named("Edit", path, use) if path else "Edit",
        content=content,
        locations=locations or at(path),
        texts=("edits",),
    )


def _edited(use: Use, path: str, edits: list[Any]) -> diffs.Located:
    """One edit of a known file is shown in its place; several may build on each other, and are shown one by one."""
    shown_edits: list[acp.ToolCallContent] = []
    for edit in edits:
        old, new = edit.get("old_string"), edit.get("new_string")
        old, new = old if isinstance(old, str) else "", new if isinstance(new, str) else ""
        if not old and not new:
            continue
        if use.file is not None and len(edits) == 1:
            if not old and use.file.state != "missing":
                return diffs.overwriting(use.file, new), ()
            placed = diffs.replacement_in(use.file, old, new, every=edit.get("replace_all") is True)
            if placed is not None:
                return placed
        shown_edits += diffs.replacement(path, old, new)
    return tuple(shown_edits), ()


def _changed_result(use: Use, given: Given) -> ResultView:
    """A change that was made is shown by its diff: by the real one, where the tool says what it did."""
    text = text_in(given.content)
    raw = raw_text(text)
    content, locations = changed_file(use, given.object)
    return ResultView(status="completed", content=content, locations=locations, raw_output=raw, whole=True)


def changed_file(use: Use, tool: Mapping[str, Any]) -> tuple[Contents | None, tuple[acp.ToolCallLocation, ...] | None]:
    """What a tool's own object says of the file that it changed (reference 4.6); (None, None) when it says nothing.

    It is the whole of what is to be shown: a call that nobody was asked about was announced as a creation, since its
    input does not say that the file is there, and so it is in a replay.
    """
    path = text_of(tool, "filePath") or text_of(use.input, "file_path", "path")
    if not path:
        return None, None
    placed = diffs.patched(path, tool.get("structuredPatch"))
    if placed is not None:
        return placed
    if tool.get("type") != "update":
        return None, None
    # An update without hunks: the file is as it was, or Claude Code did not compare.
    original, text = tool.get("originalFile"), tool.get("content")
    shown_name = one_line(spelled(display_path(path, use.cwd)))
    if not isinstance(original, str) or not isinstance(text, str) or len(original) + len(text) > diffs.LIMIT:
        notice = text_content(f"Updated `{shown_name}` (previous content too large to diff)")
        written = isinstance(text, str) and len(text) <= diffs.LIMIT
        return (notice, text_content(fenced(str(text)))) if written else (notice,), None
    diff = acp.Diff(path=legal(path), old_text=legal(original), new_text=legal(text))
    if original == text:
        return (diff, text_content(f"`{shown_name}` already had this content")), None
    return (diff,), None


# ------------------------------------------------------------------------------------------------- NotebookEdit, LS


def _notebook(use: Use) -> UseView:
    path, cell = text_of(use.input, "notebook_path"), one_line(text_of(use.input, "cell_id"))
    verb = {"insert": "Insert", "delete": "Delete"}.get(text_of(use.input, "edit_mode"), "Edit")
    source = text_of(use.input, "new_source")
    language = "markdown" if use.input.get("cell_type") == "markdown" else ""
    title = _named(f"{verb} cell{f' {cell}' if cell else ''} in", path, use) if path else "Edit notebook"
    return UseView(
        kind="edit",
        title=title,
        content=(text_content(fenced(source, language)),) if source and verb != "Delete" else (),
        locations=at(path),
    )


def _notebook_result(use: Use, given: Given) -> ResultView:
    text = text_in(given.content)
    return ResultView(status="completed", raw_output=raw_text(text))


def _list(use: Use) -> UseView:
    path = text_of(use.input, "path")
    return UseView(kind="search", title=_named("List", path, use) if path else "List files", locations=at(path))


TOOLS: Mapping[str, Tool] = {
    "Edit": Tool(use=_edit, result=_changed_result),
    "LS": Tool(use=_list),
    "MultiEdit": Tool(use=_multi_edit, result=_changed_result),
    "NotebookEdit": Tool(use=_notebook, result=_notebook_result),
    "Read": Tool(use=_read, result=_read_result),
    "Write": Tool(use=_write, result=_changed_result),
}
