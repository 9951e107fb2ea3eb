"""Finding things: Glob, Grep, the web, and the tools themselves."""

from __future__ import annotations

from collections.abc import Mapping

from .blocks import contents_of, text_in
from .paths import display_path
from .text import one_line, raw_text, text_content
from .unseen import spelled
from .views import Given, Input, ResultView, Tool, Use, UseView, at, count_of, text_of


def _glob(use: Use) -> UseView:
    path, pattern = text_of(use.input, "path"), text_of(use.input, "pattern")
    shown_path = one_line(spelled(display_path(path, use.cwd)))
    title = "Find" + (f" `{shown_path}`" if path else "") + (f" `{one_line(spelled(pattern))}`" if pattern else "")
    return UseView(kind="search", title=title, locations=at(path))


def _grep(use: Use) -> UseView:
    """Worded as the command that it stands for (reference 4.3)."""
    asked = use.input
    words = ["grep"]
    words += [flag for flag in ("-i", "-n") if asked.get(flag) is True]
    words += [f"{flag} {count_of(asked, flag)}" for flag in ("-A", "-B", "-C") if count_of(asked, flag) is not None]
    mode = text_of(asked, "output_mode")
    if mode == "files_with_matches" or (not mode and _is_set(asked, "-l")):
        words.append("-l")
    elif mode == "count" or (not mode and _is_set(asked, "-c")):
        words.append("-c")
    if count_of(asked, "head_limit") is not None:
        words.append(f"| head -{count_of(asked, 'head_limit')}")
    if text_of(asked, "glob"):
        words.append(f'--include="{one_line(spelled(text_of(asked, "glob")))}"')
    if text_of(asked, "type"):
        words.append(f"--type={one_line(spelled(text_of(asked, 'type')))}")
    if asked.get("multiline") is True:
        words.append("-P")
    if text_of(asked, "pattern"):
        words.append(f'"{one_line(spelled(text_of(asked, "pattern")))}"')
    path = text_of(asked, "path", "file_path")
    if path:
        words.append(one_line(spelled(path)))
    return UseView(kind="search", title=" ".join(words))


def _is_set(asked: Input, flag: str) -> bool:
    return asked.get(flag) in (True, "true")


def _web_fetch(use: Use) -> UseView:
    url, prompt = one_line(spelled(text_of(use.input, "url"))), text_of(use.input, "prompt")
    start = count_of(use.input, "start_index")
    title = f"Fetch {url}" + (f" (from char {start})" if start else "") if url else "Fetch"
    return UseView(kind="fetch", title=title, content=(text_content(spelled(prompt)),) if prompt else ())


def _web_search(use: Use) -> UseView:
    query = one_line(spelled(text_of(use.input, "query")))
    return UseView(kind="fetch", title=f'Search "{query}"' if query else "Web search")


def _web_search_result(use: Use, given: Given) -> ResultView:
    """The pages that were found, a line each, from the tool's own object where there is one."""
    text = text_in(given.content)
    raw = raw_text(text)
    lines = []
    results = given.object.get("results")
    for result in results if isinstance(results, list) else ():
        pages = result.get("content") if isinstance(result, dict) else None
        for page in pages if isinstance(pages, list) else ():
            if isinstance(page, dict) and (text_of(page, "title") or text_of(page, "url")):
                title, url = text_of(page, "title"), text_of(page, "url")
                lines.append(f"{title} ({url})" if title and url else title or url)
    content = (text_content("\n".join(lines)),) if lines else contents_of(given.content)
    return ResultView(status="completed", content=content, raw_output=raw)


def _tool_search(use: Use) -> UseView:
    query = one_line(spelled(text_of(use.input, "query", "pattern")))
    return UseView(kind="search", title=f'Search tools "{query}"' if query else "Search tools")


TOOLS: Mapping[str, Tool] = {
    "Glob": Tool(use=_glob),
    "Grep": Tool(use=_grep),
    "ToolSearch": Tool(use=_tool_search),
    "WebFetch": Tool(use=_web_fetch),
    "WebSearch": Tool(use=_web_search, result=_web_search_result),
    "tool_search_tool_bm25": Tool(use=_tool_search),
    "tool_search_tool_regex": Tool(use=_tool_search),
    "web_fetch": Tool(use=_web_fetch),
    "web_search": Tool(use=_web_search),
}
