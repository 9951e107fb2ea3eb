"""Play every cancel case many times and print how long each took: `python -m tests.stdio.repeat_cancels`.

Run by hand (docs/cancel-window.md has the table). It exits with 1 at the first case that does not hold.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from acpbridge.testing import ScriptedModel
from tests.stdio.agent_process import AgentProcess
from tests.stdio.cancel_scenarios import CASES, DELAYS, Case, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="repetitions of each case")
    parser.add_argument("--delays", type=int, default=40, help="repetitions of each delay between prompt and cancel")
    parser.add_argument("--only", default="", help="a part of a case's name")
    options = parser.parse_args()
    rows = [(case, options.times) for case in CASES] + [(case, options.delays) for case in DELAYS]
    print("| case | times | median | worst |\n|---|---|---|---|")
    for case, times in rows:
        if options.only in case.__name__:
            print(_row(case, _times(case, times)), flush=True)
    return 0


def _times(case: Case, times: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder, ScriptedModel() as model:
        work = Path(folder) / "work"
        with AgentProcess(model, Path(folder) / "home") as agent:
            agent.initialize()
            session = agent.new_session(work)
            return [play(case, agent, model, session, work) for _ in range(times)]


def _row(case: Case, took: list[float]) -> str:
    name = case.__name__.replace("_", " ")
    return f"| {name} | {len(took)} | {statistics.median(took) * 1000:.0f} ms | {max(took) * 1000:.0f} ms |"


if __name__ == "__main__":
    sys.exit(main())
