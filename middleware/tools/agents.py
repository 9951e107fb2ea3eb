"""Subagents and skills: Agent (once called Task), Skill, SendMessage, ListAgents."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .blocks import blocks_of, contents_of, is_text, text_in
from .text import one_line, raw_text, text_content
from .unseen import spelled
from .views import Given, ResultView, Tool, Use, UseView, text_of

_AGENT_ID = re.compile(r"agentId: \S+ \(.*\)")
_HAND_BACK = re.compile(r"^\[Subagent hand-back\][^\n]*(?:\n|\Z)", re.MULTILINE)
_TOOLS_USED = re.compile(r"\A\s*<tools-used-before-summary>[^<]*</tools-used-before-summary>\s*")
_TURN_LIMIT = re.compile(r"\A\s*NOTE: this agent stopped at its \d+-turn limit before finishing\.[^\n]*\n*")
PARTIAL = "[Agent stopped at its turn limit — the output below is partial]"


def _agent(use: Use) -> UseView:
    prompt, effort = text_of(use.input, "prompt"), one_line(text_of(use.input, "effort"))
    title = one_line(text_of(use.input, "description")) or "Task"
    if effort and text_of(use.input, "subagent_type") != "fork":
        title += f" ({effort} effort)"
    return UseView(kind="think", title=title, content=(text_content(spelled(prompt)),) if prompt else ())


def _agent_result(use: Use, given: Given) -> ResultView:
    """The subagent's report, without what Claude Code wraps it in for the model (reference 4.4)."""
    text = text_in(given.content)
    raw = raw_text(text)
    own = given.object.get("content") if given.object.get("status") == "completed" else None
    if isinstance(own, list):
        content = contents_of([block for block in own if not _is_frame(block)])
    else:
        said = [{"type": "text", "text": report(text)}] if text else []
        content = contents_of(said + [block for block in blocks_of(given.content) if not is_text(block)])
    return ResultView(status="completed", content=content, raw_output=raw)


def _is_frame(block: object) -> bool:
    return isinstance(block, dict) and is_text(block) and _TOOLS_USED.sub("", block["text"]) == ""


def report(text: str) -> str:
    """What a subagent reported, out of the text that the model is given."""
    text = text.rstrip()
    if text.endswith("</usage>") and "<usage>" in text:
        text = text[: text.rindex("<usage>")].rstrip()
    before, _, last = text.rpartition("\n")
    if _AGENT_ID.fullmatch(last):
        text = before
    frame = _HAND_BACK.search(text)
    if frame is not None:
        # The frame indents every line of the report by two blanks, so nothing in it can pose as the frame.
        text = "\n".join(line.removeprefix("  ") for line in text[frame.end() :].split("\n"))
    text = _TOOLS_USED.sub("", text)
    limited = _TURN_LIMIT.match(text)
    if limited is not None:
        text = f"{PARTIAL}\n\n{text[limited.end() :]}"
    return text.strip()


def _skill(use: Use) -> UseView:
    skill = one_line(spelled(text_of(use.input, "skill")))
    return UseView(title=f"Load skill: {skill}" if skill else "Load skill")


def _skill_result(use: Use, given: Given) -> ResultView:
    """What a skill gave is for the model; that it was loaded is what the call shows."""
    text = text_in(given.content)
    return ResultView(status="completed", raw_output=raw_text(text))


def _send_message(use: Use) -> UseView:
    to, message = one_line(spelled(text_of(use.input, "to"))), text_of(use.input, "message", "content")
    return UseView(
        title=f"SendMessage: {to}" if to else "SendMessage",
        content=(text_content(spelled(message)),) if message else (),
    )


def _list_agents(use: Use) -> UseView:
    return UseView(title="ListAgents")


TOOLS: Mapping[str, Tool] = {
    "Agent": Tool(use=_agent, result=_agent_result),
    "ListAgents": Tool(use=_list_agents),
    "SendMessage": Tool(use=_send_message),
    "Skill": Tool(use=_skill, result=_skill_result),
    "Task": Tool(use=_agent, result=_agent_result),
}
