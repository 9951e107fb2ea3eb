"""Which session a prompt's request is of. No stage: stages ask it that a cancel concerns.

`$/cancel_request` of a prompt is a cancel of its session in another form, and names the request only (reference C2).
"""

from __future__ import annotations

import attrs

from middleware.messages import Prompt, RequestFailed, RequestId, TurnEnded


@attrs.define
class PromptRequests:
    """The prompts of a connection that have no answer yet."""

    _open: dict[RequestId, str] = attrs.field(factory=dict)

    def made(self, prompt: Prompt) -> None:
        self._open[prompt.request] = prompt.session

    def answered(self, answer: TurnEnded | RequestFailed) -> None:
        self._open.pop(answer.request, None)

    def session_of(self, request: RequestId) -> str | None:
        """The session that giving this request up cancels; None for any other request, and for one that is answered."""
        return self._open.get(request)
