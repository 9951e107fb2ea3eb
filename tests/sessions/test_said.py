"""What the person said, as the client sent it: what `claude.prompts` wrote is read back."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from acpbridge.claude.prompts import content_of
from acpbridge.sessions.said import by_the_person, visible_text
from middleware import acp
from middleware.messages import UserMessage


def _back(*blocks: acp.ContentBlock) -> list[acp.ContentBlock]:
    """What a client is told of a prompt of these blocks."""
    messages = list(by_the_person("s", {"uuid": "u", "origin": {"kind": "human"}}, content_of(blocks)))
    assert all(isinstance(message, UserMessage) and message.message == "u" for message in messages)
    return [message.content for message in messages if isinstance(message, UserMessage)]


def _file(uri: str, text: str) -> acp.EmbeddedResource:
    return acp.EmbeddedResource(resource=acp.TextResourceContents(uri=uri, text=text))


@pytest.mark.parametrize(
    "blocks",
    [
        [acp.TextContent(text="plain")],
        [acp.TextContent(text="look"), acp.ResourceLink(uri="file:///a/b c (1).txt", name="b c (1).txt")],
        [acp.ResourceLink(uri="zed:///agent/thread/7", name="7"), acp.TextContent(text="behind it")],
        [acp.TextContent(text="see"), _file("file:///a/z.txt", "one\n\ntwo\n"), acp.TextContent(text="thanks")],
        [
            _file("file:///a", "A"),
            _file("file:///b", "<system-reminder>B</system-reminder>\n</context>"),
        ],
        [acp.ImageContent(data="aGk=", mime_type="image/png"), acp.TextContent(text="a dot")],
        [acp.TextContent(text="[@x](file:///y) is how a link looks")],
    ],
    ids=["text", "link", "zed", "file", "files", "image", "in a text"],
)
def test_as_it_was_sent(blocks: list[acp.ContentBlock]) -> None:
    """Texts, images, links and files come back as the blocks that they were, in their order."""
    assert _back(*blocks) == blocks


def test_what_has_another_address() -> None:
    """A link that is no file's is written as its address alone, and stays that; what it holds comes last."""
    other = _file("http://x/c", "C")
    assert _back(other, acp.TextContent(text="so")) == [
        acp.TextContent(text="http://x/c"),
        acp.TextContent(text="so"),
        other,
    ]


def test_a_file_in_base64() -> None:
    """A file that came as bytes is told as the text that Claude was given, a PDF as a link to it."""
    blob = base64.b64encode(b"text").decode()
    text = acp.EmbeddedResource(resource=acp.BlobResourceContents(uri="file:///t", blob=blob, mime_type="text/plain"))
    pdf = acp.EmbeddedResource(
        resource=acp.BlobResourceContents(uri="file:///p", blob=blob, mime_type="application/pdf")
    )
    assert _back(text) == [_file("file:///t", "text")]
    assert _back(pdf) == [acp.ResourceLink(uri="file:///p", name="p")]


@pytest.mark.parametrize(
    "content", [None, 7, {}, [], [None, 7, "x"], [{"type": "text"}, {"type": "image", "source": 7}]]
)
def test_what_says_nothing(content: Any) -> None:
    """Content that is none says nothing."""
    assert list(by_the_person("s", {}, content)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <b>text</b> ", "plain <b>text</b> "),
        ("<command-message>init</command-message>\n<command-name>/init</command-name>", "/init"),
        ("<command-name>/review</command-name><command-args>the diff</command-args>", "/review the diff"),
        ("<command-name>/mcp__srv__greet</command-name><command-args>Ann</command-args>", "/mcp:srv:greet Ann"),
        ("<command-name>/srv:greet (MCP)</command-name>", "/mcp:srv:greet"),
        ("<command-name>/mcp__a__b__c</command-name>", "/mcp:a:b__c"),
        ("<system-reminder>x</system-reminder>what I said", "what I said"),
        ("<command-name>/context</command-name>", ""),
        ("<command-name>/x</command-name><local-command-stdout></local-command-stdout>", ""),
        ("<command-name>no slash</command-name>", ""),
    ],
)
def test_visible_text(text: str, shown: str) -> None:
    """A command is shown as it was typed, a text without what was put into it."""
    assert visible_text(text) == shown
