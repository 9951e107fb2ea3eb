"""An MCP server over HTTP that wants to be signed in to, and the authorization server for it, in the test's process.

Nothing but what OAuth needs: metadata, registration, a token for any code; the MCP side has one tool, `open`. `visit`
is what the person's browser does: it comes back from the address with a code.
"""

from __future__ import annotations

import json
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

TOKEN = "a-token-of-the-test"


class OAuthServer:
    """Listens while it is entered; `url` is the MCP server's."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.base}/mcp"
        self._server.base = self.base  # type: ignore[attr-defined]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="oauth server", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def visit(address: str) -> None:
    """Sign in at an authorization address: its redirect is called with a code."""
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)
    answer = urllib.parse.urlencode({"code": "the-code", "state": asked["state"][0]})
    with urllib.request.urlopen(f"{asked['redirect_uri'][0]}?{answer}", timeout=20) as page:
        page.read()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def base(self) -> str:
        found: str = self.server.base  # type: ignore[attr-defined]
        return found

    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path).path
        if path.startswith("/.well-known/oauth-protected-resource"):
            self._send(200, {"resource": f"{self.base}/mcp", "authorization_servers": [self.base]})
        elif path.startswith("/.well-known/oauth-authorization-server"):
            self._send(
                200,
                {
                    "issuer": self.base,
                    "authorization_endpoint": f"{self.base}/authorize",
                    "token_endpoint": f"{self.base}/token",
                    "registration_endpoint": f"{self.base}/register",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["authorization_code", "refresh_token"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                },
            )
        else:
            self._send(405 if path == "/mcp" else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/register":
            self._send(201, {**json.loads(body), "client_id": "the-client"})
        elif self.path == "/token":
            self._send(200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            metadata = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource"'
            self._send(401, {"error": "invalid_token"}, {"WWW-Authenticate": metadata})
        else:
            self._mcp(json.loads(body))

    def _mcp(self, message: dict[str, Any]) -> None:
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": message.get("params", {}).get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "signed in", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "open", "description": "Open.", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "it is open"}]},
            "ping": {},
        }
        if "id" not in message:
            self._send(202, None)
        elif message["method"] in results:
            self._send(200, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
        else:
            error = {"code": -32601, "message": "no such method"}
            self._send(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        common = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, text in {**common, **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: a test's output is about the agent."""
