"""The program's pipeline is wired as it says."""

from __future__ import annotations

from acpbridge import flow
from middleware import ThreadRunner


def test_lanes_divide_the_stages() -> None:
    """The lanes add up to the stages: a runner takes them."""
    runner = ThreadRunner(
        flow.pipeline(), to_client=lambda message: None, to_agent=lambda message: None, lanes=flow.LANES
    )
    with runner:
        assert runner.wait_idle()


def test_the_docstring_names_the_stages_in_order() -> None:
    """Whoever starts reading at flow.py reads the true order."""
    assert flow.__doc__ is not None
    picture = flow.__doc__.split("\n\n")[1].replace("\n", " ")
    named = [word.strip() for word in picture.split("=")][1:-1]
    assert named == [stage.name for stage in flow.pipeline().stages]
