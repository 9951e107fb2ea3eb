"""Which models a provider has, asked of a small server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from acpbridge.sessions import discovery, models
from acpbridge.sessions.discovery import Listing, ListingFailed, list_models
from acpbridge.sessions.routing import Route


class Provider:
    """Answers GET requests: a status and what is sent, by path."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.path)
                provider.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, body = provider.answers.get(self.path, (404, {}))
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/base"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    provider = Provider()
    yield provider
    provider.server.shutdown()
    provider.thread.join()
    provider.server.server_close()


FIRST = "/base/v1/models?limit=1000"


def _route(provider: Provider, api_type: str = "anthropic", **headers: str) -> Route:
    return Route(api_type=api_type, base_url=provider.url + "/", headers=headers)


def _page(*names: str, more: bool = False) -> tuple[int, Any]:
    return 200, {"data": [{"id": name} for name in names], "has_more": more, "last_id": names[-1]}


def test_page_by_page(provider: Provider) -> None:
    """All pages are asked for, each behind the last model of the one before, with the client's headers before ours."""
    provider.answers = {FIRST: _page("a", "b/c", more=True), f"{FIRST}&after_id=b%2Fc": _page("d")}
    assert list_models(_route(provider, Authorization="Bearer mine")) == Listing(("a", "b/c", "d"))
    assert provider.asked == [FIRST, f"{FIRST}&after_id=b%2Fc"]
    for headers in provider.headers:
        assert headers["authorization"] == "Bearer mine"
        assert headers["anthropic-version"] == "2023-06-01"


def test_a_provider_without_end(provider: Provider) -> None:
    """Of more pages than anybody has the first twenty are read; what is no model in them is passed over."""
    body = {"data": [{"id": "a"}, {"id": 7}, {}, "b"], "has_more": True, "last_id": "a"}
    provider.answers = {FIRST: (200, body), f"{FIRST}&after_id=a": (200, body)}
    assert list_models(_route(provider)) == Listing(("a",) * discovery.PAGES)
    assert provider.headers[0]["authorization"] == "Bearer acp-proxy"


@pytest.mark.parametrize(
    ("found", "listing"),
    [
        (["us.anthropic.a", "eu.anthropic.b", "us.anthropic.c"], Listing(("us.anthropic.a", "us.anthropic.c"), "us")),
        (["us.anthropic.a", "global.anthropic.b"], Listing(("global.anthropic.b",), "global")),
        (["anthropic.a", "amazon.titan"], Listing(("anthropic.a",))),
        (["amazon.titan"], Listing(())),
    ],
)
def test_bedrock(provider: Provider, found: list[str], listing: Listing) -> None:
    """Of Bedrock's models those of Anthropic count, in one region."""
    provider.answers = {"/base/foundation-models": (200, {"modelSummaries": [{"modelId": name} for name in found]})}
    assert list_models(_route(provider, "bedrock")) == listing
    assert "anthropic-version" not in provider.headers[0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429])
def test_a_provider_without_a_list(provider: Provider, status: int) -> None:
    """4xx is no error: nobody knows which models there are. Vertex is not even asked."""
    provider.answers = {FIRST: (status, {})}
    assert list_models(_route(provider)) is None
    assert list_models(_route(provider, "vertex")) is None
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        ((500, {}), "was answered with the status 500"),
        ((302, {}), "was answered with the status 302"),
        ((200, b"{"), "was answered with no JSON"),
        ((200, []), "is no list of models"),
        ((200, {"data": {}}), "is no list of models"),
        ((200, b"[" * 100_000), "was answered with no JSON"),
    ],
)
def test_a_provider_that_fails(provider: Provider, answer: tuple[int, Any], how: str) -> None:
    """All else is an error in words, with the request. A redirect is not followed: headers are for one address."""
    provider.answers = {FIRST: answer}
    with pytest.raises(ListingFailed) as failed:
        list_models(_route(provider, key="secret"))
    assert str(failed.value) == f"Model listing GET /v1/models?limit=1000 {how}."
    assert provider.asked == [FIRST]


def test_a_provider_that_is_not_there(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens, nobody answers in time, or the headers cannot be sent: said in words, which quote no header."""
    nobody = Route(api_type="anthropic", base_url="http://127.0.0.1:1")
    with pytest.raises(ListingFailed, match="failed: Connection refused"):
        list_models(nobody)
    with pytest.raises(ListingFailed, match="cannot be made") as failed:
        list_models(_route(provider, key="s\u0416cret"))
    assert "cret" not in str(failed.value)
    monkeypatch.setattr(discovery, "WITHIN", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        waiting = Route(api_type="anthropic", base_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ListingFailed, match="was not answered in time"):
            list_models(waiting)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "us.anthropic.claude-opus-4-1"),
        ("claude-sonnet-4-6[1m]", "claude-sonnet-4-6"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"),
        ("anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-4-6"),
        ("claude-sonnet-4-6-1m", "claude-sonnet-4-6"),
        ("", ""),
    ],
)
def test_a_model_by_any_of_its_names(name: str, plain: str) -> None:
    """A model has one name, whatever follows it."""
    assert models.canonical(name) == plain


def test_what_is_offered() -> None:
    """The rows that the provider has; all of them where it does not say; its own ids where it has none of them."""
    rows = [
        {"value": "default", "resolvedModel": "claude-opus-5-5"},
        {"value": "sonnet", "resolvedModel": "claude-sonnet-5-5"},
        {"value": "haiku", "resolvedModel": "claude-haiku-4-5-20251001"},
    ]
    assert models.offered(rows, None) == rows
    assert models.offered(rows, []) == []
    assert [row["value"] for row in models.offered(rows, ["claude-haiku-4-5", "claude-opus-5-5"])] == [
        "default",
        "haiku",
    ]
    cloud = [{"value": "us.anthropic.claude-opus-5-5"}, {"value": "us.anthropic.claude-old-v1:0"}]
    assert models.offered(cloud, ["anthropic.claude-opus-5-5"]) == cloud[:1]
    assert models.offered(cloud, ["us.anthropic.claude-old-20250101-v1:0"]) == cloud[1:]
    assert models.offered(cloud[:1], ["claude-opus-5-5"])[0]["value"] == "claude-opus-5-5"
    assert [row["value"] for row in models.offered(rows, ["ours", "ours"])] == ["ours"]
    info = {"models": [*rows, {"value": "old", "resolvedModel": "claude-opus-4-1"}]}
    assert models.in_place_of("default", info, rows[1:])["value"] == "sonnet"
    assert models.in_place_of("old", info, rows)["value"] == "default"
    assert models.in_place_of("claude-haiku-9", info, rows)["value"] == "haiku"
