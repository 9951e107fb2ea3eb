"""Characters that are not seen, or that change how others are seen: what becomes of them where a person decides.

A command whose `rm` stands behind U+202E, an option with a second text in tag characters: what is put before a person
must be what they decide about. So each text of a title, a heading, an option, a question or a status goes through one
of two functions, by who reads it after the person:

- `plain`, for words that are only read: such a character is left out, as reference 5.2 does with control characters;
- `spelled`, for what will be acted on (a command, a path, an address, a name to type): it stands there by its code
  point, `<U+202E>`, since without it the person would agree to something else. Control characters are left out.

Only what is shown changes. What goes back (an option's `const`, an answer, a rule, a tool's input) stays as it came;
a lasting choice about such a text is not offered at all (`permissions.suggestions`). The content of files and the
output of commands is not a matter of this module: there a character is content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")

_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point without the variation selectors of emoji, and U+FFF9-FFFB."""

_WRITING = "\u034f\u17b4\u17b5\u180b-\u180f\u200b-\u200d\U000e0100-\U000e01ef"
"""Those of them that writing needs: Persian, Thai, Mongolian, variants of ideographs, joined emoji."""

_LETTER = f"[^\x00-\x7f\x80-\x9f{_HIDDEN}]"

_UNSEEN = re.compile(
    f"(?:(?!(?<={_LETTER})[{_WRITING}]{_LETTER})[{_HIDDEN}]"  # one of them between two letters beyond ASCII is writing
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f])+"  # a second selector selects nothing
)

SPELLED = 8
"""Characters of a row that are spelled; of a longer one the rest is counted, or it would push what is seen away."""


def plain(text: str) -> str:
    """Words, without what is not seen. Line ends and tabs stay; a lone carriage return is a line end."""
    return text if _is_simple(text) else _replaced(_lines(text).replace("\r", "\n"), lambda found: "")


def spelled(text: str) -> str:
    """What will be acted on, with what is not seen by its code point; a lone carriage return is such a character."""
    return text if _is_simple(text) else _replaced(_lines(text).replace("\r", "<U+000D>"), _code_points)


def is_seen(text: str) -> bool:
    """Whether all of a text is seen. Line ends are."""
    return not _CONTROLS.search(text) and not _UNSEEN.search(text)


def apart(texts: Sequence[str]) -> list[str]:
    """The names of several choices: plain, and spelled where a plain one would be empty or the same as another's."""
    names = [plain(text) for text in texts]
    taken = Counter(names)
    return [
        name if name.strip() and taken[name] == 1 else spelled(text) for text, name in zip(texts, names, strict=True)
    ]


def _is_simple(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _lines(text: str) -> str:
    """Ordinary line ends, and no control characters."""
    text = text.replace("\r\n", "\n").replace("\x85", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROLS.sub("", text)


def _replaced(text: str, by: Callable[[re.Match[str]], str]) -> str:
    """Without what is not seen; what is taken out may leave a neighbour that was writing before."""
    while _UNSEEN.search(text):
        text = _UNSEEN.sub(by, text)
    return text


def _code_points(found: re.Match[str]) -> str:
    told = "".join(f"<U+{ord(character):04X}>" for character in found[0][:SPELLED])
    return told if len(found[0]) <= SPELLED else f"{told}<{len(found[0]) - SPELLED} more>"
