"""Speed and size of the program: `python -m tests.bench.bench_program` prints one line a figure. Nothing is asserted.

| figure | aim |
|---|---|
| `initialize` answered after the process started | 150 ms |
| the agent's own CPU for a streamed delta, of 5,000 | 60 us |
| resident memory after one session | 110 MB |
| one message through all stages, idle, 95th percentile | 0.5 ms |
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from acpbridge import flow
from acpbridge.client_end import Line, Written
from acpbridge.testing import Say, ScriptedModel
from middleware import ThreadRunner
from middleware.messages import Message, SessionOpened, Text
from tests.stdio.agent_process import AgentProcess

DELTAS = 5_000


def main() -> int:
    print(f"initialize answered after: {_initialize() * 1000:.0f} ms (median of 9)")
    cpu, wall, memory, claude = _deltas()
    print(f"agent CPU per delta: {cpu * 1e6:.0f} us, wall {wall * 1e6:.0f} us ({DELTAS} deltas)")
    print(f"resident memory after one session: {memory / 1e6:.0f} MB (Claude Code itself: {claude / 1e6:.0f} MB)")
    for lanes, label in ((flow.LANES, "as in the program"), (None, "a thread a stage")):
        p50, p95 = _hop(lanes)
        print(f"one message through all stages, idle, {label}: p50 {p50 * 1000:.2f} ms, p95 {p95 * 1000:.2f} ms")
    return 0


def _initialize() -> float:
    took = []
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as folder:
        for number in range(9):
            agent = AgentProcess(model, Path(folder) / str(number))
            agent.initialize()
            took.append(agent.seen[0].at - agent.started)
            agent.close()
    return statistics.median(took)


def _deltas() -> tuple[float, float, int, int]:
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as folder:
        model.on("many", [[Say("x" * (DELTAS * 8), each=8)]])
        with AgentProcess(model, Path(folder) / "home", judged=False, judge=False) as agent:
            agent.initialize()
            session = agent.new_session(Path(folder) / "work")
            agent.answer(agent.prompt(session, "warm up"))
            process = psutil.Process(agent.process.pid)
            memory = process.memory_info().rss
            claude = sum(child.memory_info().rss for child in agent.claude_processes())
            before, begin = process.cpu_times(), time.monotonic()
            agent.answer(agent.prompt(session, "many"))
            after, wall = process.cpu_times(), time.monotonic() - begin
            spent = after.user + after.system - before.user - before.system
    return spent / DELTAS, wall / DELTAS, memory, claude


def _hop(lanes: tuple[int, ...] | None) -> tuple[float, float]:
    """From the agent side in to the client side out, 200 messages a second."""
    arrived = threading.Event()

    def to_client(message: Message) -> None:
        if isinstance(message, Written):
            arrived.set()

    sys.setswitchinterval(0.0005)
    took = []
    runner = ThreadRunner(flow.pipeline(), to_client=to_client, to_agent=lambda message: None, lanes=lanes)
    with runner:
        runner.feed(Line(data=b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'))
        runner.feed(SessionOpened(session="s", cwd="/"))
        runner.wait_idle()
        for number in range(1_000):
            arrived.clear()
            begin = time.perf_counter()
            runner.feed(Text(session="s", text=f"delta {number}", message="m"))
            arrived.wait()
            took.append(time.perf_counter() - begin)
            threading.Event().wait(0.005)
    took.sort()
    return took[len(took) // 2], took[int(len(took) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
