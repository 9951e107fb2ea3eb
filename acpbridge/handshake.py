"""`initialize`: who we are, what is true of us, and the answer in the first tenth of a second.

An editor shows nothing until it has this answer, and the rest of the program takes a few tenths to be imported (the
SDK alone 0.7 s). So the program looks at the first line before it imports anything else: `early_answer`. Whatever is
not a plain `initialize` is left to `ClientEnd`, which answers in the same words. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO, NoReturn

from acpbridge import __version__, login

PROTOCOL_VERSION = 1

_DIGITS = 5
"""Digits of a version (it is at most 65535). Python refuses to read a number of thousands of them."""

_BRACKETS = 128
"""A line with more opening brackets may be nested deeper than is accepted: `jsonrpc` decides about it."""


def result(params: Any = None, *, hide_claude_auth: bool = False) -> dict[str, Any]:
    """The result of `initialize`: what is true at this point, and nothing more.

    Args:
        params: the client's, as it wrote them; which ways to log in make sense depends on what it can do.
        hide_claude_auth: see `login.methods`.
    """
    given = params.get("clientCapabilities") if isinstance(params, dict) else None
    capabilities = given if isinstance(given, dict) else {}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "auth": {"logout": {}},
            "loadSession": True,
            "providers": {},
            "sessionCapabilities": {
                "additionalDirectories": {},
                "close": {},
                "delete": {},
                "fork": {},
                "list": {},
                "resume": {},
                "systemPrompt": {"mode": {"override": {}}},
            },
            "_meta": {"claudeCode": {"promptQueueing": True}, "authStatus": {}},
        },
        "agentInfo": {"name": "acpbridge", "title": "Claude Code", "version": __version__},
        "authMethods": login.methods(capabilities, hide_claude_auth=hide_claude_auth),
    }


def version_asked(params: Any) -> Any:
    """The protocol version that a client asks for; some send it as a text (examples/clients 13)."""
    asked = params.get("protocolVersion") if isinstance(params, dict) else None
    digits = asked.strip() if isinstance(asked, str) else ""
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else asked


def early_answer(stdin: BinaryIO, *, hide_claude_auth: bool = False) -> tuple[bytes, bytes] | None:
    """The first line of the client and its answer, when the line is there, whole, and a plain `initialize`.

    Blocks until the client has written something. Consumes nothing: the line is read again by whoever reads stdin. It
    must only take what `jsonrpc` takes too, or the line would be answered twice.
    """
    try:
        waiting: bytes = stdin.peek(1 << 16)  # type: ignore[attr-defined]
    except OSError:
        return None  # whoever reads stdin next says what is wrong with it
    line, newline, _ = waiting.partition(b"\n")
    if not newline or line.count(b"[") + line.count(b"{") > _BRACKETS:
        return None
    try:
        # A plain `initialize` has no floats, so that NaN and numbers out of range need no closer look here.
        request = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_refuse)
    except ValueError:
        return None
    if not _is_plain(request):
        return None
    answer = result(request.get("params"), hide_claude_auth=hide_claude_auth)
    response = {"jsonrpc": "2.0", "id": request["id"], "result": answer}
    return line.removesuffix(b"\r"), json.dumps(response, separators=(",", ":")).encode() + b"\n"


def _refuse(text: str) -> NoReturn:
    raise ValueError("no plain initialize has such a number")


def _is_plain(request: Any) -> bool:
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or request.get("method") != "initialize":
        return False
    number, version = request.get("id"), version_asked(request.get("params"))
    capabilities: Any = request["params"].get("clientCapabilities") if isinstance(version, int) else None
    return (
        isinstance(number, int | str)
        and not isinstance(number, bool)
        and (not isinstance(number, str) or number.isascii())  # no lone surrogate is sent back
        and isinstance(version, int)
        and not isinstance(version, bool)
        and 1 <= version <= 65535
        and (capabilities is None or isinstance(capabilities, Mapping))
    )
