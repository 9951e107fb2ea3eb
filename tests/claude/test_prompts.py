"""A prompt of ACP as Claude Code's user message: reference 10.8, row by row."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpbridge.claude.prompts import content_of, user_message
from middleware import acp
from middleware.messages import Prompt

PIXEL = "iVBORw0KGgo="


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def context(uri: str, content: str) -> dict[str, Any]:
    return text(f'\n<context ref="{uri}">\n{content}\n</context>')


def link(uri: str) -> acp.ResourceLink:
    return acp.ResourceLink(uri=uri, name="any")


def blob(data: bytes | str, mime: str | None, uri: str = "file:///d/x") -> acp.EmbeddedResource:
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return acp.EmbeddedResource(resource=acp.BlobResourceContents(uri=uri, blob=encoded, mime_type=mime))


def embedded(uri: str, content: str) -> acp.EmbeddedResource:
    return acp.EmbeddedResource(resource=acp.TextResourceContents(uri=uri, text=content))


def test_the_frame() -> None:
    """The frame names the prompt by its uuid, the session, and a human as its origin."""
    prompt = Prompt(session="s", request=1, prompt="uuid", content=(acp.TextContent(text="hi"),), meta={"x": 1})
    assert user_message(prompt) == {
        "type": "user",
        "message": {"role": "user", "content": [text("hi")]},
        "session_id": "s",
        "parent_tool_use_id": None,
        "origin": {"kind": "human"},
        "uuid": "uuid",
    }


def test_order() -> None:
    """Blocks keep their order; what embedded resources hold stands behind them all, in its order too."""
    blocks: list[acp.ContentBlock] = [
        embedded("file:///a", "A"),
        acp.TextContent(text="look"),
        link("file:///b"),
        embedded("file:///c", "C"),
        acp.ImageContent(data=PIXEL, mime_type="image/png"),
    ]
    assert content_of(blocks) == [
        text("[@a](file:///a)"),
        text("look"),
        text("[@b](file:///b)"),
        text("[@c](file:///c)"),
        {"type": "image", "source": {"type": "base64", "data": PIXEL, "media_type": "image/png"}},
        context("file:///a", "A"),
        context("file:///c", "C"),
    ]


def test_an_empty_prompt() -> None:
    """A prompt without blocks is a message without blocks."""
    assert content_of([]) == []


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("/mcp:server:command", "/server:command (MCP)"),
        ("/mcp:server:command two args", "/server:command (MCP) two args"),
        ("/mcp:server:command\nover\nlines", "/server:command (MCP)\nover\nlines"),
        ("/mcp:my-server:a:b x", "/my-server:a:b (MCP) x"),
        ("/mcp:server:", "/mcp:server:"),
        ("/mcp::command", "/mcp::command"),
        ("/mcp:a b:command", "/mcp:a b:command"),
        ("/mcp", "/mcp"),
        ("/mcp reconnect", "/mcp reconnect"),
        (" /mcp:server:command", " /mcp:server:command"),
        ("see /mcp:server:command", "see /mcp:server:command"),
    ],
)
def test_mcp_commands(given: str, sent: str) -> None:
    """`/mcp:server:command args` at the beginning is what Claude Code calls `/server:command (MCP) args`."""
    assert content_of([acp.TextContent(text=given)]) == [text(sent)]


def test_only_the_first_text_is_a_command() -> None:
    """The first text block may be a command, wherever it stands; no later one is."""
    command = acp.TextContent(text="/mcp:a:b")
    assert content_of([link("x:y"), command, command]) == [text("x:y"), text("/a:b (MCP)"), text("/mcp:a:b")]


@pytest.mark.parametrize(
    ("uri", "sent"),
    [
        ("file:///home/me/notes.md", "[@notes.md](file:///home/me/notes.md)"),
        ("file:///home/me/folder/", "[@/home/me/folder/](file:///home/me/folder/)"),
        ("file://notes.md", "[@notes.md](file://notes.md)"),
        ("file:///a%20b.txt", "[@a%20b.txt](file:///a%20b.txt)"),
        ("zed:///agent/thread/42", "[@42](zed:///agent/thread/42)"),
        ("https://example.com/x", "https://example.com/x"),
        ("custom:thing", "custom:thing"),
        ("", ""),
    ],
)
def test_links(uri: str, sent: str) -> None:
    """Files and Zed's own links are mentions by their last segment; any other address stands as it is."""
    assert content_of([link(uri)]) == [text(sent)]


