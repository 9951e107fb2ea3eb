"""In the place of Claude Code, which asks no dialog about a scripted model: one that asks it at each prompt.

It answers what the program needs to open a session, asks the dialog `refusal_fallback_prompt` where that was declared,
and says what it was answered.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PAYLOAD = {"originalModel": "Fable 5", "fallbackModel": "Opus 4.8", "apiRefusalCategory": "cyber"}


def write(frame: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def main() -> None:
    declared: list[str] = []
    prompt = ""
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "control_request":
            request = frame["request"]
            answer: dict[str, Any] = {}
            if request["subtype"] == "initialize":
                declared = request.get("supportedDialogKinds", [])
                answer = {"commands": [], "models": [], "agents": []}
            content = {"subtype": "success", "request_id": frame["request_id"], "response": answer}
            write({"type": "control_response", "response": content})
        elif frame["type"] == "user":
            prompt = frame["uuid"]
            write({"type": "command_lifecycle", "command_uuid": prompt, "state": "started"})
            if "refusal_fallback_prompt" in declared:
                request = {
                    "subtype": "request_user_dialog",
                    "dialog_kind": "refusal_fallback_prompt",
                    "payload": PAYLOAD,
                }
                write({"type": "control_request", "request_id": "dialog", "request": request})
            else:
                end(prompt, "no dialog")
        elif frame["type"] == "control_response":
            end(prompt, json.dumps(frame["response"].get("response")))


def end(prompt: str, text: str) -> None:
    write(
        {
            "type": "assistant",
            "message": {"id": "m", "role": "assistant", "model": "x", "content": [{"type": "text", "text": text}]},
            "parent_tool_use_id": None,
            "session_id": "s",
            "uuid": "u",
        }
    )
    write({"type": "result", "subtype": "success", "is_error": False, "user_message_uuid": prompt, "result": text})


if __name__ == "__main__":
    main()
