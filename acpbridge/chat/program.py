"""The command line of `acpbridge chat`: arguments, terminal, keyboard and signals around a conversation."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from loguru import logger

from acpbridge.chat.client import Client, Interrupted, Posted, Terminated
from acpbridge.chat.conversation import Conversation
from acpbridge.chat.keyboard import keyboard
from acpbridge.chat.offline import offline
from acpbridge.chat.view import Style, View, clean

# -P: the directory that one chats in must not be searched for modules, or a project with a json.py of its own would run
# as a part of the agent.
AGENT: Final = (sys.executable, "-P", "-m", "acpbridge")
_DEMONSTRATION: Final = (
    "A demonstration: the real Claude Code with a scripted model. Two prompts are sent for you; then it is your turn "
    "(try `tell me a story`, and Ctrl-C in the middle of it; anything else is echoed)."
)
_NOTHING_TO_READ: Final = "Without a terminal there must be a PROMPT, or prompts on stdin, one a line."


def main(argv: list[str], command: Sequence[str] = AGENT) -> int:
    """Hold a conversation with the agent that `command` starts; the exit code.

    0: done; 1: the agent or a prompt failed; 2: wrong arguments; 130 and 143: ended by Ctrl-C or a signal. Call it on
    the main thread: signals go to no other. It takes over the program's logging, of which only warnings are shown.
    """
    options = _parser().parse_args(argv)
    if options.log_file is not None:
        command = (*command, "--log-file", str(options.log_file.resolve()))
    logger.remove()
    logger.add(sys.stderr, level="WARNING", format="{level}: {message}")
    try:
        return _chat(options, command)
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`); the interpreter must not try to flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="acpbridge chat",
        description="Talk to the agent at this terminal, as an editor would.",
        epilog="Ctrl-C cancels the running turn, Ctrl-D ends. Without a terminal each line of stdin is a prompt, "
        "permission is refused (with --offline: allowed once), and the program ends after the last turn.",
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        help="no account and no network: Claude Code with a scripted model, in a temporary directory",
    )
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the session's directory (the current one)")
    parser.add_argument("--log-file", type=Path, metavar="PATH", help="where the agent logs to")
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="the first prompt; its words are joined")
    return parser


def _chat(options: argparse.Namespace, command: Sequence[str]) -> int:
    terminal = sys.stdin is not None and sys.stdin.isatty()
    prompts: tuple[str, ...] = (" ".join(options.prompt),) if options.prompt else ()
    environment: Mapping[str, str] | None = None
    otherwise: Callable[[], tuple[str, ...]] = tuple
    view, write = View(_style()), _writer()
    with ExitStack() as stack:
        if options.offline:
            if options.cwd is not None:
                write(view.problem("--offline works in a temporary directory of its own: leave out --cwd."))
                return 2
            setting = stack.enter_context(offline())
            cwd, environment = setting.cwd, setting.environment

            def demonstration() -> tuple[str, ...]:
                write(view.note(_DEMONSTRATION))
                return setting.prompts

            if terminal or sys.stdin is None:
                prompts = prompts or demonstration()
            else:
                otherwise = demonstration
        else:
            cwd = (options.cwd or Path()).resolve()
            if not cwd.is_dir():
                write(view.problem(f"There is no directory {cwd}."))
                return 2
        # In a pipeline with a prompt stdin is not ours to read.
        reads_input = terminal or not prompts
        if reads_input and sys.stdin is None:
            write(view.problem(_NOTHING_TO_READ))
            return 2
        try:
            client = Client(command, environment=environment)
        except OSError as problem:
            write(view.problem(f"The agent cannot be started: {problem}\nCommand: {shlex.join(command)}"))
            return 1
        typing = keyboard(client.post, write)
        conversation = Conversation(
            client,
            view,
            write,
            cwd=str(cwd),
            prompts=prompts,
            terminal=terminal,
            input_open=reads_input,
            verdict="allow_once" if options.offline else "reject_once",
            login_command=command,
            otherwise=otherwise,
            invite=typing.invite,
        )
        stack.callback(client.close)
        with _signals(client.post):
            if reads_input:
                typing.start()
                stack.callback(typing.close)
            code = conversation.run()
            ended = client.close()
        if conversation.agent_gone:
            write(view.problem(f"The agent ended unexpectedly (exit code {ended.code})."))
            if tail := client.stderr_tail():
                write(view.block("The last that it wrote to stderr:", *(f"  {clean(line)}" for line in tail)))
        return code


def _style() -> Style:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "○●✓✗".encode(encoding)
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    # A Windows console of its own shows escape sequences as text; Windows Terminal and others say who they are.
    capable = "WT_SESSION" in os.environ or "TERM" in os.environ if sys.platform == "win32" else True
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb" and capable
    return Style(colour=colour, unicode=unicode)


def _writer() -> Callable[[str], None]:
    """Writes to stdout at once; a character that its encoding lacks becomes a question mark."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "ascii"

    def write(text: str) -> None:
        if text:
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()

    return write


@contextmanager
def _signals(post: Callable[[Posted], None]) -> Iterator[None]:
    """While the block runs, signals are events.

    Their numbers arrive on a socket, which works on Windows, too, where a main thread that waits for a queue would not
    see a Ctrl-C.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def read() -> None:
        while number := reading.recv(1):
            post(Interrupted() if number[0] == signal.SIGINT else Terminated())

    thread = threading.Thread(target=read, name="chat signals", daemon=True)
    thread.start()
    fd_before = signal.set_wakeup_fd(writing.fileno())
    handlers_before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(fd_before)
        writing.close()
        thread.join()
        reading.close()
