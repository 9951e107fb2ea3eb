"""Suggestions for tests: the ones that Claude Code makes, and strategies for valid and for invalid bundles."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as some

from middleware.permissions.suggestions import BEHAVIORS, DESTINATIONS, MODES
from middleware.tools.unseen import is_seen

Update = dict[str, Any]


def rules(*rules: tuple[str, str | None], destination: str = "localSettings", behavior: str = "allow") -> Update:
    """An `addRules` of (tool, content) pairs."""
    made = [
        {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content} for tool, content in rules
    ]
    return {"type": "addRules", "rules": made, "behavior": behavior, "destination": destination}


def bash(*commands: str) -> Update:
    return rules(*[("Bash", command) for command in commands])


def reads(*directories: str, destination: str = "session") -> Update:
    return rules(*[("Read", directory) for directory in directories], destination=destination)


def directories(*paths: str, destination: str = "session") -> Update:
    return {"type": "addDirectories", "directories": list(paths), "destination": destination}


ACCEPT_EDITS: Update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}

# ------------------------------------------------------------------------------------------------- strategies

TEXTS = some.text(some.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20)
TEXTS = TEXTS.filter(lambda text: bool(text.strip()) and is_seen(text))
TOOLS = some.sampled_from(["Bash", "Read", "Edit", "WebFetch", "mcp__x__y"])
CONTENTS = some.one_of(TEXTS, some.sampled_from(["npm test:*", "/repo/project/**", "//tmp/x/**", "~/y/**", "*.py"]))
RULES = some.one_of(
    some.fixed_dictionaries({"toolName": TOOLS}),
    some.fixed_dictionaries({"toolName": TOOLS, "ruleContent": CONTENTS}),
)
WHERE = some.sampled_from(DESTINATIONS)
PATHS = some.sampled_from(["/repo/project", "/repo/project/src", "/tmp/x", "/", "relative", "/home/user/.claude"])

VALID_UPDATES: some.SearchStrategy[Update] = some.one_of(
    some.fixed_dictionaries(
        {
            "type": some.sampled_from(["addRules", "removeRules"]),
            "rules": some.lists(RULES, min_size=1, max_size=3),
            "behavior": some.sampled_from(sorted(BEHAVIORS)),
            "destination": WHERE,
        }
    ),
    some.fixed_dictionaries(
        {
            "type": some.just("replaceRules"),
            "rules": some.lists(RULES, max_size=3),
            "behavior": some.sampled_from(sorted(BEHAVIORS)),
            "destination": WHERE,
        }
    ),
    some.fixed_dictionaries(
        {"type": some.just("setMode"), "mode": some.sampled_from(sorted(MODES)), "destination": WHERE}
    ),
    some.fixed_dictionaries(
        {
            "type": some.sampled_from(["addDirectories", "removeDirectories"]),
            "directories": some.lists(PATHS, min_size=1, max_size=3),
            "destination": WHERE,
        }
    ),
)
VALID = some.lists(VALID_UPDATES, min_size=1, max_size=4)


def _breakages(update: Update) -> list[Update]:
    """The same update with one thing wrong, each in its own way."""
    broken: list[Update] = [
        {**update, "type": "addMagic"},
        {**update, "destination": "everywhere"},
        {**update, "new": 1},
    ]
    broken += [{key: value for key, value in update.items() if key != lost} for lost in update]
    if "rules" in update:
        broken += [{**update, "behavior": "perhaps"}, {**update, "rules": "all"}, {**update, "rules": [{}]}]
        broken += [{**update, "rules": [{"toolName": "Bash"}] * 101}]
        for rule in (
            {"toolName": ""},
            {"toolName": "x" * 513},
            {"toolName": "Bash", "ruleContent": " "},
            {"toolName": "Bash", "ruleContent": "x" * 10_001},
            {"toolName": "Bash", "ruleContent": "rm\x1b[2K"},
            {"toolName": "Bash", "ruleContent": "echo \u202efr- mr:*"},
            {"toolName": "Ba\u200bsh"},
            {"toolName": "Bash", "ruleContent": None},
            {"toolName": "Bash", "ruleContent": "\ud800"},
            {"toolName": "Bash", "extra": 1},
        ):
            broken.append({**update, "rules": [*update["rules"], rule]})
        if update["type"] != "replaceRules":
            broken.append({**update, "rules": []})
    if "directories" in update:
        broken += [
            {**update, "directories": wrong}
            for wrong in ([], [""], ["x" * 4097], ["/x\u200b"], [3], ["/x"] * 101, "/x")
        ]
    if "mode" in update:
        broken.append({**update, "mode": "godMode"})
    return broken


INVALID = some.one_of(
    some.tuples(
        VALID, VALID_UPDATES.flatmap(lambda update: some.sampled_from(_breakages(update))), some.integers(0, 4)
    ).map(lambda made: [*made[0][: made[2]], made[1], *made[0][made[2] :]]),
    some.sampled_from([None, [], {}, "all", [None], [[]], [ACCEPT_EDITS] * 101, (ACCEPT_EDITS,)]),
)


def _turned(update: Update) -> Update:
    """The same with its members the other way round: what is applied keeps their order too."""
    return {
        key: [dict(reversed(item.items())) if isinstance(item, dict) else item for item in value]
        if isinstance(value, list)
        else value
        for key, value in reversed(update.items())
    }


def _bundle(*updates: some.SearchStrategy[Update]) -> some.SearchStrategy[list[Update]]:
    return some.lists(
        some.one_of(*updates).flatmap(lambda made: some.sampled_from([made, _turned(made)])), min_size=1, max_size=4
    )


def _rules_of(tool: str, contents: some.SearchStrategy[str | None], where: some.SearchStrategy[str]) -> Any:
    return some.builds(
        lambda listed, destination: rules(*[(tool, content) for content in listed], destination=destination),
        some.lists(contents, min_size=1, max_size=3),
        where,
    )


_SESSION = some.just("session")
_PLACES = some.sampled_from(["/tmp/x", "/tmp/y/z", "/repo/project/src", "relative"])

OFFERED: some.SearchStrategy[tuple[str, dict[str, Any], list[Update]]] = some.one_of(
    some.tuples(
        some.just("Bash"),
        some.just({"command": "npm test"}),
        _bundle(
            _rules_of("Bash", TEXTS, WHERE),
            _rules_of("Read", some.sampled_from(["//tmp/x/**", "~/y", "src/**"]), WHERE),
            some.builds(directories, _PLACES),
        ),
    ),
    some.tuples(
        some.just("Read"),
        some.just({"file_path": "/tmp/x/a"}),
        _bundle(_rules_of("Read", some.sampled_from(["//tmp/x/**", "//tmp/x/a", None]), _SESSION)),
    ),
    some.tuples(
        some.just("Write"),
        some.just({"file_path": "/repo/project/a", "content": "x"}),
        _bundle(some.just(ACCEPT_EDITS), some.just(directories("/repo/project"))).map(
            lambda made: [*made, ACCEPT_EDITS]
        ),
    ),
    some.tuples(some.sampled_from(["mcp__x__y", "mcp__computer-use__click"]), some.just({}), some.just([])).flatmap(
        lambda made: some.tuples(
            some.just(made[0]), some.just(made[1]), _bundle(_rules_of(made[0], some.none(), WHERE))
        )
    ),
    some.tuples(
        some.just("SandboxNetworkAccess"),
        some.just({"host": "example.com"}),
        some.just([rules(("SandboxNetworkAccess", "example.com"))]),
    ),
)
"""A tool, its input, and a bundle of which most can be named."""
