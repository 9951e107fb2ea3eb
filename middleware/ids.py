"""Names for what has none: where the ids come from that we make up."""

from __future__ import annotations

import uuid


def new_uuid() -> str:
    """A random UUID, as a text. Tests give a stage another source of ids."""
    return str(uuid.uuid4())
