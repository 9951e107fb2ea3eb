"""What holds for every test with threads: it leaves none behind, and it looks for trouble."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Whatever a test starts has ended when it ends."""
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not left, f"threads were left behind: {left}"


@pytest.fixture(params=["default", "eager"])
def switching(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test at the interpreter's pace, and with threads that take turns as often as they can."""
    interval = sys.getswitchinterval()
    if request.param == "eager":
        sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