@pytest.mark.parametrize("mime", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_embedded_images(mime: str) -> None:
    """An image in a resource is its link and an image block."""
    assert content_of([blob(b"x", mime, "file:///p")]) == [
        text("[@p](file:///p)"),
        {"type": "image", "source": {"type": "base64", "data": "eA==", "media_type": mime}},
    ]


@pytest.mark.parametrize("mime", ["image/jpg", "IMAGE/JPEG", "image/jpeg; q=1", " image/jpg ;x=y"])
def test_mime_types_are_read_generously(mime: str) -> None:
    """Parameters, case and `image/jpg` do not matter."""
    [_, image] = content_of([blob(b"x", mime)])
    assert image["source"]["media_type"] == "image/jpeg"


def test_embedded_documents() -> None:
    """A PDF in a resource is its link and a document block."""
    assert content_of([blob(b"%PDF", "application/pdf", "file:///d.pdf")]) == [
        text("[@d.pdf](file:///d.pdf)"),
        {"type": "document", "source": {"type": "base64", "data": "JVBERg==", "media_type": "application/pdf"}},
    ]


TEXTUAL = ["json", "xml", "javascript", "typescript", "x-yaml", "yaml", "toml", "x-sh", "sql", "graphql"]


@pytest.mark.parametrize(
    "mime",
    [
        "text/plain",
        "text/x-anything",
        "image/svg+xml",
        "application/ld+json",
        *(f"application/{kind}" for kind in TEXTUAL),
    ],
)
def test_embedded_texts(mime: str) -> None:
    """A blob that is a text is read as one: its link in place, its text behind."""
    assert content_of([blob("ü☃".encode(), mime, "file:///t"), acp.TextContent(text="x")]) == [
        text("[@t](file:///t)"),
        text("x"),
        context("file:///t", "ü☃"),
    ]


@pytest.mark.parametrize(
    ("mime", "data", "read"),
    [
        ("text/plain; charset=latin-1", b"\xfc", "ü"),
        ('text/plain;charset="UTF-16LE"', "ü".encode("utf-16-le"), "ü"),
        ("text/plain; format=flowed; charset=iso-8859-1", b"\xfc", "ü"),
        ("text/plain; charset=nonsense", "ü".encode(), "ü"),
        ("text/plain; charset=", "ü".encode(), "ü"),
        ("text/plain", b"a\xff", "a\ufffd"),
    ],
)
def test_character_sets(mime: str, data: bytes, read: str) -> None:
    """The charset of the mime type is used, UTF-8 where it is missing or unknown; what cannot be read is marked."""
    assert content_of([blob(data, mime, "u:x")])[-1] == context("u:x", read)


@pytest.mark.parametrize("mime", [None, "", "application/octet-stream", "audio/wav", "image/tiff", "nonsense"])
def test_blobs_that_cannot_be_shown(mime: str | None) -> None:
    """Any other blob is left out, without its link too."""
    assert content_of([blob(b"x", mime), acp.TextContent(text="x")]) == [text("x")]


@given(st.binary(max_size=20))
def test_base64_without_its_padding(data: bytes) -> None:
    """Base64 is read as browsers write it: with or without padding, in the alphabet for addresses too."""
    mime = "text/plain; charset=latin-1"
    plain = base64.b64encode(data).decode()
    for written in (plain, plain.rstrip("="), base64.urlsafe_b64encode(data).decode(), plain + "\n"):
        assert content_of([blob(written, mime, "u:x")])[-1] == context("u:x", data.decode("latin-1"))


@pytest.mark.parametrize("written", ["a", "ü", "a===="])
def test_base64_that_is_none(written: str) -> None:
    """A text that is no base64 is left out, and breaks nothing."""
    assert content_of([blob(written, "text/plain"), acp.TextContent(text="x")]) in (
        [text("x")],
        [text("[@x](file:///d/x)"), text("x"), context("file:///d/x", "")],
    )


@pytest.mark.parametrize(
    ("image", "source"),
    [
        (
            acp.ImageContent(data=PIXEL, mime_type="image/png", uri="https://a/b"),
            {"type": "base64", "data": PIXEL, "media_type": "image/png"},
        ),
        (
            acp.ImageContent(data="", mime_type="image/png", uri="https://a/b"),
            {"type": "url", "url": "https://a/b"},
        ),
        (acp.ImageContent(data="", mime_type="image/png", uri="file:///a"), None),
        (acp.ImageContent(data="", mime_type="image/png"), None),
    ],
)
def test_images(image: acp.ImageContent, source: dict[str, str] | None) -> None:
    """An image is its data where there is some, else the address where it can be fetched, else nothing."""
    assert content_of([image]) == ([{"type": "image", "source": source}] if source else [])


def test_everything_is_json() -> None:
    """What is made of any block can be written."""
    blocks: list[acp.ContentBlock] = [link("file:///ü"), embedded("u:x", "\u2028"), blob("ü".encode(), "text/plain")]
    assert json.loads(json.dumps(content_of(blocks))) == content_of(blocks)
