"""What is set in a session: what there is to choose from, what the client is told, and never a freer mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from acpbridge.claude.tap import ControlError
from acpbridge.sessions import default_mode, models, modes, remembered
from acpbridge.sessions.choices import Choices
from acpbridge.sessions.failures import RequestRefused
from acpbridge.sessions.fingerprint import fingerprint
from middleware import acp
from middleware.messages import Message, ModelNames, Notice, SessionModes, Update
from tests.sessions.writing import SESSION, Transcript

EFFORTS = {"supportsEffort": True, "supportedEffortLevels": ["low", "high"]}
ROWS: list[dict[str, Any]] = [
    {"value": "default", "resolvedModel": "claude-opus-5-5", "displayName": "Default (recommended)"},
    {"value": "opus", "resolvedModel": "claude-opus-5-5", "displayName": "Opus", "description": "the best"},
    {"value": "sonnet", "resolvedModel": "claude-sonnet-5-5", "displayName": "Sonnet"},
    {"value": "old", "resolvedModel": "claude-old-3", "displayName": "Old"},
]
for row in ROWS[:3]:
    row.update({**EFFORTS, "supportsAutoMode": True, "supportsFastMode": row["value"] != "sonnet"})


class Claude:
    """Stands in for Claude Code's settings."""

    def __init__(self) -> None:
        self.model, self.mode = "claude-opus-5-5", "default"
        self.flags: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.asked: list[str] = []
        self.refuses: str | None = None

    async def ask(self, subtype: str, **members: Any) -> Any:
        self.asked.append(subtype)
        if subtype == self.refuses:
            raise ControlError("not here")
        match subtype:
            case "get_settings":
                applied = {
                    "model": self.model,
                    "ultracodeAvailable": True,
                    "ultracode": self.flags.get("ultracode", False),
                }
                return {"effective": {**self.settings, **self.flags}, "applied": applied}
            case "set_permission_mode":
                self.mode = members["mode"]
                return {"mode": self.mode}
            case "set_model":
                row = models.row_of(ROWS, members["model"])
                self.model = row["resolvedModel"] if row else members["model"]
                return {"model": self.model}
            case "apply_flag_settings":
                if "effortLevel" in members["settings"]:
                    self.flags.pop("ultracode", None)  # as Claude Code does
                self.flags.update({name: value for name, value in members["settings"].items() if value is not None})
                for name in [name for name, value in members["settings"].items() if value is None]:
                    self.flags.pop(name, None)
        return None


def _play(play: Callable[[Choices, Claude], Coroutine[Any, Any, Any]], **settings: Any) -> list[Message]:
    """Learn, then play; what was fed since."""
    fed: list[Message] = []

    async def run() -> None:
        claude = Claude()
        claude.settings = settings
        choices = Choices(
            session="s", ask=claude.ask, feed=lambda *messages: fed.extend(messages), booleans=False, bypass=True
        )
        await choices.learn({"models": ROWS, "current_permission_mode": claude.mode, "agents": []})
        fed.clear()
        await play(choices, claude)

    asyncio.run(run())
    return fed


def _kinds(fed: list[Message]) -> list[str]:
    return [type(each.update if isinstance(each, Update) else each).__name__ for each in fed]


def test_a_change_is_told_once() -> None:
    """A changed mode is told as mode and as option, whoever says it first: the answer or the frame."""

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.set_mode("plan")
        assert choices.observe({"type": "system", "subtype": "status", "permissionMode": "plan"}) == []

    assert _kinds(_play(play)) == ["SessionModes", "CurrentModeUpdate", "ConfigOptionUpdate"]


