"""A conversation that needs no account: the real Claude Code in a directory of its own, with a scripted model.

Here belong the script and the directory. The model is `acpbridge.testing.ScriptedModel`; to this client the agent looks
as always.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from acpbridge.testing import Say, Script, ScriptedModel, Think, UseTool

_GREETING: Final = 'def greet(name):\n    return "Hello " + name\n'

_SCRIPTS: Final[Mapping[str, Script]] = {
    "What is in greeting.py?": [
        [
            Think("There is one file; reading it needs no permission."),
            Say("I read the file first.\n"),
            UseTool("Read", {"file_path": "$CWD/greeting.py"}),
        ],
        [Say("It has one function, `greet`, which puts a name behind the word *Hello*.")],
    ],
    "Let it use an f-string and a comma.": [
        [
            Say("One line changes. Claude Code asks before it edits:\n"),
            UseTool(
                "Edit",
                {
                    "file_path": "$CWD/greeting.py",
                    "old_string": '    return "Hello " + name',
                    "new_string": '    return f"Hello, {name}"',
                },
            ),
        ],
        [Say("That was the edit. This conversation was scripted: no model was asked.")],
    ],
}
"""What the demonstration says, by the prompt that is sent for it; the prompts are sent in this order."""

_STORY: Final = "Once upon a time there was a bridge with a stage for everything. " * 12


@attrs.frozen(kw_only=True)
class Offline:
    """`environment` is put over the agent's own; `cwd` is the session's directory."""

    environment: Mapping[str, str]
    cwd: Path
    prompts: tuple[str, ...]


@contextmanager
def offline() -> Iterator[Offline]:
    """A scripted model and a temporary directory with a project and a home, until the block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="acpbridge-chat-", ignore_cleanup_errors=True) as temporary,
        ScriptedModel() as model,
    ):
        # Claude Code names files by their real path; macOS' temporary directory is a link.
        root = Path(temporary).resolve()
        home, cwd = root / "home", root / "project"
        cwd.mkdir()
        (cwd / "greeting.py").write_text(_GREETING, encoding="utf-8")
        for prompt, script in _SCRIPTS.items():
            model.on(prompt, script)
        model.on("story", [[Say(_STORY, each=6, pause=0.1)]])  # long enough to be stopped
        yield Offline(environment=model.prepare(home), cwd=cwd, prompts=tuple(_SCRIPTS))
