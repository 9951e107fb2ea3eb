"""Claude's plans: todo lists become `plan` updates instead of tool calls, an approved plan becomes a `plan_update`.

Owns the task list of each session, and which tool uses belong to it. Stands on the agent's side of `ToolCalls`, which
without this stage shows these tools as ordinary calls. What the tools say is in `middleware.tools.todos`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from middleware import acp
from middleware.messages import (
    Message,
    Prompt,
    SessionClosed,
    SessionRestarted,
    TodoChanged,
    ToolResult,
    ToolUse,
    Update,
)
from middleware.stage import Context, Outcome, on
from middleware.tools import Given
from middleware.tools.text import shown
from middleware.tools.todos import TODO_TOOLS, TodoList, approved_plan, todo_entries

from .client_aware import ClientAware
from .open_calls import remember


@attrs.define
class _Session:
    todos: TodoList = attrs.field(factory=TodoList)
    uses: dict[str, ToolUse] = attrs.field(factory=dict)  # without a result
    told: list[acp.PlanEntry] | None = None  # the last plan that was sent, since the last prompt
    shows: bool = False  # the client has a plan with something in it


@attrs.define(eq=False)
class Plans(ClientAware):
    """Uses and results of TodoWrite and Task* in, plans out (reference 4.11).

    Their results pass on: a use that a permission was asked for is a tool call that must be ended.
    """

    _sessions: dict[str, _Session] = attrs.field(factory=dict, init=False)

    @on(ToolUse)
    def _tool_use(self, message: ToolUse, context: Context) -> Iterator[Message]:
        session = self._session(message.session)
        if message.name in TODO_TOOLS:
            remember(session.uses, message.tool_use, message)
            # A subagent's own todo list is no plan of the session: it would take the place of the session's.
            if message.whole and message.name == "TodoWrite" and message.parent is None:
                yield from self._publish(message.session, todo_entries(message.input))
            return
        if message.name == "ExitPlanMode" and message.parent is None:
            remember(session.uses, message.tool_use, message)
        yield message

    @on(ToolResult)
    def _result(self, message: ToolResult, context: Context) -> Iterator[Message]:
        yield message
        session = self._session(message.session)
        use = session.uses.pop(message.tool_use, None)
        if use is None:
            return
        given = Given(content=message.content, is_error=message.is_error, structured=message.structured)
        if use.name == "ExitPlanMode":
            yield from self._approved(use, approved_plan(use.input, given))
        elif session.todos.apply(use.name, use.input, given):
            yield from self._publish(message.session, session.todos.entries)

    @on(TodoChanged)
    def _changed(self, message: TodoChanged, context: Context) -> Iterator[Message]:
        todos = self._session(message.session).todos
        if message.done:
            todos.completed(message.todo, message.subject)
        else:
            todos.created(message.todo, message.subject, message.description or "")
        yield from self._publish(message.session, todos.entries)

    @on(Prompt)
    def _prompt(self, message: Prompt, context: Context) -> Iterator[Message]:
        """What is unfinished is shown again with each prompt: clients show a plan with its turn (02, P11)."""
        session = self._session(message.session)
        if not self._profile.air:
            session.told = None
        if session.todos.is_unfinished:
            yield from self._publish(message.session, session.todos.entries)
        yield message

    @on(SessionRestarted)
    def _restarted(self, message: SessionRestarted, context: Context) -> Iterator[Message]:
        """A fresh Claude Code has no list."""
        session = self._sessions.pop(message.session, None)
        yield message
        if session is not None and session.shows:
            yield from self._publish(message.session, [])

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        self._sessions.pop(message.session, None)
        return message

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _publish(self, name: str, entries: list[acp.PlanEntry] | None) -> Iterator[Message]:
        """Send the plan, unless the client was told the very same since the last prompt (AIR: ever)."""
        session = self._session(name)
        if entries is None or entries == session.told:
            return
        session.told, session.shows = entries, bool(entries)
        yield Update(session=name, update=acp.Plan(entries=entries))

    def _approved(self, use: ToolUse, plan: str) -> Iterator[Message]:
        if plan.strip() and self._profile.has("plan"):
            name = f"plan-mode:{use.tool_use}" if self._profile.air else "plan-mode"
            content = acp.PlanMarkdown(plan_id=name, content=shown(plan))
            yield Update(session=use.session, update=acp.PlanUpdate(plan=content))