def test_a_change_from_outside() -> None:
    """A mode that a frame tells, and a model that a look at the settings finds, are told to the client."""

    async def play(choices: Choices, claude: Claude) -> None:
        frame = {"type": "system", "subtype": "status", "permissionMode": "acceptEdits"}
        assert _kinds(list(choices.observe(frame))) == ["SessionModes", "CurrentModeUpdate", "ConfigOptionUpdate"]
        claude.model = "claude-sonnet-5-5"
        await choices.refresh()
        assert choices.chosen.model == "sonnet"
        await choices.refresh()

    assert _kinds(_play(play)) == ["ConfigOptionUpdate"]


def test_a_change_while_the_settings_are_read() -> None:
    """A mode that Claude Code tells while it is asked for its settings stays: a stale copy was told over it.

    Found by breaking: policy took a mode away, and the client was told the mode again.
    """

    async def play(choices: Choices, claude: Claude) -> None:
        async def meanwhile(subtype: str, **members: Any) -> Any:
            list(choices.observe({"type": "system", "subtype": "status", "permissionMode": "acceptEdits"}))
            return await claude.ask(subtype, **members)

        choices.ask = meanwhile
        await choices.refresh()
        assert choices.chosen.mode == "acceptEdits"

    assert _kinds(_play(play)) == []


def test_untouched_default_stays_default() -> None:
    """A session in which no model was chosen is at "default", and not at what the default is today."""

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.refresh()
        assert choices.chosen.model == "default"
        claude.model = "claude-unheard-of-9"
        await choices.refresh()
        assert choices.chosen.model == "claude-unheard-of-9"
        option = next(option for option in choices.options if option.id == "model")
        assert isinstance(option, acp.SessionConfigSelect)
        assert option.current_value in [
            each.value for each in option.options if isinstance(each, acp.SessionConfigSelectOption)
        ]

    _play(play)


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({"disableAutoMode": "disable"}, "auto"),
        ({"permissions": {"disableAutoMode": "disable"}}, "auto"),
        ({"permissions": {"disableBypassPermissionsMode": "disable"}}, "bypassPermissions"),
    ],
)
def test_forbidden_modes(settings: dict[str, Any], gone: str) -> None:
    """A mode that settings forbid is not offered and cannot be set; Claude Code is not even asked."""

    async def play(choices: Choices, claude: Claude) -> None:
        assert gone not in choices.chosen.modes
        with pytest.raises(RequestRefused, match="not available"):
            await choices.set_mode(gone)
        assert "set_permission_mode" not in claude.asked

    _play(play, **settings)


def test_refused_by_claude_code() -> None:
    """What Claude Code refuses is -32602 in its words, and nothing is changed."""

    async def play(choices: Choices, claude: Claude) -> None:
        claude.refuses = "set_permission_mode"
        with pytest.raises(RequestRefused, match="not here") as refused:
            await choices.set_mode("auto")
        assert refused.value.failure.code == -32602
        assert choices.chosen.mode == "default"

    assert _play(play) == []


def test_model_without_auto() -> None:
    """A model that has no Auto mode takes the session to Accept edits, which is told; never to a freer mode."""

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.set_mode("auto")
        await choices.set_option("model", "old")
        assert (claude.mode, choices.chosen.mode) == ("acceptEdits", "acceptEdits")
        assert "auto" not in choices.chosen.modes
        assert [option.id for option in choices.options] == ["mode", "model", "ultracode"]

    fed = _play(play)
    assert [each.title for each in fed if isinstance(each, Notice)] == ["Auto mode unavailable"]


