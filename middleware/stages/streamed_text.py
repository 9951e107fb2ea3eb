"""Each text is shown once: a complete message repeats what was streamed, and only what was not streamed is new.

Owns the pieces that passed since the message began, by lane (the main thread, or a subagent's call). It stands on the
client's side of `CancelDrop`, so "streamed" means "the client has it": text that was dropped is no repetition.
What belongs to tool calls is not here.
"""

from __future__ import annotations

import attrs

from middleware.messages import Message, MessageStarted, SessionClosed, Text
from middleware.stage import Context, Outcome, Stage, on


@attrs.define
class _Piece:
    """A run of streamed text of one kind in one message."""

    kind: type[Text]
    message: str | None
    text: list[str]

    def goes_with(self, other: Text) -> bool:
        return self.kind is type(other) and (self.message == other.message or None in (self.message, other.message))


Lane = tuple[str, str | None]


@attrs.define(eq=False)
class StreamedText(Stage):
    """Pass streamed text; of a complete message pass the part that was not streamed (reference 4.7).

    Blocks are matched in their order: a block that begins with a streamed run of its kind gives the rest of it, any
    other is passed whole. A message that was tried again (the stream broke, and the answer came whole under another
    id) is no repetition. Empty text is never passed.
    """

    _streamed: dict[Lane, list[_Piece]] = attrs.field(factory=dict, init=False)

    @on(MessageStarted)
    def _started(self, message: MessageStarted, context: Context) -> Outcome:
        self._streamed.pop((message.session, message.parent), None)
        return message

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        if not message.text:
            return None
        return self._complete(message) if message.whole else self._piece(message)

    def _piece(self, message: Text) -> Message:
        pieces = self._streamed.setdefault((message.session, message.parent), [])
        if pieces and pieces[-1].goes_with(message):
            pieces[-1].text.append(message.text)
        else:
            pieces.append(_Piece(type(message), message.message, [message.text]))
        return message

    def _complete(self, message: Text) -> Message | None:
        pieces = self._streamed.get((message.session, message.parent), [])
        for index, piece in enumerate(pieces):
            if not piece.goes_with(message):
                continue
            streamed = "".join(piece.text)
            if message.text.startswith(streamed):
                del pieces[: index + 1]
                rest = message.text[len(streamed) :]
                return attrs.evolve(message, text=rest) if rest else None
            if streamed.startswith(message.text):  # two blocks of a kind were streamed one right behind the other
                piece.text = [streamed[len(message.text) :]]
                return None
        return message

    @on(SessionClosed)
    def _closed(self, message: SessionClosed, context: Context) -> Outcome:
        for lane in [lane for lane in self._streamed if lane[0] == message.session]:
            del self._streamed[lane]
        return message
