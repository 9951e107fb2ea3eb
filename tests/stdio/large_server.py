"""An MCP server with one tool, `large`, that gives as many bytes of text as it is asked for. Run as a script."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "large",
    "description": "Give a lot.",
    "inputSchema": {"type": "object", "properties": {"size": {"type": "integer"}}},
    "_meta": {"anthropic/maxResultSizeChars": 100_000_000},
}


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "large", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            size = params["arguments"]["size"]
            return {"content": [{"type": "text", "text": ("0123456789abcde\n" * (size // 16 + 1))[:size]}]}
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
