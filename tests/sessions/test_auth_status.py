"""Who is signed in: in which words, when it is asked, and when it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from acpbridge import wire
from acpbridge.sessions import auth_status, identity
from acpbridge.sessions.hook_frames import speaks_of_identity
from acpbridge.sessions.identity import Identity
from middleware import Message
from middleware.messages import AuthStatus

NOBODY = {"kind": "none", "label": "Not logged in"}
KEY = {"kind": "api_key", "label": "Anthropic API key"}
LOGGED_IN: dict[str, Any] = {"loggedIn": True, "apiProvider": "firstParty"}
SUBSCRIBED = {**LOGGED_IN, "authMethod": "claude.ai", "subscriptionType": "max", "email": "a@b", "orgName": "B"}


@pytest.mark.parametrize(
    ("report", "status"),
    [
        ({"loggedIn": False, "authMethod": "none", "apiProvider": "firstParty"}, NOBODY),
        ({}, NOBODY),
        (
            {**LOGGED_IN, "authMethod": "api_key", "apiKeySource": "ANTHROPIC_API_KEY"},
            {**KEY, "detail": "ANTHROPIC_API_KEY"},
        ),
        ({**LOGGED_IN, "authMethod": "api_key", "apiKeySource": "apiKeyHelper"}, {**KEY, "detail": "API key helper"}),
        ({**LOGGED_IN, "authMethod": "api_key", "apiKeySource": "/login managed key"}, KEY),
        (
            SUBSCRIBED,
            {
                "kind": "account",
                "label": "Claude Max",
                "account": {"plan": "max", "email": "a@b", "organization": "B"},
            },
        ),
        ({**LOGGED_IN, "authMethod": "oauth_token"}, {"kind": "account", "label": "Claude"}),
        ({"loggedIn": True, "apiProvider": "bedrock"}, {"kind": "external", "label": "AWS Bedrock"}),
        ({"loggedIn": True, "apiProvider": "newCloud"}, {"kind": "external", "label": "newCloud"}),
        ({"loggedIn": True, "apiProvider": "gateway"}, {"kind": "gateway", "label": "Custom model gateway"}),
    ],
)
def test_words_of_a_report(report: dict[str, Any], status: dict[str, Any]) -> None:
    """What `claude auth status` says, in the client's words."""
    assert wire.auth_status(auth_status.of_report(report)) == {"authStatus": status}


@pytest.mark.parametrize(
    ("account", "status"),
    [
        ({"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY"}, {**KEY, "detail": "ANTHROPIC_API_KEY"}),
        ({"tokenSource": "ANTHROPIC_AUTH_TOKEN"}, {**KEY, "detail": "ANTHROPIC_AUTH_TOKEN"}),
        ({"tokenSource": "claude.ai", "subscriptionType": "pro"}, {"kind": "account", "label": "Claude Pro"}),
        ({"apiProvider": "vertex"}, {"kind": "external", "label": "Google Vertex AI"}),
        ({"tokenSource": "none", "apiProvider": "firstParty"}, NOBODY),
    ],
)
def test_words_of_a_handshake(account: dict[str, Any], status: dict[str, Any]) -> None:
    """What the account of a handshake says; a plan stands in the label too."""
    found = auth_status.of_account(account)
    assert found is not None
    told = wire.auth_status(found)["authStatus"]
    assert {key: told[key] for key in status} == status
    assert auth_status.of_account({}) is None


