"""The list of rules fits the code, the tests and the documentation. Whether each test guards its rule is what `run.py`
finds out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutations.rules import RULES, Rule
from tests.mutations.run import ROOT, main, table, without

DOCUMENT = ROOT / "docs" / "cancel-window.md"


def test_the_documentation_lists_the_rules() -> None:
    """docs/cancel-window.md ends with exactly the table that the script prints."""
    written = DOCUMENT.read_text(encoding="utf-8").partition("## The rules\n")[2].split("\n")
    assert [line for line in written if line.startswith("|")] == list(table())


def test_the_rules_are_many_and_different() -> None:
    """Each rule has a name of its own, and its own way of being taken out."""
    assert len(RULES) >= 25
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert len({(rule.module, rule.old, rule.new) for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_fits(rule: Rule) -> None:
    """What keeps the rule stands in its module once, is code without it, too, and its guard is there."""
    code = (ROOT / rule.module).read_text(encoding="utf-8")
    changed = without(rule, code)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(code))
    path, test = rule.guard.split("::")
    tests = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    assert test in [node.name for node in tests if isinstance(node, ast.FunctionDef)]


def test_a_rule_that_is_not_there() -> None:
    """A row that no longer fits the code is an error, not a rule that survived."""
    with pytest.raises(ValueError, match="has this 0 times: gone"):
        without(Rule("Gone.", "m.py", "gone", "", "g"), "code")
    with pytest.raises(ValueError, match="has this 2 times: a"):
        without(Rule("Twice.", "m.py", "a", "", "g"), "a a")


def test_the_table_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--table` prints what the documentation holds."""
    assert main(["--table"]) == 0
    assert capsys.readouterr().out.splitlines() == list(table())


def test_the_checkout_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule is taken out of a copy: its guard goes red there, and the code here is as it was."""
    before = {rule.module: (ROOT / rule.module).read_bytes() for rule in RULES}
    assert main(["A failed turn is not held."]) == 0
    assert "red   A failed turn is not held.\n" in capsys.readouterr().out
    assert before == {module: Path(ROOT / module).read_bytes() for module in before}
