"""`acpbridge`: arguments, and the one decision that follows. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acpbridge import __version__
from acpbridge.descriptors import guard_stdin, guard_stdout, write_all
from acpbridge.handshake import early_answer

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

EPILOG = """\
Without a command it is an ACP agent on stdin and stdout, for an editor to start.

environment:
  ACPBRIDGE_LOG             log level: debug, info, warning (the default), error
  CLAUDE_CODE_EXECUTABLE    the Claude Code to use instead of the bundled one
  ACPBRIDGE_IDLE_COMPACT_DELAY_MS
                            after how long a conversation that idles is compacted
  CLAUDE_MODEL_CONFIG       JSON, an object: availableModels and modelOverrides, as in settings.json
  CLAUDE_CODE_THINKING_DISPLAY   how thinking is shown: summarized, omitted
  MAX_THINKING_TOKENS       tokens for thinking, 0 for none
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        return _serve(None, hide_claude_auth=False)
    if "--cli" in given:
        from .cli import run

        return run([word for word in given if word not in ("--cli", "--hide-claude-auth")])
    if "chat" in given[:3]:  # nothing but --log-file PATH can stand before it
        from .chat import main as chat

        place = given.index("chat")
        return chat([*given[:place], *given[place + 1 :]])
    chosen = _parsed(given)
    return _serve(chosen.log_file, hide_claude_auth=chosen.hide_claude_auth)


def _parsed(given: list[str]) -> Namespace:
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(
        prog="acpbridge",
        description="Claude Code for any editor that speaks the Agent Client Protocol.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-v", "--version", action="version", version=f"acpbridge {__version__}")
    parser.add_argument("--cli", action="store_true", help="run Claude Code itself with all other arguments")
    parser.add_argument("--log-file", type=Path, metavar="PATH", help="log to a file instead of stderr")
    parser.add_argument("--hide-claude-auth", action="store_true", help="do not use claude.ai subscriptions")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("chat", help="try the agent in a terminal (acpbridge chat --help)", add_help=False)
    return parser.parse_args(given)


def _serve(log_file: Path | None, *, hide_claude_auth: bool) -> int:
    stdout, stdin = guard_stdout(), guard_stdin()
    # At the default of 5 ms one thread that computes makes a chain of hand-offs take tens of milliseconds.
    sys.setswitchinterval(0.0005)
    early = early_answer(stdin, hide_claude_auth=hide_claude_auth)
    if early is not None:
        write_all(stdout, early[1])

    from . import log
    from .bridge import Bridge

    try:
        log.configure(log_file)
    except OSError as error:
        sys.stderr.write(f"acpbridge: {log_file} cannot be written: {error.strerror}; logging to stderr\n")
        log.configure()
    bridge = Bridge(stdin, stdout, answered=early[0] if early is not None else None, hide_claude_auth=hide_claude_auth)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):  # SIGHUP is not there on Windows
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: bridge.end())
    return bridge.run()


if __name__ == "__main__":
    sys.exit(main())
