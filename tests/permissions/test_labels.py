"""Every label of the reference (05.4 to 05.7), and what is not offered since it cannot be named truly."""

from __future__ import annotations

from typing import Any

import pytest

from middleware.messages import PermissionAsk
from middleware.permissions.effects import Modes
from middleware.permissions.labels import host_of, short_paths
from middleware.permissions.options import Surroundings, offer
from tests.permissions.bundles import ACCEPT_EDITS, Update, bash, directories, reads, rules
from tests.tools.play import CWD, HOME

Options = list[tuple[str, str, str]]


def options(name: str, input: dict[str, Any] | None = None, *suggestions: Update, **members: Any) -> Options:
    """Id, kind and label of each option."""
    around = Surroundings(cwd=CWD, home=HOME)
    ask = PermissionAsk(
        session="s",
        ask="a",
        tool_use="t",
        name=name,
        input=input or {},
        suggestions=list(suggestions) or None,
        **members,
    )
    return [(choice.option.option_id, choice.option.kind, choice.option.name) for choice in offer(ask, around)]


def lasting(name: str, input: dict[str, Any] | None = None, *suggestions: Update, **members: Any) -> list[str]:
    return [label for _, kind, label in options(name, input, *suggestions, **members) if kind == "allow_always"]


# ------------------------------------------------------------------------------------------------- commands (05.5)

LONG = "a-command-with-a-rather-long-name"


