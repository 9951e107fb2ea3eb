"""What a client is told of child sessions: `subagent_update`, `session_message`, their configuration (A2, W2, D2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from middleware import acp
from middleware.errors import INTERNAL_ERROR
from middleware.messages import Message, SessionOpened, Update

from .family import Child, Family

CAN_CANCEL = acp.SubagentSessionCapabilities(cancel=acp.SessionCancelCapabilities())


def announcement(family: Family, child: Child, *, live: bool = True) -> Iterator[Message]:
    """The child, told on its parent's session before anything of it. One from before has no state (`live`)."""
    assert child.parent is not None
    cwd = family.cwd_of(child.session)
    elsewhere = cwd if cwd != family.cwd_of(child.parent) else None
    yield SessionOpened(session=child.session, cwd=cwd)
    yield Update(
        session=child.parent,
        update=acp.SubagentUpdate(
            session_id=child.session,
            title=child.title,
            description=child.description,
            cwd=elsewhere,
            capabilities=CAN_CANCEL if live and not family.replay else None,
            state=acp.RunningStateUpdate() if live else None,
        ),
    )


def state_of(child: Child) -> Update:
    """Where the child stands, on its parent's session."""
    return _told(child, state=_state(child))


def standing(child: Child) -> Update:
    """Where the child stands, told again of what a load has told: one that works can be stopped (7.9)."""
    return _told(
        child,
        state=_state(child),
        capabilities=CAN_CANCEL if child.works else None,
        cwd=acp.NULL if child.homeless else None,
    )


def place_of(child: Child, cwd: str | None) -> Update:
    """Where the child works; None: where its parent does, again."""
    return _told(child, cwd=acp.NULL if cwd is None else cwd)


def _told(child: Child, **members: Any) -> Update:
    return Update(session=child.parent or child.session, update=acp.SubagentUpdate(session_id=child.session, **members))


def _state(child: Child) -> acp.StateUpdate:
    match child.state:
        case "running":
            return acp.RunningStateUpdate()
        case "requires_action":
            return acp.RequiresActionStateUpdate()
    failure = acp.Error(code=INTERNAL_ERROR, message=child.error) if child.error is not None else None
    return acp.IdleStateUpdate(stop_reason=child.stop_reason, error=failure)


def configured(family: Family, child: Child) -> Iterator[Update]:
    """What the child works with, in its own session, when that is another thing than it was told (D2)."""
    options = child.settings.news(family.offer) if child.announced else None
    if options is not None:
        yield Update(session=child.session, update=acp.ConfigOptionUpdate(config_options=options))


def spoken(sender: str | None, recipient: str, name: str, text: str, *, linked: bool = True) -> Iterator[Update]:
    """A message between two sessions, as each of them sees it. `linked`: also in the sender's transcript."""
    if sender is not None and linked:
        yield outgoing(sender, recipient, name, text)
    yield incoming(sender, recipient, name, text, linked=linked)


def outgoing(sender: str, recipient: str, name: str, text: str) -> Update:
    """A message, as its sender sees it."""
    return Update(
        session=sender,
        update=acp.SessionMessage(
            message_id=name,
            sender_session_id=sender,
            recipient_session_id=recipient,
            content=[acp.TextContent(text=text)],
            recipient_message_id=name,
        ),
    )


def incoming(sender: str | None, recipient: str, name: str, text: str, *, linked: bool = True) -> Update:
    """A message, as its recipient sees it. `linked`: it stands in the sender's transcript too."""
    return Update(
        session=recipient,
        update=acp.SessionMessage(
            message_id=name,
            sender_session_id=sender,
            recipient_session_id=recipient,
            content=[acp.TextContent(text=text)],
            sender_message_id=name if sender is not None and linked else None,
        ),
    )


def tell(child: Child, sender: str | None, name: str, text: str | None, *, linked: bool = True) -> Iterator[Update]:
    """A message to a child, once. `linked`: it is shown in the sender's transcript, too."""
    if text and name not in child.told:
        child.told.add(name)
        yield from spoken(sender, child.session, name, text, linked=linked)


def reported(child: Child, launch: str, texts: list[str]) -> Iterator[Update]:
    """What a child gave back to whoever waited for it (L2)."""
    if texts and child.parent is not None:
        yield Update(
            session=child.parent,
            update=acp.SessionMessage(
                message_id=f"{launch}:reply",
                sender_session_id=child.session,
                recipient_session_id=child.parent,
                content=[acp.TextContent(text=text) for text in texts],
            ),
        )
