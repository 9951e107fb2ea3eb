"""Secrets of a client, through the real program with the real Claude Code: they work, and are found in no log, on no
command line and in no file that stays."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from acpbridge import log
from acpbridge.testing import Fail, Say, ScriptedModel, UseTool, Wait
from tests.stdio.agent_process import AgentProcess

SECRETS = {
    name: f"s3cr3t-{name}-7f31"
    for name in ("env", "header", "token", "wished", "setting", "argument", "prompt", "reply", "notification", "answer")
}

SERVER = """\
import json, os, sys
print("the server's own words " + os.environ["TOKEN"], file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "a", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": info}), flush=True)
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


def servers(folder: Path) -> list[dict[str, Any]]:
    """One that works, one that ends at once, one that is not there, each with a secret."""
    (folder / "server.py").write_text(SERVER)
    token = [{"name": "TOKEN", "value": SECRETS["token"]}]
    return [
        {"name": "works", "command": sys.executable, "args": [str(folder / "server.py")], "env": token},
        {"name": "ends", "command": sys.executable, "args": ["-c", "raise SystemExit(3)"], "env": token},
        {
            "type": "http",
            "name": "nowhere",
            "url": "http://127.0.0.1:9/mcp",
            "headers": [{"name": "Authorization", "value": f"Bearer {SECRETS['header']}"}],
        },
    ]


def options(**more: Any) -> dict[str, Any]:
    wished = {
        "env": {"MY_KEY": SECRETS["env"]},
        "settings": {"env": {"SETTING": SECRETS["setting"]}},
        "mcpServers": {"mine": {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"X": SECRETS["wished"]}}},
        "brandNewOption": {"token": SECRETS["wished"]},
        **more,
    }
    return {"claudeCode": {"options": wished}}


def test_no_secret_is_told(model: ScriptedModel, tmp_path: Path) -> None:
    """A session with keys in its servers, its variables and its options, through many an error, at the log's finest
    level: Claude Code has them, and they stand in no log, on no command line, in no file of the temporary folder."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    work = tmp_path / "work"
    environment = {
        "ACPBRIDGE_LOG": "trace",
        "PYTHONASYNCIODEBUG": "1",
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
    }
    shell = UseTool("Bash", {"command": "printf %s-%s $MY_KEY $SETTING > told"})
    model.on("shell", [[shell], [Say("done")]])
    model.on("write", [[UseTool("Write", {"file_path": str(work / "a"), "content": SECRETS["prompt"]})], [Say("done")]])
    model.on("fails", [[Fail(400, message=SECRETS["answer"])]])
    model.on("hangs", [[Say("it hangs"), Wait(model.gate())]])
    with AgentProcess(model, tmp_path / "home", environment=environment, judged=False) as agent:
        agent.initialize({"_meta": {"token": SECRETS["argument"]}})
        session = agent.new_session(work, mcpServers=servers(tmp_path), _meta=options())
        command_lines = _command_lines(agent)

        agent.answer(agent.prompt(session, "shell"))
        assert (work / "told").read_text() == f"{SECRETS['env']}-{SECRETS['setting']}"

        agent.choose = None
        wrong: list[dict[str, Any]] = [{"result": {"outcome": SECRETS["reply"]}}, {"error": SECRETS["reply"]}]
        for number, answer in enumerate(wrong, 1):
            prompt = agent.prompt(session, f"write {SECRETS['prompt']}")
            agent.write(json.dumps({"jsonrpc": "2.0", "id": _asked(agent, number + 1), **answer}).encode() + b"\n")
            agent.answer(prompt)
        agent.answer(agent.prompt(session, "fails"))
        _say_what_is_wrong(agent, session, work)
        _kill(agent, agent.prompt(session, "hangs"))
        assert agent.answer(agent.prompt(session, "and on"))
        command_lines += _command_lines(agent)

    told = agent.log()
    assert "DEBUG" in told
    assert "brandNewOption" in told
    assert [name for name, secret in SECRETS.items() if secret in told] == []
    assert [name for name, secret in SECRETS.items() if secret in " ".join(command_lines)] == []
    assert any("--mcp-config" in line for line in command_lines)
    left = [path for path in temporary.rglob("*") if path.is_file() and _tells(path)]
    assert left == []


def _asked(agent: AgentProcess, count: int) -> Any:
    """The id of the agent's `count`th permission request."""
    return agent.permission(count)["id"]


def _kill(agent: AgentProcess, prompt: int) -> None:
    """End Claude Code in the middle of a turn."""
    agent.chunk("it hangs")
    for child in agent.claude_processes():
        child.kill()
    assert "error" in agent.answer(prompt)


def _command_lines(agent: AgentProcess) -> list[str]:
    return [" ".join(process.cmdline()) for process in agent.claude_processes()]


def _tells(path: Path) -> bool:
    content = path.read_bytes()
    return any(secret.encode() in content for secret in SECRETS.values())


def _say_what_is_wrong(agent: AgentProcess, session: str, work: Path) -> None:
    """Requests and notifications that are refused, each with a secret in it."""
    wrong: list[tuple[str, Any]] = [
        ("session/new", {"cwd": str(work), "mcpServers": [{"name": SECRETS["argument"], "command": 5}]}),
        ("session/new", {"cwd": str(work), "mcpServers": [], "_meta": options(model=[SECRETS["wished"]])}),
        ("session/new", {"cwd": SECRETS["argument"], "mcpServers": []}),
        ("session/prompt", {"sessionId": session, "prompt": [{"type": SECRETS["prompt"]}]}),
        ("session/load", {"sessionId": SECRETS["argument"], "cwd": str(work), "mcpServers": []}),
        ("authenticate", {"methodId": "gateway", "_meta": {"gateway": {"headers": {"X": SECRETS["header"]}}}}),
        ("_unknown/method", {"token": SECRETS["argument"]}),
    ]
    for method, params in wrong:
        assert "error" in agent.answer(agent.request(method, params)), method
    agent.notify("session/cancel", {"sessionId": {"token": SECRETS["notification"]}})
    agent.notify("_unknown", {"token": SECRETS["notification"]})
    agent.write(json.dumps({"jsonrpc": "2.0", "id": 99, "result": SECRETS["answer"]}).encode() + b"\n")
    agent.write(b'{"jsonrpc":"2.0","broken":"' + SECRETS["argument"].encode() + b"\n")
    assert agent.answer(agent.prompt(session, "and on"))["result"]["stopReason"] == "end_turn"


def test_a_trace_shows_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception is logged with its lines, and without the values of their variables."""
    monkeypatch.setenv("ACPBRIDGE_LOG", "trace")
    path = tmp_path / "log.txt"
    log.configure(path)
    try:
        _fails(SECRETS["argument"])
        logger.complete()
    finally:
        logger.remove()
        logger.add(sys.stderr)
    told = path.read_text()
    assert "ZeroDivisionError" in told
    assert "_fails" in told
    assert SECRETS["argument"] not in told


def _fails(secret: str) -> None:
    try:
        assert len(secret) / 0
    except ZeroDivisionError as error:
        logger.opt(exception=error).error("it failed")
