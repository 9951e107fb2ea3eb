"""The order of the stages: start reading here.

    client = ClientEnd = Validation = Notices = AvailableCommands = Compactions = Subagents = IdleCompaction
           = BackgroundTasks = ToolCalls = Plans = StreamedText = CancelDrop = Permissions = Questions = ContextWindow
           = Turns = McpServers = McpCommands = UsageCommand = Claude Code

Read from the right, what Claude Code's event meets: is it what `/usage` says (UsageCommand); is it of a prompt that
never went there (McpCommands); what of the client's MCP servers does it tell (McpServers); which prompt does it belong
to, does it end one (Turns); what does it say of tokens (ContextWindow); how is a question worded (Questions), and an
ask (Permissions); may it still be shown (CancelDrop); was it streamed already (StreamedText); is it a plan, and no tool
call (Plans); as which tool call, announced first, closed once (ToolCalls); what came of a call that was over before its
work (BackgroundTasks); is it of a conversation that idles (IdleCompaction); whose session is it (Subagents); is it
legal ACP (Validation); and how is it written (ClientEnd). What the client says goes the other way.

For Claude Code a subagent's work is its session's work: one cancel, one wire. Only the client may see a session of its
own, so `Subagents` stands on the client's side of the stages that decide about work.
"""

from __future__ import annotations

import os

from middleware import Pipeline, stages

from . import idle
from .client_end import ClientEnd

LANES = (1, 10, 8)
"""How many neighbours share a thread: what is written, what is shown, what is decided.

A thread a stage would do the same (the tests of both runners run so), but a hop costs 30 us when all is idle, and 19 of
them more than the half millisecond that a message may take from one end to the other (tests/bench).
"""

_PAST = (
    stages.Validation,
    stages.Compactions,
    stages.Subagents,
    stages.BackgroundTasks,
    stages.ToolCalls,
    stages.Plans,
)
"""The stages that what is past goes through: the others are about what happens now."""


def pipeline(*, answered: bytes | None = None, hide_claude_auth: bool = False, strict: bool = False) -> Pipeline:
    """The stages of one connection, client side first.

    Args:
        answered: the client's first line, when it is an `initialize` that has its answer already.
        hide_claude_auth: see `login.methods`.
        strict: have illegal ACP raise instead of being logged.
    """
    return Pipeline(
        [
            ClientEnd(answered=answered, hide_claude_auth=hide_claude_auth),
            stages.Validation(strict=strict),
            stages.Notices(),
            stages.AvailableCommands(),
            stages.Compactions(),
            stages.Subagents(),
            stages.IdleCompaction(delay=idle.delay(), environment=os.environ),
            stages.BackgroundTasks(),
            stages.ToolCalls(),
            stages.Plans(),
            stages.StreamedText(),
            # The tap delivers frames and asks of a session in the order in which Claude Code wrote them.
            stages.CancelDrop(one_order=True),
            stages.Permissions(restart=True),
            stages.Questions(),
            stages.ContextWindow(),
            stages.Turns(),
            stages.McpServers(),
            stages.McpCommands(),
            stages.UsageCommand(),
        ]
    )


def past() -> Pipeline:
    """The stages of a session's past, for `sessions.replay`: those of the live pipeline, in its order."""
    live = [stage for stage in pipeline().stages if isinstance(stage, _PAST)]
    return Pipeline([stages.Subagents(replay=True) if isinstance(stage, stages.Subagents) else stage for stage in live])
