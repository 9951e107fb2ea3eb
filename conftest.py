"""Rules that hold for every test: nobody sleeps."""

from __future__ import annotations

import time
from typing import NoReturn

import pytest


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that waits for time to pass is slow when it works and wrong when it does not.

    Waiting for an event is fine (`runner.wait_idle()`, a queue, a process that ends); time itself is moved with
    `middleware.testing.ManualClock` or freezegun.
    """

    def sleep(seconds: float) -> NoReturn:
        raise AssertionError(f"a test slept for {seconds} s: wait for an event, or move a ManualClock")

    monkeypatch.setattr(time, "sleep", sleep)
