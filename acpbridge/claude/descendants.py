"""Ending what a Claude Code started, when it must be killed and can no longer do it itself.

A Claude Code that ends in its own time ends the commands that it runs. One that is killed leaves them running: it gives
each a process group of its own. What has left its family (`nohup server &`) is left alone, as it is at a normal end.
"""

from __future__ import annotations

from loguru import logger


def kill_descendants(process: int) -> None:
    """Kill what this process has started, and what that has started; to be called while it is still there."""
    import psutil  # only who must kill pays for its import

    try:
        family = psutil.Process(process).children(recursive=True)
    except psutil.Error:
        return  # it has just ended: by itself, so it took them along
    for child in family:
        try:
            logger.warning("killing {} ({}), which Claude Code left running", child.pid, child.name())
            child.kill()
        except psutil.NoSuchProcess:
            continue  # it was quicker
        except psutil.Error as error:
            logger.warning("process {} of Claude Code was not killed: {}", child.pid, error)
