"""Suggestions: valid as a whole or not at all, and a copy from the moment on in which they are offered."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as some

from middleware.messages import PermissionAsk, PermissionReply, PermissionRequest
from middleware.permissions import normalized
from middleware.stages import Permissions
from tests.permissions.bundles import INVALID, OFFERED, VALID
from tests.tools.play import HOME, SESSION, runner
from tests.tools.test_text import JSON

LASTING = {"allow-with-updates", "allow-skill-exact", "allow-skill-prefix"}

TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": "npm test"}),
    ("Read", {"file_path": "/tmp/x/a"}),
    ("Grep", {"pattern": "x"}),
    ("Write", {"file_path": "/repo/project/a", "content": "x"}),
    ("Edit", {"file_path": "/home/user/.claude/settings.json"}),
    ("SandboxNetworkAccess", {"host": "example.com"}),
    ("mcp__x__y", {}),
    ("mcp__computer-use__click", {}),
]
"""Tools whose lasting choice is what Claude Code suggests."""


@settings(deadline=None)
@given(VALID)
def test_valid_bundles_are_copied(bundle: list[dict[str, Any]]) -> None:
    """A valid bundle comes back equal, and shares nothing with the original."""
    before = copy.deepcopy(bundle)
    made = normalized(bundle)
    assert made is not None
    assert list(made) == bundle
    _spoil(bundle)
    assert list(made) == before


@settings(deadline=None)
@given(INVALID)
def test_invalid_bundles_are_nothing(bundle: Any) -> None:
    """One thing that is wrong or unknown makes nothing of the whole bundle."""
    assert normalized(bundle) is None


@settings(deadline=None)
@given(some.lists(JSON, max_size=4))
def test_anything_is_survived(bundle: Any) -> None:
    """Whatever Claude Code sends as suggestions, it is judged and never raises."""
    made = normalized(bundle)
    assert made is None or json.loads(json.dumps(made)) == bundle


def _asked(name: str, input: dict[str, Any], suggestions: Any) -> tuple[Any, PermissionRequest]:
    made = runner(Permissions(home=HOME))
    made.feed(
        PermissionAsk(session=SESSION, ask="a", tool_use="t", name=name, input=input, suggestions=suggestions)
    ).run()
    (request,) = made.client
    assert isinstance(request, PermissionRequest)
    return made, request


@settings(deadline=None)
@given(some.sampled_from(TOOLS), INVALID)
def test_no_invalid_bundle_is_offered(tool: tuple[str, dict[str, Any]], bundle: Any) -> None:
    """With an invalid bundle the request has its two choices for this once, and no lasting one."""
    _, request = _asked(*tool, bundle)
    assert [option.kind for option in request.options] == ["allow_once", "reject_once"]


@settings(deadline=None, max_examples=300)
@given(OFFERED)
def test_what_is_applied_is_what_was_offered(offered: tuple[str, dict[str, Any], list[dict[str, Any]]]) -> None:
    """A lasting choice applies the bundle as it was when it was offered, byte for byte, whatever became of it since;
    the option's own data say the same."""
    name, input, bundle = copy.deepcopy(offered)
    before = json.dumps(bundle)
    made, request = _asked(name, input, bundle)
    lasting = [option for option in request.options if option.option_id in LASTING]
    assume(lasting)
    (option,) = lasting
    assert option.kind == "allow_always"
    assert option.meta is not None
    told = option.meta["permission"]
    assert json.dumps(told["updates"]) == before
    assert told["rules"] == [rule for update in json.loads(before) for rule in update.get("rules", [])]
    _spoil(bundle)
    _spoil(told["updates"])
    input["command"] = "rm -rf /"
    made.feed(PermissionReply(session=SESSION, ask="a", option=option.option_id)).run()
    (answer,) = made.agent
    assert json.dumps(list(answer.updated_permissions)) == before
    assert answer.classification == "user_permanent"
    assert answer.updated_input == offered[1]


@settings(deadline=None, max_examples=200)
@given(some.sampled_from(TOOLS), VALID)
def test_every_request_can_be_answered(tool: tuple[str, dict[str, Any]], bundle: list[dict[str, Any]]) -> None:
    """Whatever is suggested, a request has one choice to allow this once and one to refuse, and no id twice."""
    _, request = _asked(*tool, bundle)
    kinds = [option.kind for option in request.options]
    assert kinds.count("allow_once") == kinds.count("reject_once") == 1
    assert len({option.option_id for option in request.options}) == len(request.options)


def _spoil(bundle: list[dict[str, Any]]) -> None:
    """Change everything that can be changed in place."""
    for update in bundle:
        for value in update.values():
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, dict):
                        item["toolName"] = "Everything"
                value.append("spoilt")
        update["destination"] = "userSettings"
        update["behavior"] = "allow"
    bundle.append({"type": "setMode", "mode": "bypassPermissions", "destination": "session"})
