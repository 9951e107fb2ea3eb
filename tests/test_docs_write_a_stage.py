"""docs/write-a-stage.md is true: its code is run, block by block, and the tests in it are tests."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "write-a-stage.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [
    (TEXT[: match.start("code")].count("\n"), match["code"])
    for match in re.finditer(r"^```python\n(?P<code>.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
]
TESTS = re.findall(r"^def (test_\w+)", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def page() -> Iterator[types.ModuleType]:
    """The page as a module; what fails in it is shown with the page's own line."""
    module = types.ModuleType("write_a_stage")
    sys.modules[module.__name__] = module
    for line, code in BLOCKS:
        exec(compile("\n" * line + code, str(PAGE), "exec", dont_inherit=True), vars(module))
    yield module
    del sys.modules[module.__name__]


def test_every_block_runs(page: types.ModuleType) -> None:
    """Every code block of the page is Python and runs, one after the other; what it asserts holds."""
    assert len(BLOCKS) == TEXT.count("```") / 2 >= 8
    assert page.Shout is not None


@pytest.mark.parametrize("name", TESTS)
def test_the_pages_tests_pass(page: types.ModuleType, name: str) -> None:
    """The tests that the page shows pass."""
    getattr(page, name)()


def test_the_page_breaks_where_a_rule_is_broken(page: types.ModuleType) -> None:
    """The page's tests can fail: with a stage that is a second late, one that forgets to drop, one that swallows."""
    good = page.Patience

    class TooLate(good):  # type: ignore[valid-type,misc]
        def __init__(self, seconds: float = 600.0) -> None:
            super().__init__(seconds=seconds + 1)

    class PassesAll(good):  # type: ignore[valid-type,misc]
        def _answer(self, message: object, context: object) -> object:
            super()._answer(message, context)
            return message

    class Swallows(good):  # type: ignore[valid-type,misc]
        def _answer(self, message: object, context: object) -> None:
            return None

    broken = {
        "test_nobody_answers": TooLate,
        "test_one_answer_in_every_order": PassesAll,
        "test_somebody_answers": Swallows,
        "test_patience_is_a_good_stage": Swallows,
    }
    try:
        for name, stage in broken.items():
            setattr(page, "Patience", stage)  # noqa: B010 (a module made at run time has no such name for mypy)
            with pytest.raises(AssertionError):
                getattr(page, name)()
    finally:
        setattr(page, "Patience", good)  # noqa: B010
