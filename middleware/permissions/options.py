"""Which options a permission request has: one function a family of tools (reference 5.3 to 5.7).

Every request has an `allow_once` and a `reject_once` option: clients choose by kind (examples/clients 5). Between them
stand the lasting choices, each only where its label says all that it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from middleware import acp
from middleware.messages import PermissionAsk
from middleware.tools.text import one_line
from middleware.tools.unseen import spelled
from middleware.tools.views import text_of

from . import labels
from .effects import ALLOW, REFUSE, Effect, Modes, allow_rule, lasting
from .plan import Option, plan_options
from .suggestions import Update, is_rule_content, is_tool_name, normalized

NAME = 160
"""Characters of a name that a tool or a host is displayed with."""

SKILL = 1000
"""Characters of a skill that a rule can name."""


@attrs.frozen
class Choice:
    """An option, as the client is shown it, and what it does."""

    option: acp.PermissionOption
    effect: Effect


@attrs.frozen(kw_only=True)
class Surroundings:
    """What is known of the session beside the ask itself."""

    cwd: str = ""
    home: str = ""
    modes: Modes = attrs.field(factory=Modes)
    used: int | None = None
    may_restart: bool = False


@attrs.frozen(kw_only=True)
class _Asked:
    ask: PermissionAsk
    around: Surroundings
    changes: Sequence[Update] | None

    @property
    def persistent(self) -> bool:
        """A configured rule that asks every time would go on asking: no lasting choice can promise otherwise."""
        return self.ask.ask_rule is None and not self.ask.no_lasting

    @property
    def label(self) -> str:
        return display_name(self.ask) or one_line(spelled(self.ask.name))


def offer(ask: PermissionAsk, around: Surroundings) -> tuple[Choice, ...]:
    """The choices, in the order in which they are shown. Taken now, so that they stay what they were."""
    asked = _Asked(ask=ask, around=around, changes=None)
    if asked.persistent:
        asked = attrs.evolve(asked, changes=normalized(ask.suggestions))
    options = sorted(_family(ask.name)(asked), key=lambda option: _rank(option[2], ask.default_to_no))
    return tuple(
        Choice(acp.PermissionOption(option_id=name, name=label, kind=kind, meta=effect.meta), effect)
        for name, label, kind, effect in options
    )


def _rank(kind: acp.PermissionOptionKind, rejects_first: bool) -> int:
    if kind.startswith("reject"):
        return -1 if rejects_first else 3
    return {"allow_once": 0, "allow_always": 1}.get(kind, 2)


def display_name(ask: PermissionAsk) -> str:
    """The tool's name for people; "" where there is none that fits."""
    name = one_line(ask.display_name or "")
    return name if len(name) <= NAME else ""


def host(ask: PermissionAsk) -> str:
    """The host that a sandboxed command wants to reach; "" where it is not said."""
    name = one_line(spelled(text_of(ask.input, "host")))
    return name if len(name) <= NAME else ""


# ------------------------------------------------------------------------------------------------- families


def _once(*more: Option, yes: str = "Yes", no: str = "No") -> Iterator[Option]:
    yield "allow-once", yes, "allow_once", ALLOW
    yield from more
    yield "reject", no, "reject_once", REFUSE


def _with_updates(label: str, effect: Effect) -> Option:
    return "allow-with-updates", label, "allow_always", effect


def _suggested(asked: _Asked, label: str | None) -> Iterator[Option]:
    if label is None or not asked.changes:
        return _once()
    return _once(_with_updates(label, lasting(*asked.changes)))


def _shell(asked: _Asked) -> Iterator[Option]:
    label = labels.shell_label(asked.ask.name, asked.changes, asked.around.cwd) if asked.changes else None
    return _suggested(asked, label)


def _files(asked: _Asked, *, write: bool) -> Iterator[Option]:
    path = text_of(asked.ask.input, "file_path", "notebook_path")
    return _suggested(asked, _file_label(asked, path, write=write))