def test_models_of_a_provider() -> None:
    """Only the models that the provider has are offered. Where it does not have the one that answers, one of the same
    family answers, else the first. What is another choice with another provider is told."""

    async def play(choices: Choices, claude: Claude) -> None:
        choices.listed = lambda: ("claude-sonnet-5-5-20260101", "claude-old-3", "more")
        info = {"models": ROWS, "current_permission_mode": "auto"}
        await choices.learn_again(info, {"effort": "high"})
        assert [row["value"] for row in choices.chosen.rows] == ["sonnet", "old"]
        assert (choices.chosen.model, claude.model) == ("sonnet", "claude-sonnet-5-5")
        assert (choices.chosen.mode, choices.chosen.effort) == ("auto", "high")
        choices.listed = lambda: ("claude-old-3",)
        await choices.learn_again(info, {"model": "old"})
        assert (choices.chosen.model, choices.chosen.mode, claude.mode) == ("old", "default", "default")
        choices.listed = lambda: ()
        await choices.learn_again({"models": ROWS}, {})
        assert "model" not in [option.id for option in choices.options]
        choices.listed = lambda: None
        claude.model = "claude-opus-5-5"
        await choices.learn_again({"models": ROWS}, {})
        assert choices.chosen.model == "default"

    told = [each.update for each in _play(play) if isinstance(each, Update)]
    assert [type(each).__name__ for each in told].count("ConfigOptionUpdate") == 4


def test_changed_to_a_model_without_auto() -> None:
    """The same when Claude Code changed the model by itself, or by a command; it is told once a session."""

    async def play(choices: Choices, claude: Claude) -> None:
        for _ in range(2):
            await choices.set_mode("auto")
            claude.model = "claude-old-3"
            await choices.refresh()
            assert (claude.mode, choices.chosen.mode, choices.chosen.model) == ("acceptEdits", "acceptEdits", "old")
            claude.model = "claude-opus-5-5"
            await choices.refresh()

    assert [each.title for each in _play(play) if isinstance(each, Notice)] == ["Auto mode unavailable"]


@pytest.mark.parametrize(
    ("settings", "wish", "mode"),
    [
        ({"permissions": {"defaultMode": "auto"}}, None, "acceptEdits"),
        ({}, "auto", "acceptEdits"),
        ({"permissions": {"defaultMode": "auto"}}, "default", "default"),
        ({"permissions": {"defaultMode": "auto"}, "disableAutoMode": "disable"}, None, "default"),
        ({}, None, "default"),
    ],
)
def test_begun_with_a_model_without_auto(settings: dict[str, Any], wish: str | None, mode: str) -> None:
    """A session that was to begin in Auto begins in Accept edits where its model has none, and in Manual where Auto is
    forbidden or nobody asked for it. The client is told of no step."""

    async def play(choices: Choices, claude: Claude) -> None:
        claude.model = "claude-old-3"
        await choices.learn({"models": ROWS, "current_permission_mode": "default"})
        assert await choices.without_auto(wish) == (mode != "default")
        assert (claude.mode, choices.chosen.mode) == (mode, mode)

    fed = [each for each in _play(play, **settings) if not isinstance(each, SessionModes | ModelNames)]
    assert _kinds(fed) == (["Notice"] if mode != "default" else [])


def test_fast_mode_ends() -> None:
    """Fast mode that is not to be had is off, which is told with the reason, once, and stays off until it is chosen
    again. A pause is not told, nor what nobody can change; a reason stands in the description while it is off."""

    def frame(state: str, reason: str | None = None) -> dict[str, Any]:
        return {"type": "result", "fast_mode_state": state, "fast_mode_disabled_reason": reason}

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.set_option("fast", "on")
        for passing in (frame("on"), frame("cooldown"), frame("off"), frame("off", "pending"), {"type": "result"}):
            assert list(choices.observe(passing)) == []
            assert choices.chosen.fast
        told = [*choices.observe(frame("off", "extra_usage_disabled"))]
        assert _kinds(told) == ["ConfigOptionUpdate", "Notice"]
        assert isinstance(told[1], Notice)
        assert (told[1].title, told[1].description) == (
            "Fast mode turned off",
            "Requires extra usage to be enabled for this account.",
        )
        await choices.refresh()
        assert list(choices.observe(frame("off", "extra_usage_disabled"))) == []
        assert not choices.chosen.fast
        option = next(option for option in choices.options if option.id == "fast")
        assert str(option.description).endswith("requires extra usage to be enabled for this account")
        await choices.set_option("fast", "on")
        assert choices.chosen.fast

    _play(play)


