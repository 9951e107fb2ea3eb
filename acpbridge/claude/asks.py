"""What one Claude Code has asked and was not answered yet, and the requests of its that are answered at once.

Who is asked, and what, is decided in the stages; the words are `control`'s.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from middleware.messages import Answer, Message, PermissionAsk

from . import control
from .control import Frame
from .directories import placed
from .files import with_file


@attrs.define(eq=False)
class OpenAsks:
    """The open asks of one Claude Code.

    Args:
        session: the session's name.
        cwd: its working directory, to which the files of an ask are relative.
        send: writes a frame to this Claude Code.
    """

    session: str
    cwd: str
    send: Callable[[Frame], None]
    _open: set[str] = attrs.field(factory=set, init=False)

    def asked(self, frame: Frame) -> tuple[Message, ...]:
        """The messages of a `control_request`; what no stage decides is answered here."""
        subagent = placed(control.subagent_of(self.session, frame), self.cwd)
        notices = control.notices_of(self.session, frame)
        if notices is not None:
            self.send(control.noted(frame))
            return (*subagent, *notices)
        ask = control.ask_of(self.session, frame)
        if not isinstance(ask, Message):
            self.send(ask)
            return subagent
        self._open.add(str(frame.get("request_id")))
        return (*subagent, with_file(ask, self.cwd) if isinstance(ask, PermissionAsk) else ask)

    def withdrawn(self, frame: Frame) -> tuple[Message, ...]:
        """The messages of a `control_cancel_request`: nothing, where the ask was answered meanwhile."""
        withdrawal = control.withdrawal_of(self.session, frame)
        if withdrawal.ask not in self._open:
            return ()
        self._open.discard(withdrawal.ask)
        return (withdrawal,)

    def answer(self, message: Answer) -> bool:
        """Write the answer to an ask; False when that was withdrawn meanwhile, or is another Claude Code's."""
        if message.ask not in self._open:
            return False
        self._open.discard(message.ask)
        self.send(control.response_to(message))
        return True
