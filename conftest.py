"""Rules that hold for every test: nobody sleeps."""

from __future__ import annotations

import sys
import time

import pytest

_OURS = ("acpbridge", "middleware", "tests", "conftest", "test_", "__main__")


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that waits for time to pass is slow when it works and wrong when it does not.

    Waiting for an event is fine (`runner.wait_idle()`, a queue, a process that ends); time itself is moved with
    `middleware.testing.ManualClock` or freezegun. The standard library may poll where it has no better way: waiting
    for a process with a timeout does.
    """
    really_sleep = time.sleep

    def sleep(seconds: float) -> None:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith(_OURS):
            raise AssertionError(f"{caller} slept for {seconds} s: wait for an event, or move a ManualClock")
        really_sleep(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
