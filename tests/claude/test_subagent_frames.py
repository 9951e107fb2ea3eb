"""What Claude Code says of a subagent beside its work: where and with what it works, in hooks and in its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acpbridge.claude import control, events
from acpbridge.claude.directories import placed
from acpbridge.sessions.config_options import Chosen, model_entries
from middleware.messages import SubagentModel, SubagentPlace, SubagentSettings

S = "s"


@pytest.mark.parametrize("hook", [control.SUBAGENT, control.GATE, control.RESPONSE, control.NEWS])
def test_where_and_with_what_a_subagent_works(hook: str) -> None:
    """Every hook that runs for a subagent says where and with what it works; the main thread's say nothing of it."""

    def said(**members: Any) -> Any:
        request = {"subtype": "hook_callback", "callback_id": hook, "input": members}
        return control.subagent_of(S, {"request": request})

    place = SubagentPlace(session=S, agent="a", cwd="/tree")
    assert said(agent_id="a", cwd="/tree") == (place, SubagentSettings(session=S, agent="a"))
    whole = said(agent_id="a", permission_mode="plan", effort={"level": "high"}, agent_type="Explore")
    assert whole == (SubagentSettings(session=S, agent="a", mode="plan", effort="high", kind="Explore"),)
    assert said(agent_id="a", effort="high") == (SubagentSettings(session=S, agent="a"),)
    assert said(cwd="/tree", permission_mode="plan") == ()
    assert control.subagent_of(S, {"request": {"subtype": "can_use_tool", "input": {"agent_id": "a"}}}) == ()


def test_the_directory_of_a_subagent(tmp_path: Path) -> None:
    """The session's own directory by another name is no other directory; what is no absolute path is none."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    said = str(tmp_path / "link")
    other = SubagentSettings(session=S, agent="a")
    places = [str(tmp_path / "real"), said, str(tmp_path / "tree"), "tree"]
    told = placed([*(SubagentPlace(session=S, agent="a", cwd=cwd) for cwd in places), other], said)
    assert [place.cwd for place in told if isinstance(place, SubagentPlace)] == [said, said, str(tmp_path / "tree")]
    assert told[-1] == other


def test_the_model_of_a_subagent() -> None:
    """Each answer of a subagent is preceded by the model that gives it; Claude Code's own words have none."""

    def said(model: str, parent: str | None = "L") -> list[Any]:
        message = {"id": "m", "model": model, "content": [{"type": "text", "text": "x"}]}
        return list(events.messages_of(S, {"type": "assistant", "message": message, "parent_tool_use_id": parent}))

    assert said("claude-haiku-5-5")[0] == SubagentModel(session=S, parent="L", model="claude-haiku-5-5")
    for silent in (said("<synthetic>"), said(""), said("claude-haiku-5-5", None)):
        assert not any(isinstance(message, SubagentModel) for message in silent)


def test_what_a_model_is_called() -> None:
    """A model that answers is called as the model option calls it: by an entry of its own before the default."""
    rows = (
        {"value": "default", "displayName": "Default", "resolvedModel": "claude-opus-5-5"},
        {"value": "opus", "displayName": "Opus", "resolvedModel": "claude-opus-5-5"},
        {"value": "haiku", "displayName": "Haiku", "resolvedModel": "claude-haiku-5-5"},
        {"value": "own-model"},
    )
    entries = model_entries(Chosen(rows=rows))
    assert {model: (entry.value, entry.name) for model, entry in entries.items()} == {
        "claude-opus-5-5": ("opus", "Opus 5.5"),
        "claude-haiku-5-5": ("haiku", "Haiku 5.5"),
        "own-model": ("own-model", "own-model"),
    }
    assert model_entries(Chosen()) == {}