def test_effort_of_the_settings() -> None:
    """The effort of the settings is shown: of the model, else of all; what the client chose comes before both."""

    async def play(choices: Choices, claude: Claude) -> None:
        assert choices.chosen.effort == "low"
        await choices.set_option("model", "sonnet")
        assert choices.chosen.effort == "high"
        await choices.set_option("model", "opus")
        await choices.set_option("effort", "high")
        assert choices.chosen.effort == "high"

    _play(play, effortLevel="high", modelSettings={"claude-opus-5-5": {"effortLevel": "low"}})


def test_effort_keeps_ultracode() -> None:
    """Another effort does not end ultracode; "default" takes the choice of an effort back."""

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.set_option("ultracode", "on")
        await choices.set_option("effort", "high")
        assert claude.flags == {"ultracode": True, "effortLevel": "high"}
        await choices.set_option("effort", "default")
        assert choices.chosen.effort is None

    _play(play)


def test_take_up_is_silent() -> None:
    """What was chosen before is set again without a word; what is not to be had any more is said, and left."""

    async def play(choices: Choices, claude: Claude) -> None:
        await choices.take_up({"model": "claude-sonnet-5-5", "mode": "bananas", "effort": "low"})
        assert (choices.chosen.model, choices.chosen.effort, choices.chosen.mode) == ("sonnet", "low", "default")

    fed = [each for each in _play(play) if not isinstance(each, SessionModes)]
    assert _kinds(fed) == ["Notice"]


@pytest.mark.parametrize(
    ("wish", "row"),
    [
        ("sonnet", "sonnet"),
        ("Sonnet", "sonnet"),
        ("claude-opus-5-5", "opus"),
        ("claude sonnet 5", "sonnet"),
        ("claude-sonnet-5-5-20260101", "sonnet"),
        ("opusplan", "opus"),
        ("best opus", "opus"),
        ("best", None),
        ("sonnet 4", None),
        ("gpt-5", None),
        ("5", None),
        ("", None),
    ],
)
def test_which_model_is_meant(wish: str, row: str | None) -> None:
    """A model is found by each of its names; what fits none is nobody's."""
    found = models.preferred(ROWS, wish)
    assert (found["value"] if found else None) == row


def test_model_names() -> None:
    """A name says its version, the default which model it is, and no two are the same."""
    twins = [*ROWS, {"value": "opus2", "displayName": "Opus", "resolvedModel": "claude-opus-5-5"}]
    named = models.names(twins)
    assert named["sonnet"] == "Sonnet 5.5"
    mine = {
        "value": "mine",
        "displayName": "Sonnet",
        "resolvedModel": "my-model",
        "description": "Sonnet 5.5 \u00b7 fast",
    }
    assert models.names([mine]) == {"mine": "Sonnet 5.5"}
    assert models.names([{**mine, "description": "Sonnets by the dozen"}]) == {"mine": "Sonnet"}
    large = {**ROWS[1], "value": "opus[1m]", "displayName": "Opus (1M context)", "resolvedModel": "claude-opus-5-5[1m]"}
    assert models.names([ROWS[1], large]) == {"opus": "Opus 5.5", "opus[1m]": "Opus (1M context)"}
    assert (named["opus"], named["opus2"]) == ("Opus (opus)", "Opus (opus2)")
    assert models.description(ROWS[0], ROWS) == "Opus"


