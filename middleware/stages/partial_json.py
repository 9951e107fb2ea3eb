"""The JSON of a tool's input while it streams: which members of the object are complete so far (reference 4.9)."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs

_OUTSIDE = re.compile(r'["{}\[\],]')
_INSIDE = re.compile(r'["\\]')


@attrs.define
class PartialObject:
    """Collects the pieces of one JSON object.

    Each character is looked at once and parsed once, however many pieces and members there are: a member is parsed when
    it is complete, and its text is let go.
    """

    _pieces: list[str] = attrs.field(factory=list)  # of the members that are not complete yet
    _known: dict[str, Any] = attrs.field(factory=dict)
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False  # the last piece ended behind a backslash
    _broken: bool = False

    def feed(self, piece: str) -> dict[str, Any] | None:
        """Take a piece; the object of the members that are complete, when a member was completed by it, else None.

        Members are complete at a comma of the outer object. The end of the object gives nothing: the complete message
        brings the whole input. What is no JSON object after all gives nothing more: that message says what it is.
        """
        if self._broken:
            return None
        comma = self._scan(piece)
        if comma is None:
            self._pieces.append(piece)
            return None
        members = "".join((*self._pieces, piece[:comma])).lstrip()
        self._pieces = [piece[comma + 1 :]]
        try:
            # The object's own brace is in front of its first member only.
            known = json.loads((members if not self._known else "{" + members) + "}")
        except (ValueError, RecursionError):
            known = None
        if not isinstance(known, dict) or not known:
            self._broken = True
            self._pieces.clear()
            return None
        self._known.update(known)
        return dict(self._known)

    def _scan(self, piece: str) -> int | None:
        """Where the last comma of the outer object is in this piece."""
        comma, position = None, 0
        if self._escaped and piece:
            self._escaped, position = False, 1
        while match := (_INSIDE if self._in_string else _OUTSIDE).search(piece, position):
            position = match.end()
            match match.group():
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    self._escaped = position == len(piece)
                    position += 1
                case "{" | "[":
                    self._depth += 1
                case "}" | "]":
                    self._depth -= 1
                case "," if self._depth == 1:
                    comma = match.start()
        return comma
