"""The settings that a session is given beside the files: by the environment, and by the client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acpbridge.sessions.failures import RequestRefused
from acpbridge.sessions.routing import Route
from acpbridge.sessions.session_settings import session_settings

CONFIG = {"availableModels": ["opus"], "modelOverrides": {"opus": "mine"}, "env": {"KEY": "not for it"}}


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_MODEL_CONFIG", raising=False)


def test_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's settings come over the environment's, which says of models only; a file counts from the session's
    directory."""
    assert session_settings(None, "/") is None
    (tmp_path / "mine.json").write_text('{"availableModels": ["haiku"]}', encoding="utf-8-sig")
    assert session_settings("mine.json", str(tmp_path)) == '{"availableModels": ["haiku"]}'
    monkeypatch.setenv("CLAUDE_MODEL_CONFIG", json.dumps(CONFIG))
    models = {name: CONFIG[name] for name in ("availableModels", "modelOverrides")}
    assert json.loads(session_settings(None, "/") or "") == models
    assert json.loads(session_settings(' {"model": "opus"}', "/") or "") == {**models, "model": "opus"}
    told = session_settings(str(tmp_path / "mine.json"), "/")
    assert json.loads(told or "") == {**models, "availableModels": ["haiku"]}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("nothing.json", "cannot be read: "),
        (".", "cannot be read: "),
        ("binary", "cannot be read: it is no text"),
        ("a\0b", "cannot be read: it is no text"),
        ("{ broken", "must be a JSON object"),
        ("list.json", "must be a JSON object"),
    ],
)
def test_wrong_settings(given: str, text: str, tmp_path: Path) -> None:
    """Settings that cannot be taken are -32602, and what is in them is not quoted."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\xff")
    (tmp_path / "list.json").write_text('["secret"]')
    with pytest.raises(RequestRefused, match=text) as refused:
        session_settings(given, str(tmp_path))
    assert refused.value.failure.code == -32602
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("given", ["[]", "{", '"x"'])
def test_wrong_environment(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that says nothing of the sort fails the session, in words."""
    monkeypatch.setenv("CLAUDE_MODEL_CONFIG", given)
    with pytest.raises(RequestRefused, match="CLAUDE_MODEL_CONFIG must be a JSON object"):
        session_settings(None, "/")


def test_a_way_is_put_over_them() -> None:
    """Where requests go stands in the settings too, over what they say of it themselves, with no helper for keys."""
    route = Route(api_type="anthropic", base_url="http://x", headers={"a": "b", "c": "d"})
    variables = {"ANTHROPIC_BASE_URL": "http://y", "MINE": "1"}
    given = json.dumps({"apiKeyHelper": "run me", "env": variables, "model": "opus"})
    told = json.loads(route.settings(given))
    assert (told["apiKeyHelper"], told["model"], told["env"]["MINE"]) == ("", "opus", "1")
    assert told["env"]["ANTHROPIC_BASE_URL"] == "http://x"
    assert told["env"]["ANTHROPIC_CUSTOM_HEADERS"] == "a: b\nc: d"
    assert told["env"]["CLAUDE_CODE_USE_MANTLE"] == "0"
    assert json.loads(route.settings(None))["env"] == route.environment()
    cloud = Route(api_type="bedrock", base_url="http://x", prefix="eu").environment()
    assert (cloud["CLAUDE_CODE_USE_BEDROCK"], cloud["ANTHROPIC_BEDROCK_REGION_PREFIX"]) == ("1", "eu")