class Scene:
    """An identity, and what Claude Code says when it is asked, each time the next."""

    def __init__(self, *reports: Any) -> None:
        self.reports = list(reports)
        self.asked = 0
        self.fed: list[Message] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.answering = asyncio.Event()
        self.answering.set()
        self.identity = Identity(feed=lambda *messages: self.fed.extend(messages), spawn=self._spawn, probe=self._probe)

    def _spawn(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def _probe(self) -> Any:
        self.asked += 1
        report = self.reports.pop(0)
        await self.answering.wait()
        if isinstance(report, Exception):
            raise report
        return report

    async def settle(self) -> list[str]:
        """The labels of what was told."""
        await asyncio.gather(*self.tasks)
        return [message.label for message in self.fed if isinstance(message, AuthStatus)]


def _play(play: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    asyncio.run(play())


def test_told_when_it_is_another() -> None:
    """It is told once, and again when it is another; what cannot be asked says nothing. At a prompt nobody is asked
    while somebody is signed in."""

    async def play() -> None:
        scene = Scene({}, OSError("gone"), None, SUBSCRIBED)
        scene.identity.look()
        scene.identity.look()  # one at a time
        assert await scene.settle() == ["Not logged in"]
        for _ in range(3):
            scene.identity.prompted()
            await scene.settle()
        scene.identity.prompted()
        assert await scene.settle() == ["Not logged in", "Claude Max"]
        assert scene.asked == 4
        scene.identity.learn({"subscriptionType": "max", "tokenSource": "claude.ai"})  # without the address: the same
        assert len(scene.fed) == 2

    _play(play)


@pytest.mark.parametrize(("first", "asked"), [(None, 1), ("session", 0), ("end", 0)])
def test_soon_after_initialize(first: str | None, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code is asked a while after `initialize`, unless a session has said it by then, or the end has come."""
    monkeypatch.setattr(identity, "LOOK_AFTER", 0.0)

    async def play() -> None:
        scene = Scene(SUBSCRIBED)
        scene.identity.begin()
        assert scene.asked == 0
        if first == "session":
            scene.identity.learn({"tokenSource": "none"})
        elif first == "end":
            scene.identity.close()
        later = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.0, later.set_result, None)
        await later
        await scene.settle()
        assert scene.asked == asked

    _play(play)


def test_a_gateway_stands() -> None:
    """Behind a gateway nobody else is told until the client logs out, also what was asked before it came."""

    async def play() -> None:
        scene = Scene(SUBSCRIBED, {})
        scene.answering.clear()
        scene.identity.look()
        await asyncio.sleep(0)
        scene.identity.take_gateway("https://models.example:8443/v1")
        scene.answering.set()
        scene.identity.learn({"tokenSource": "none"})
        scene.identity.look()
        assert await scene.settle() == ["Custom model gateway"]
        assert [message.detail for message in scene.fed if isinstance(message, AuthStatus)] == ["models.example"]
        scene.identity.logged_out()
        assert await scene.settle() == ["Custom model gateway", "Not logged in"]

    _play(play)


def test_what_was_asked_before_a_logout() -> None:
    """It says who it was, and is not wanted any more."""

    async def play() -> None:
        scene = Scene(SUBSCRIBED, {})
        scene.answering.clear()
        scene.identity.look()
        await asyncio.sleep(0)
        scene.identity.logged_out()
        await asyncio.sleep(0)
        scene.answering.set()
        assert await scene.settle() == ["Not logged in"]

    _play(play)


@pytest.mark.parametrize("report", [None, OSError("gone")])
def test_logged_out_without_an_answer(report: Any) -> None:
    """Behind a logout nobody is signed in, if nothing else can be learned."""

    async def play() -> None:
        scene = Scene(SUBSCRIBED, report)
        scene.identity.look()
        await scene.settle()
        scene.identity.logged_out()
        assert await scene.settle() == ["Claude Max", "Not logged in"]

    _play(play)


def _news(event: str, source: str, callback: str = "acpbridge_news") -> dict[str, Any]:
    hook = {"hook_event_name": event, "source": source}
    request = {"subtype": "hook_callback", "callback_id": callback, "input": hook}
    return {"type": "control_request", "request_id": "r", "request": request}


@pytest.mark.parametrize(
    ("frame", "speaks"),
    [
        ({"type": "assistant", "error": "authentication_failed"}, True),
        ({"type": "assistant", "error": "rate_limit"}, False),
        ({"type": "assistant", "error": []}, False),
        (_news("ConfigChange", "user_settings"), True),
        (_news("ConfigChange", "policy_settings"), True),
        (_news("ConfigChange", "local_settings"), False),
        (_news("PostModelSwitch", "user_settings"), False),
        (_news("ConfigChange", "user_settings", "another"), False),
        ({"type": "control_request", "request": 7}, False),
        ({}, False),
    ],
)
def test_when_it_is_asked(frame: dict[str, Any], speaks: bool) -> None:
    """A sign-in that was not accepted, and settings of the person or of a policy, not those that a granted permission
    is written into."""
    assert speaks_of_identity(frame) == speaks
