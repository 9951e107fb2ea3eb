"""`acpbridge`: arguments, and the one decision that follows. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

EPILOG = """\
Without a command it is an ACP agent on stdin and stdout, for an editor to start.

environment:
  ACPBRIDGE_LOG             log level: debug, info, warning (the default), error
  CLAUDE_CODE_EXECUTABLE    the Claude Code to use instead of the bundled one
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["chat"]:
        from .chat import main as chat

        return chat(given[1:])
    options = _parser().parse_args(given)
    return _serve(options.log_file)


def _parser() -> argparse.ArgumentParser:
    from .wire import agent_version

    parser = argparse.ArgumentParser(
        prog="acpbridge",
        description="Claude Code for any editor that speaks the Agent Client Protocol.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"acpbridge {agent_version()}")
    parser.add_argument("--log-file", type=Path, metavar="PATH", help="log to a file instead of stderr")
    commands = parser.add_subparsers(title="commands", metavar="")
    commands.add_parser("chat", help="try the agent in a terminal (acpbridge chat --help)", add_help=False)
    return parser


def _serve(log_file: Path | None) -> int:
    from . import log
    from .stdio import guard_stdin, guard_stdout

    stdout = guard_stdout()
    stdin = guard_stdin()
    log.configure(log_file)
    # At the default of 5 ms one thread that computes makes a chain of hand-offs take tens of milliseconds.
    sys.setswitchinterval(0.0005)

    from .bridge import Bridge

    bridge = Bridge(stdin, stdout)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):  # SIGHUP is not there on Windows
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: bridge.end())
    return bridge.run()


if __name__ == "__main__":
    sys.exit(main())