@pytest.mark.parametrize(
    ("suggestions", "expected"),
    [
        ([bash("npm test:*")], "Yes, and don't ask again for npm test commands"),
        ([bash("npm test:*", "ls:*")], "Yes, and don't ask again for npm test and ls commands"),
        ([bash("a:*", "b:*", "c")], "Yes, and don't ask again for a, b, and c commands"),
        ([bash("a:*"), bash("a")], "Yes, and don't ask again for a commands"),
        ([bash(LONG, LONG + "2")], "Yes, and don't ask again for similar commands"),
        ([reads("//tmp/data/**")], "Yes, allow reading from data/ from this project"),
        ([reads("//tmp/a/**", "//tmp/b/**")], "Yes, allow reading from a/ and b/ from this project"),
        ([reads("//a/x/**", "//b/x/**")], "Yes, allow reading from a/x/ and b/x/ from this project"),
        (
            [reads("//t/a/**", "//t/b/**", "//t/c/**", "//t/d/**")],
            "Yes, allow reading from a/, b/ and 2 more from this project",
        ),
        ([directories("/tmp/out")], "Yes, and always allow access to out/ from this project"),
        ([directories("/tmp/out", "/tmp/out/")], "Yes, and always allow access to out/ from this project"),
        (
            [reads("//tmp/in/**"), directories("/tmp/out")],
            "Yes, and always allow access to out/ and in/ from this project",
        ),
        ([bash("ls:*"), directories("/tmp/out")], "Yes, and allow access to out/ and ls commands"),
        ([bash("ls:*"), reads("//tmp/in/**")], "Yes, and allow access to in/ and ls commands"),
        ([bash("ls:*", "cp:*"), directories("/tmp/out")], "Yes, and allow out/ access and ls and cp commands"),
        (
            [bash("ls:*"), directories("/tmp/a", "/tmp/b")],
            "Yes, and allow a/ and b/ access and ls commands",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_shell_labels(suggestions: list[Update], expected: str) -> None:
    """A bundle for a command is named with all that is in it."""
    assert lasting("Bash", {"command": "x"}, *suggestions) == [expected]


@pytest.mark.parametrize(
    "suggestions",
    [
        [bash("touch x *"), directories(CWD), ACCEPT_EDITS],
        [ACCEPT_EDITS],
        [rules(("Bash", "rm:*"), behavior="deny")],
        [rules(("Bash", None))],
        [rules(("Edit", "/x/**"))],
        [rules(("PowerShell", "ls"))],
        [directories("/tmp/out", destination="localSettings")],
        [
            {
                "type": "removeRules",
                "rules": [{"toolName": "Bash", "ruleContent": "x"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
        [rules(("Bash", ":*"))],
    ],
    ids=[
        "a mode besides",
        "a mode",
        "a denial",
        "all commands",
        "edits",
        "another shell",
        "directories for longer",
        "a removal",
        "no command",
    ],
)
def test_shell_bundles_without_a_label(suggestions: list[Update]) -> None:
    """What cannot be said in full is not offered (05.5)."""
    assert lasting("Bash", {"command": "x"}, *suggestions) == []


def test_other_shell() -> None:
    """PowerShell's rules are PowerShell's."""
    assert lasting("PowerShell", {"command": "x"}, rules(("PowerShell", "ls:*"))) == [
        "Yes, and don't ask again for ls commands"
    ]


# ------------------------------------------------------------------------------------------------- files (05.6)

INSIDE, OUTSIDE = f"{CWD}/src/a.py", "/tmp/data/a.txt"
SETTINGS = f"{CWD}/.claude/settings.json"
SESSION_EDIT = rules(("Edit", "/.claude/**"), destination="session")
DURING = "Yes, during this session"
ALL_EDITS = "Yes, allow all edits during this session"
OWN = "Yes, and allow Claude to edit its own settings for this session"


@pytest.mark.parametrize(
    ("tool", "input", "suggestions", "expected"),
    [
        ("Write", {"file_path": INSIDE}, [ACCEPT_EDITS], ALL_EDITS),
        ("Edit", {"file_path": INSIDE}, [ACCEPT_EDITS], ALL_EDITS),
        ("MultiEdit", {"file_path": INSIDE}, [ACCEPT_EDITS], ALL_EDITS),
        ("NotebookEdit", {"notebook_path": f"{CWD}/n.ipynb"}, [ACCEPT_EDITS], ALL_EDITS),
        ("Write", {}, [ACCEPT_EDITS], ALL_EDITS),
        ("Write", {"file_path": "relative.py"}, [ACCEPT_EDITS], ALL_EDITS),
        ("Write", {"file_path": OUTSIDE}, [ACCEPT_EDITS], "Yes, allow all edits in data/ during this session"),
        (
            "Write",
            {"file_path": OUTSIDE},
            [ACCEPT_EDITS, directories("/tmp/data")],
            "Yes, allow all edits in data/ during this session",
        ),
        (
            "Write",
            {"file_path": "/tmp/data/deep/a.txt"},
            [directories("/tmp/data"), ACCEPT_EDITS],
            "Yes, allow all edits in data/ during this session",
        ),
        (
            "Write",
            {"file_path": OUTSIDE},
            [rules(("Edit", "//tmp/data/**"), destination="session")],
            "Yes, allow all edits in data/ during this session",
        ),
        ("Edit", {"file_path": INSIDE}, [rules(("Edit", None), destination="session")], ALL_EDITS),
        ("Edit", {"file_path": SETTINGS}, [SESSION_EDIT], OWN),
        (
            "Edit",
            {"file_path": f"{HOME}/.claude/settings.json"},
            [rules(("Edit", "~/.claude/**"), destination="session")],
            OWN,
        ),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/data/**")], "Yes, allow reading from data/ during this session"),
        (
            "Read",
            {"file_path": OUTSIDE},
            [reads("//tmp/data/**", "//private/tmp/data/**")],
            "Yes, allow reading from data/ during this session",
        ),
        (
            "Read",
            {"file_path": OUTSIDE},
            [reads("//tmp/data/**", "//home/else/**")],
            "Yes, allow reading from data/ and else/ during this session",
        ),
        ("Read", {"file_path": INSIDE}, [reads("/src/**")], DURING),
        ("Read", {"file_path": INSIDE}, [reads("src/a.py")], DURING),
        ("Read", {"file_path": OUTSIDE}, [rules(("Read", None), destination="session")], DURING),
        ("Read", {"file_path": OUTSIDE}, [rules(("Read", None), ("Read", "//etc/**"), destination="session")], DURING),
        (
            "Read",
            {"file_path": f"{HOME}/notes/a"},
            [reads("~/notes/**")],
            "Yes, allow reading from notes/ during this session",
        ),
        ("Read", {}, [rules(("Read", None), destination="session")], DURING),
        ("Glob", {"pattern": "*"}, [reads("/**")], DURING),
        (
            "Grep",
            {"pattern": "x", "path": "/tmp/data"},
            [reads("//tmp/data/**")],
            "Yes, allow reading from data/ during this session",
        ),
        ("Glob", {"pattern": "*", "path": f"{CWD}/src"}, [reads("/src/**")], DURING),
    ],
)
def test_file_labels(tool: str, input: dict[str, Any], suggestions: list[Update], expected: str) -> None:
    """A grant for the session is named by where it is: everywhere in the project, or in which directory."""
    assert lasting(tool, input, *suggestions) == [expected]


@pytest.mark.parametrize(
    ("tool", "input", "suggestions"),
    [
        ("Write", {"file_path": INSIDE}, [{**ACCEPT_EDITS, "destination": "localSettings"}]),
        ("Write", {"file_path": INSIDE}, [{**ACCEPT_EDITS, "mode": "bypassPermissions"}]),
        ("Write", {"file_path": SETTINGS}, [ACCEPT_EDITS]),
        ("Edit", {"file_path": SETTINGS}, [SESSION_EDIT, ACCEPT_EDITS]),
        (
            "Edit",
            {"file_path": SETTINGS},
            [rules(("Edit", "/.claude/**"), ("Edit", "//etc/**"), destination="session")],
        ),
        ("Edit", {"file_path": SETTINGS}, [rules(("Edit", None), destination="session")]),
        ("Read", {"file_path": INSIDE}, [ACCEPT_EDITS]),
        ("Read", {"file_path": INSIDE}, [directories("/tmp/data")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/other/**")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/dat/**")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//**")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/*/data/**")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/data/**", destination="localSettings")]),
        ("Read", {"file_path": OUTSIDE}, [reads("//tmp/data/**"), rules(("Bash", "ls"), destination="session")]),
        ("Read", {"file_path": INSIDE}, [reads("/src/**", "//etc/**")]),
        ("Read", {"file_path": INSIDE}, [reads("//**")]),
        ("Write", {}, [ACCEPT_EDITS, directories("/etc")]),
        ("Read", {}, [reads("//tmp/data/**")]),
        ("Read", {"file_path": OUTSIDE}, [rules(("Read", "//tmp/data/**"), destination="session", behavior="deny")]),
        ("Write", {"file_path": INSIDE}, [ACCEPT_EDITS, directories("/etc")]),
    ],
    ids=[
        "kept for longer",
        "another mode",
        "settings by a mode",
        "settings and a mode",
        "settings and more",
        "settings by a broad rule",
        "a read that changes the mode",
        "a read that adds directories",
        "another directory",
        "a directory with a like name",
        "the whole disk",
        "a pattern",
        "kept for longer, reading",
        "another tool besides",
        "more than the project",
        "the whole disk, in the project",
        "a directory besides, no path",
        "no path",
        "a denial",
        "a directory besides",
    ],
)
def test_file_bundles_without_a_label(tool: str, input: dict[str, Any], suggestions: list[Update]) -> None:
    """What does not cover the file, or grants more than the label would say, is not offered (05.6)."""
    assert lasting(tool, input, *suggestions) == []


# ------------------------------------------------------------------------------------------------- other families


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.com/x?y", "example.com"),
        ("http://example.com:8080/", "example.com"),
        ("https://good.com@evil.com/", "evil.com"),
        ("https://bücher.de/", "xn--bcher-kva.de"),
        ("https://[::1]/", "[::1]"),
        (r"https://evil.com\@good.com/", None),
        ("https://evil.com /x", None),
        ("https://", None),
        ("https://a:b:c/", None),
        ("ftp://example.com/", None),
        ("example.com", None),
        ("", None),
        ("https://exa\x00mple.com", None),
    ],
)
def test_hosts(url: str, host: str | None) -> None:
    """A host is offered only where nobody could read the URL as another one."""
    assert host_of(url) == host
    expected = [f"Yes, and don't ask again for {host}"] if host else []
    assert lasting("WebFetch", {"url": url}) == expected


def test_skills() -> None:
    """A skill can be allowed as it is called, and by its first word where it has more."""
    assert options("Skill", {"skill": "pdf"})[1:2] == [
        ("allow-skill-exact", "allow_always", "Yes, and don't ask again for pdf")
    ]
    assert [label for _, _, label in options("Skill", {"skill": "pdf to text"})] == [
        "Yes",
        "Yes, and don't ask again for pdf to text",
        "Yes, and don't ask again for pdf:* commands",
        "No",
    ]
    for skill in ("", " pdf", "x" * 1001, "a\x07b", "a\nb", "a\u202eb"):
        assert lasting("Skill", {"skill": skill}) == []


def test_enter_plan_mode() -> None:
    """Plan mode is entered, or the work goes on."""
    assert options("EnterPlanMode") == [
        ("allow-once", "allow_once", "Yes, enter plan mode"),
        ("reject", "reject_once", "No, start implementing now"),
    ]


def test_sandbox() -> None:
    """A host is allowed for good only by exactly the rule for it."""
    rule = rules(("SandboxNetworkAccess", "example.com"))
    input = {"host": "example.com"}
    assert lasting("SandboxNetworkAccess", input, rule) == ["Yes, and don't ask again for example.com"]
    for other in (
        [{**rule, "destination": "userSettings"}],
        [rules(("SandboxNetworkAccess", "*.com"))],
        [rule, rule],
        [rule, ACCEPT_EDITS],
    ):
        assert lasting("SandboxNetworkAccess", input, *other) == []


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("mcp__tiny__echo", "Yes, and don't ask again for Echo (tiny) commands"),
        ("mcp__computer-use__click", "Yes, and don't ask again for Echo (tiny)"),
    ],
)
def test_mcp(tool: str, expected: str) -> None:
    """An MCP tool is allowed for good only by rules for the whole of it, and is called by its name for people."""
    assert lasting(tool, {}, rules((tool, None)), display_name=" Echo\n(tiny) ") == [expected]
    assert lasting(tool, {}, rules((tool, None)), display_name="x" * 161) == [expected.replace("Echo (tiny)", tool)]
    for other in ([rules((tool, "x"))], [rules(("Bash", None))], [rules((tool, None)), ACCEPT_EDITS], []):
        assert lasting(tool, {}, *other) == []


@pytest.mark.parametrize("tool", ["WebSearch", "Agent", "Task", "Monitor", "ReviewArtifact", "FutureTool"])
def test_any_tool(tool: str) -> None:
    """Any other tool can be allowed as a whole, whatever is suggested."""
    assert options(tool, {}, bash("ls:*")) == [
        ("allow-once", "allow_once", "Yes"),
        ("allow-with-updates", "allow_always", f"Yes, and don't ask again for {tool} commands"),
        ("reject", "reject_once", "No"),
    ]


@pytest.mark.parametrize(
    ("tool", "input", "suggestions"),
    [
        ("Bash", {}, [bash("ls:*")]),
        ("Write", {"file_path": INSIDE}, [ACCEPT_EDITS]),
        ("WebFetch", {"url": "https://example.com"}, []),
        ("Skill", {"skill": "pdf now"}, []),
        ("FutureTool", {}, []),
        ("mcp__x__y", {}, [rules(("mcp__x__y", None))]),
    ],
)
@pytest.mark.parametrize("reason", [{"ask_rule": {"source": "userSettings"}}, {"no_lasting": True}])
def test_no_lasting_choice(tool: str, input: dict[str, Any], suggestions: list[Update], reason: dict[str, Any]) -> None:
    """A rule that asks every time goes on asking, so nothing lasting is offered; nor where Claude Code forbids it."""
    assert len(options(tool, input, *suggestions)) > 2
    assert [name for name, _, _ in options(tool, input, *suggestions, **reason)] == ["allow-once", "reject"]


def test_rejects_first() -> None:
    """Where a refusal is the safe choice it stands first; the order of the rest stays."""
    assert [name for name, _, _ in options("Skill", {"skill": "a b"}, default_to_no=True)] == [
        "reject",
        "allow-once",
        "allow-skill-exact",
        "allow-skill-prefix",
    ]


# ------------------------------------------------------------------------------------------------- plans (05.7)

DEFAULT = ("exit-plan-default", "allow_once", "Yes, manually approve edits")
KEEP = ("reject", "reject_once", "No, keep planning")
AUTO = ("exit-plan-auto", "allow_always", "Yes, and use auto mode")
BYPASS = ("exit-plan-bypass", "allow_always", "Yes, and bypass permissions")
ACCEPT = ("exit-plan-accept-edits", "allow_always", "Yes, auto-accept edits")


@pytest.mark.parametrize(
    ("modes", "before", "expected"),
    [
        ((), None, [ACCEPT]),
        (("auto",), None, [AUTO]),
        (("bypassPermissions",), None, [BYPASS]),
        (("bypassPermissions", "auto"), "default", [AUTO, BYPASS]),
        (("auto", "bypassPermissions"), "bypassPermissions", [BYPASS, AUTO]),
    ],
)
def test_plan_modes(modes: tuple[str, ...], before: str | None, expected: Options) -> None:
    """Every elevated mode that there is, the one of before the plan first; accepting edits where there is none."""
    assert _plan(Surroundings(modes=Modes(available=modes, before_plan=before))) == [DEFAULT, *expected, KEEP]


@pytest.mark.parametrize(
    ("modes", "used", "option", "label"),
    [
        ((), None, "exit-plan-clear-accept-edits", "Yes, clear context and auto-accept edits"),
        (("auto",), 0, "exit-plan-clear-auto", "Yes, clear context (0% used) and use auto mode"),
        (("bypassPermissions",), 71, "exit-plan-clear-bypass", "Yes, clear context (71% used) and bypass permissions"),
    ],
)
def test_clear_context(modes: tuple[str, ...], used: int | None, option: str, label: str) -> None:
    """Where a fresh Claude Code can take over, one choice does it in the highest mode."""
    around = Surroundings(modes=Modes(available=modes), used=used, may_restart=True)
    assert _plan(around)[1] == (option, "allow_always", label)


def test_no_plan_no_clearing() -> None:
    """There is nothing to carry out without a plan, and a subagent's plan is not the session's."""
    around = Surroundings(may_restart=True)
    assert len(_plan(around)) == 4
    for plan, agent in (("  ", None), (None, None), ("1. do", "agent 1")):
        assert _plan(around, plan, agent) == [DEFAULT, ACCEPT, KEEP]


def _plan(around: Surroundings, plan: str | None = "1. do", agent: str | None = None) -> Options:
    ask = PermissionAsk(session="s", ask="a", name="ExitPlanMode", input={"plan": plan}, agent=agent)
    return [(choice.option.option_id, choice.option.kind, choice.option.name) for choice in offer(ask, around)]


# ------------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        (["/a/b/c"], ["c/"]),
        (["/a/c", "/b/c"], ["a/c/", "b/c/"]),
        (["/a/b", "/b"], ["a/b/", "b/"]),
        (["/"], ["/"]),
        ([r"C:\a\b", r"C:\x\b"], ["a\\b\\", "x\\b\\"]),
    ],
)
def test_short_paths(full: list[str], expected: list[str]) -> None:
    """A path is called by the shortest end that no other has."""
    assert short_paths(full) == expected