def _file_label(asked: _Asked, path: str, *, write: bool, is_directory: bool = False) -> str | None:
    access = labels.FileAccess(
        path=path, write=write, cwd=asked.around.cwd, home=asked.around.home, is_directory=is_directory
    )
    return labels.file_label(access, asked.changes) if asked.changes else None


def _search(asked: _Asked) -> Iterator[Option]:
    path = text_of(asked.ask.input, "path") or asked.around.cwd
    return _suggested(asked, _file_label(asked, path, write=False, is_directory=True))


def _read(asked: _Asked) -> Iterator[Option]:
    return _files(asked, write=False)


def _write(asked: _Asked) -> Iterator[Option]:
    return _files(asked, write=True)


def _web_fetch(asked: _Asked) -> Iterator[Option]:
    name = labels.host_of(text_of(asked.ask.input, "url")) if asked.persistent else None
    if name is None:
        return _once()
    return _once(_with_updates(labels.again(name), allow_rule("WebFetch", f"domain:{name}")))


def _skill(asked: _Asked) -> Iterator[Option]:
    skill = text_of(asked.ask.input, "skill")
    if not asked.persistent or not is_rule_content(skill) or len(skill) > SKILL or one_line(skill) != skill:
        return _once()
    more: list[Option] = [
        ("allow-skill-exact", labels.again(skill), "allow_always", allow_rule("Skill", skill)),
    ]
    first, space, _ = skill.partition(" ")
    if first and space:
        rule = f"{first}:*"
        more.append(("allow-skill-prefix", labels.commands_again(rule), "allow_always", allow_rule("Skill", rule)))
    return _once(*more)


def _enter_plan(asked: _Asked) -> Iterator[Option]:
    return _once(yes="Yes, enter plan mode", no="No, start implementing now")


def _exit_plan(asked: _Asked) -> Iterator[Option]:
    around, main = asked.around, asked.ask.agent is None
    return plan_options(
        asked.ask.input.get("plan"), around.modes, used=around.used, may_restart=around.may_restart and main
    )


def _sandbox(asked: _Asked) -> Iterator[Option]:
    name = host(asked.ask)
    expected = {
        "type": "addRules",
        "rules": [{"toolName": asked.ask.name, "ruleContent": name}],
        "behavior": "allow",
        "destination": "localSettings",
    }
    return _suggested(asked, labels.again(name) if name and list(asked.changes or ()) == [expected] else None)


def _computer_use(asked: _Asked) -> Iterator[Option]:
    return _suggested(asked, labels.again(asked.label) if _whole_tool(asked) else None)


def _mcp(asked: _Asked) -> Iterator[Option]:
    return _suggested(asked, labels.commands_again(asked.label) if _whole_tool(asked) else None)


def _whole_tool(asked: _Asked) -> bool:
    """Whether the suggestion is to allow this tool, and nothing besides."""
    return all(
        update["type"] == "addRules"
        and update["behavior"] == "allow"
        and all(rule == {"toolName": asked.ask.name} for rule in update["rules"])
        for update in asked.changes or ()
    )


def _any(asked: _Asked) -> Iterator[Option]:
    if not asked.persistent or not is_tool_name(asked.ask.name):
        return _once()
    return _once(_with_updates(labels.commands_again(asked.label), allow_rule(asked.ask.name)))


_FAMILIES: Mapping[str, Callable[[_Asked], Iterator[Option]]] = {
    "Bash": _shell,
    "Edit": _write,
    "EnterPlanMode": _enter_plan,
    "ExitPlanMode": _exit_plan,
    "Glob": _search,
    "Grep": _search,
    "MultiEdit": _write,
    "NotebookEdit": _write,
    "PowerShell": _shell,
    "Read": _read,
    "SandboxNetworkAccess": _sandbox,
    "Skill": _skill,
    "WebFetch": _web_fetch,
    "Write": _write,
}

COMPUTER_USE = "mcp__computer-use__"


def _family(name: str) -> Callable[[_Asked], Iterator[Option]]:
    if name.startswith(COMPUTER_USE):
        return _computer_use
    return _mcp if name.startswith("mcp__") else _FAMILIES.get(name, _any)
