"""Take each rule of `CancelDrop` and `Turns` out of the code in turn, and see its test go red.

    uv run python tests/mutations/run.py                 all rules; exit code 1 when one survives
    uv run python tests/mutations/run.py told backstop   the rules whose name has one of these words
    uv run python tests/mutations/run.py --table         the rules and their tests as docs/cancel-window.md lists them

Nothing in the checkout is changed: each rule is taken out of a copy in a temporary directory, and pytest runs there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutations.rules import RULES, Rule  # noqa: E402

COPIED = ("middleware", "tests/stages", "tests/timing", "tests/core.py", "conftest.py", "setup.cfg")
PROVE = "import middleware, pathlib, sys; sys.exit(pathlib.Path(middleware.__file__).parents[1] != pathlib.Path.cwd())"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only rules whose name has one of these words")
    parser.add_argument("--table", action="store_true", help="print the table for docs/cancel-window.md")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many rules are tried at a time")
    options = parser.parse_args(arguments)
    if options.table:
        say("\n".join(table()))
        return 0
    chosen = [rule for rule in RULES if not options.words or any(word in rule.name for word in options.words)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        trials = Trials(Path(directory))
        if not trials.are_sound(chosen):
            say("The tests are red, or do not test the copy, before anything is taken out of it.")
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            survivors = [rule for rule, red in zip(chosen, pool.map(trials.is_red, chosen), strict=True) if not red]
    say(f"{len(chosen)} rules, {len(survivors)} of them guarded by nobody")
    return 1 if survivors else 0


def table() -> Iterator[str]:
    """The rules as the rows of a table, each with its test."""
    yield "| rule | kept in | guarded by |"
    yield "|---|---|---|"
    for rule in RULES:
        path, test = rule.guard.split("::")
        yield f"| {rule.name} | {Path(rule.module).stem} | {Path(path).stem}: {test.removeprefix('test_')} |"


class Trials:
    """Copies of the code under one directory, a rule less in each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.untouched = directory / "untouched"
        for part in COPIED:
            copy = self.untouched / part
            copy.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / part, copy)

    def are_sound(self, rules: Sequence[Rule]) -> bool:
        """Whether the guards are green while nothing is missing, and it is the copy that they test."""
        environment = _environment(self.untouched)
        proof = subprocess.run([sys.executable, "-c", PROVE], cwd=self.untouched, env=environment, check=False)
        run = _pytest(self.untouched, sorted({rule.guard for rule in rules}))
        if run.returncode != 0:
            say(run.stdout)
        return proof.returncode == run.returncode == 0

    def is_red(self, rule: Rule) -> bool:
        """Whether the rule's guard fails without the rule."""
        copy = self.directory / f"rule-{RULES.index(rule)}"
        shutil.copytree(self.untouched, copy)
        module = copy / rule.module
        module.write_text(without(rule, module.read_text(encoding="utf-8")), encoding="utf-8")
        run = _pytest(copy, [rule.guard])
        shutil.rmtree(copy)
        red = run.returncode == 1  # tests failed; anything else, such as code that cannot be imported, shows nothing
        say(f"{'red  ' if red else 'GREEN'} {rule.name}")
        if not red:
            say(f"      {rule.guard}\n{run.stdout}")
        return red


def without(rule: Rule, code: str) -> str:
    """The code of a module without the rule.

    Raises:
        ValueError: what keeps the rule is not there, or there twice.
    """
    if code.count(rule.old) != 1:
        raise ValueError(f"{rule.name} {rule.module} has this {code.count(rule.old)} times: {rule.old}")
    return code.replace(rule.old, rule.new)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _pytest(copy: Path, guards: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *guards]
    return subprocess.run(command, cwd=copy, env=_environment(copy), capture_output=True, text=True, check=False)


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
