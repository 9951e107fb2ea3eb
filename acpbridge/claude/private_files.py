"""What must not stand on a command line, where every user of the machine can read it: files for Claude Code instead.

The SDK puts MCP servers (with their headers and environments) and settings (with `env`) on Claude Code's command line.
Both options may be a path too. Claude Code reads the files once, while it starts, so they are there for less than a
second, and only the user can read them. tests/claude/test_private_files.py shows that with the real Claude Code.
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import attrs
from claude_agent_sdk import ClaudeAgentOptions
from loguru import logger


@attrs.frozen
class PrivateFile:
    """A file that is written when Claude Code starts, with this text."""

    path: Path
    text: str = attrs.field(repr=False)

    def write(self) -> None:
        """Make the file, for this user alone. Raises OSError, also when something of that name is there."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(self.text)
        except OSError:  # the disk is full
            self.remove()
            raise

    def remove(self) -> None:
        """Remove it; one that is not there is no error."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.error("{} holds settings of a session and could not be removed: {}", self.path, error)


def without_arguments(options: ClaudeAgentOptions) -> tuple[ClaudeAgentOptions, tuple[PrivateFile, ...]]:
    """The options, with paths in the place of what must not be an argument, and the files that belong there."""
    files = []
    if isinstance(options.mcp_servers, dict) and options.mcp_servers:
        servers = _file(json.dumps({"mcpServers": options.mcp_servers}))
        files.append(servers)
        options = replace(options, mcp_servers=servers.path)
    if options.settings is not None and options.settings.lstrip().startswith("{"):
        settings = _file(options.settings)
        files.append(settings)
        options = replace(options, settings=str(settings.path))
    return options, tuple(files)


@contextmanager
def present(files: Iterable[PrivateFile]) -> Iterator[None]:
    """Have the files for as long as Claude Code starts. Raises OSError when one cannot be written."""
    with ExitStack() as written:
        for file in files:
            file.write()
            written.callback(file.remove)
        yield


def _file(text: str) -> PrivateFile:
    # Nobody can guess the name, and what exists is not opened.
    return PrivateFile(Path(tempfile.gettempdir()) / f"acpbridge-{uuid.uuid4()}.json", text)