def test_mode_to_start_in(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's wish counts, an unknown one is Manual; so is root's where settings bypass permissions."""
    monkeypatch.setattr(modes, "is_root", lambda: False)
    assert default_mode.mode_to_start_in({"permissionMode": " AcceptEdits"}, str(tmp_path)) == "acceptEdits"
    assert default_mode.mode_to_start_in({"permissionMode": "bananas"}, str(tmp_path)) == "default"
    assert default_mode.mode_to_start_in({}, str(tmp_path)) is None
    forbidden = {"allowDangerouslySkipPermissions": False}
    assert default_mode.mode_to_start_in({**forbidden, "permissionMode": "bypass"}, str(tmp_path)) == "default"
    assert default_mode.mode_to_start_in({**forbidden, "permissionMode": "plan"}, str(tmp_path)) == "plan"
    (config / "settings.json").write_text('{"permissions": {"defaultMode": "bypassPermissions"}}')
    assert default_mode.mode_to_start_in({}, str(tmp_path)) is None
    assert default_mode.mode_to_start_in(forbidden, str(tmp_path)) == "default"
    monkeypatch.setattr(modes, "is_root", lambda: True)
    assert default_mode.mode_to_start_in({}, str(tmp_path)) == "default"
    assert default_mode.mode_to_start_in({"permissionMode": "bypass"}, str(tmp_path)) == "default"
    assert not modes.may_bypass({})


def test_choices_of_a_transcript(config: Path) -> None:
    """Mode and model are those at the end of the transcript, unless we wrote down later ones."""
    t = Transcript(config)
    t.user("one", permissionMode="acceptEdits")
    t.answer("two", model="claude-opus-5-5")
    t.user("three", permissionMode="plan", timestamp="2026-02-01T00:00:00.000Z")
    t.answer("four", model="claude-sonnet-5-5", timestamp="2026-02-01T00:00:01.000Z")
    t.answer("five", model="<synthetic>")
    t.user("a subagent's", isSidechain=True, permissionMode="bypassPermissions")
    assert remembered.choices_of(SESSION, t.path) == {"mode": "plan", "model": "claude-sonnet-5-5"}
    remembered.write_choice(SESSION, "model", "opus", "2026-01-15T00:00:00.000Z")
    remembered.write_choice(SESSION, "effort", "high", "2026-01-15T00:00:00.000Z")
    found = remembered.choices_of(SESSION, t.path)
    assert (found["model"], found["effort"]) == ("claude-sonnet-5-5", "high")
    remembered.write_choice(SESSION, "model", "opus", "2026-03-01T00:00:00.000Z")
    assert remembered.choices_of(SESSION, t.path)["model"] == "opus"
    t.record("attachment", attachment={"type": "plan_mode_exit"})
    assert "mode" not in remembered.choices_of(SESSION, t.path)
    remembered.forget(SESSION)
    assert remembered.choices_of(SESSION, None) == {}


def test_fingerprint() -> None:
    """Requests that want the same Claude Code have one fingerprint: order, mode and title do not count, keys do."""

    def request(**members: Any) -> acp.ResumeSessionRequest:
        return acp.ResumeSessionRequest(session_id="s", cwd="/w", **members)

    def options(**given: Any) -> dict[str, Any]:
        return {"meta": {"claudeCode": {"options": given}}}

    def server(name: str, key: str = "k") -> acp.McpServerStdio:
        return acp.McpServerStdio(name=name, command="x", args=[], env=[acp.EnvVariable(name="KEY", value=key)])

    plain = fingerprint(request())
    assert fingerprint(request(**options(permissionMode="plan", title="x", sessionId="y"))) == plain
    two = fingerprint(request(mcp_servers=[server("a"), server("b")]))
    assert fingerprint(request(mcp_servers=[server("b"), server("a")])) == two
    others = [
        fingerprint(request(mcp_servers=[server("a"), server("b", key="other")])),
        fingerprint(request(**options(model="opus"))),
        fingerprint(request(meta={"systemPrompt": "be brief"})),
        fingerprint(request(additional_directories=["/x"])),
    ]
    assert len({plain, two, *others}) == 6
    assert fingerprint(request(**options(skills=["b", "a"]))) == fingerprint(request(**options(skills=["a", "b", "a"])))
