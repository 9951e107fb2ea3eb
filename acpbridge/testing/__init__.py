"""acpbridge.testing: a local stand-in for the model's API, so that the real Claude Code runs without an account.

Public. `ScriptedModel` is the server; the other names are the vocabulary of its scripts. `python -m
acpbridge.testing` runs it alone.
"""

from __future__ import annotations

from acpbridge.testing.directive import DirectiveError
from acpbridge.testing.model import Match, ScriptedModel
from acpbridge.testing.record import ModelRequest, Outcome
from acpbridge.testing.requests import Kind
from acpbridge.testing.script import (
    Cut,
    Fail,
    FailInStream,
    Gate,
    Pause,
    Reply,
    Say,
    Script,
    Step,
    Stop,
    Think,
    Usage,
    UseTool,
    Wait,
)

__all__ = [
    "Cut",
    "DirectiveError",
    "Fail",
    "FailInStream",
    "Gate",
    "Kind",
    "Match",
    "ModelRequest",
    "Outcome",
    "Pause",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Step",
    "Stop",
    "Think",
    "Usage",
    "UseTool",
    "Wait",
]
