"""Logging: on stderr or into a file, never on stdout, which belongs to the protocol."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from loguru import logger

DEFAULT_LEVEL = "WARNING"
LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL")

_FORMAT = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <8} {thread.name} {name}: {message}"


def configure(path: Path | None = None) -> None:
    """Log to `path`, or to stderr; the level is the environment's `ACPBRIDGE_LOG`.

    Values of variables never go into a trace (`diagnose`): they may be prompts, keys or headers.

    Raises:
        OSError: the file cannot be written.
    """
    wished = os.environ.get("ACPBRIDGE_LOG", "").strip().upper()
    level = wished if wished in LEVELS else DEFAULT_LEVEL
    logger.remove()
    logger.add(
        path if path is not None else sys.stderr,
        level=level,
        format=_FORMAT,
        colorize=False,
        backtrace=False,
        diagnose=False,
    )
    if wished and wished not in LEVELS:
        logger.warning("ACPBRIDGE_LOG is no level; it may be one of {}", ", ".join(LEVELS))
    # The SDK reports the end of each stream that it reads as an error; the agent end does so in the session's words.
    logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)
