"""After how long an idle session is compacted: the variables that say so."""

from __future__ import annotations

import pytest

from acpbridge import idle
from middleware.stages.idle_compaction import DELAY
from tests.core import logged

OURS, THEIRS = idle.VARIABLES


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, DELAY),
        ({OURS: "1500"}, 1.5),
        ({THEIRS: "0"}, 0.0),
        ({OURS: " 2147483647 ", THEIRS: "5"}, 2_147_483.647),
        ({OURS: "", THEIRS: "5"}, 0.005),
    ],
)
def test_delay(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], seconds: float) -> None:
    """Milliseconds; our own variable comes first, and without one it is 54 minutes."""
    for name in (OURS, THEIRS):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with logged() as entries:
        assert idle.delay() == seconds
    assert entries == []


@pytest.mark.parametrize("value", ["2147483648", "-1", "1.5", "soon", "9" * 5000, "\u0661"])
def test_no_delay(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """What is no number of milliseconds, or too large, is ignored with a log line that does not quote it."""
    monkeypatch.delenv(THEIRS, raising=False)
    monkeypatch.setenv(OURS, value)
    with logged() as entries:
        assert idle.delay() == DELAY
    assert [entry for entry in entries if OURS in entry]
