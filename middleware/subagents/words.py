"""What a client is told of child sessions: `subagent_update` and `session_message`. Pure functions (A2, W2)."""

from __future__ import annotations

from collections.abc import Iterator

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
            capabilities=CAN_CANCEL if live else None,
            state=acp.RunningStateUpdate() if live else None,
        ),
    )


def state_of(child: Child, stop_reason: str | None = None, error: str | None = None) -> Update:
    """Where the child stands, on its parent's session."""
    state: acp.StateUpdate
    match child.state:
        case "running":
            state = acp.RunningStateUpdate()
        case "requires_action":
            state = acp.RequiresActionStateUpdate()
        case _:
            failure = acp.Error(code=INTERNAL_ERROR, message=error) if error is not None else None
            state = acp.IdleStateUpdate(stop_reason=stop_reason, error=failure)
    return Update(
        session=child.parent or child.session, update=acp.SubagentUpdate(session_id=child.session, state=state)
    )


def place_of(child: Child, cwd: str) -> Update:
    return Update(session=child.parent or child.session, update=acp.SubagentUpdate(session_id=child.session, cwd=cwd))


def spoken(sender: str | None, recipient: str, name: str, text: str, *, outgoing: bool = True) -> Iterator[Update]:
    """A message between two sessions, as each of them sees it. `outgoing`: also in the sender's transcript."""
    content = [acp.TextContent(text=text)]
    if sender is not None and outgoing:
        yield Update(
            session=sender,
            update=acp.SessionMessage(
                message_id=name,
                sender_session_id=sender,
                recipient_session_id=recipient,
                content=content,
                recipient_message_id=name,
            ),
        )
    yield Update(
        session=recipient,
        update=acp.SessionMessage(
            message_id=name,
            sender_session_id=sender,
            recipient_session_id=recipient,
            content=content,
            sender_message_id=name if sender is not None and outgoing else None,
        ),
    )


def tell(child: Child, sender: str | None, name: str, text: str | None) -> Iterator[Update]:
    """A message to a child, once."""
    if text and name not in child.told:
        child.told.add(name)
        yield from spoken(sender, child.session, name, text)


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
