"""The order of the stages: start reading here.

    client = ClientEnd = Validation = ToolCalls = StreamedText = CancelDrop
                                        = Permissions = ContextWindow = Subagents = Turns = Claude Code

Read from the right, what Claude Code's event meets: which prompt does it belong to, does it end one (Turns); whose
output is it (Subagents); what does it say of tokens (ContextWindow); how is an ask worded (Permissions); may it still
be shown (CancelDrop); was it streamed already (StreamedText); as which tool call, announced first, closed once
(ToolCalls); is it legal ACP (Validation); and how is it written (ClientEnd). What the client says goes the other way.
"""

from __future__ import annotations

from middleware import Pipeline, stages

from .client_end import ClientEnd


def pipeline(*, answered: bytes | None = None, strict: bool = False) -> Pipeline:
    """The stages of one connection, client side first.

    Args:
        answered: the client's first line, when it is an `initialize` that has its answer already.
        strict: have illegal ACP raise instead of being logged.
    """
    return Pipeline(
        [
            ClientEnd(answered=answered),
            stages.Validation(strict=strict),
            stages.ToolCalls(),
            stages.StreamedText(),
            # The tap delivers frames and asks of a session in the order in which Claude Code wrote them.
            stages.CancelDrop(one_order=True),
            stages.Permissions(),
            stages.ContextWindow(),
            stages.Subagents(),
            stages.Turns(),
        ]
    )
