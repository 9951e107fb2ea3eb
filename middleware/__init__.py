"""middleware: the stages of a bridge between an ACP client and Claude Code, and what runs them.

No stdio, no JSON-RPC, no asyncio and no SDK: `import middleware` loads none of them. Start reading at
`middleware.pipeline` and `middleware.stage`; the stages themselves are in `middleware.stages`.
"""

from __future__ import annotations

from . import messages, stages
from .clock import Clock, ManualClock, SystemClock
from .errors import (
    Failure,
    IllegalMessage,
    MiddlewareError,
    PipelineError,
    StageDefinitionError,
    StageOutputError,
)
from .in_flight import InFlight
from .messages import Message, ToAgent, ToClient, Toward
from .pipeline import Pipeline
from .profile import ClientProfile
from .stage import Context, Expired, Outcome, Stage, on
from .stepping import StepRunner
from .threaded import ThreadRunner

__all__ = [
    "ClientProfile",
    "Clock",
    "Context",
    "Expired",
    "Failure",
    "IllegalMessage",
    "InFlight",
    "ManualClock",
    "Message",
    "MiddlewareError",
    "Outcome",
    "Pipeline",
    "PipelineError",
    "Stage",
    "StageDefinitionError",
    "StageOutputError",
    "StepRunner",
    "SystemClock",
    "ThreadRunner",
    "ToAgent",
    "ToClient",
    "Toward",
    "messages",
    "on",
    "stages",
]
