"""The summary of a compaction, without what was written around it for the model."""

from __future__ import annotations

from typing import Any

import pytest

from acpbridge.claude.summaries import summary_in

BEFORE = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers "
    "the earlier portion of the conversation.\n\n<system-reminder>\n<tools-used-before-summary></tools-used-before-"
    "summary>\n</system-reminder>\nSummary:\n"
)
DETAILS = (
    "\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you "
    "generated), read the full transcript at: /home/x.jsonl"
)
GO_ON = (
    "\nContinue the conversation from where it left off without asking the user any further questions. Resume directly"
)
KEPT = "\n\nThe messages after this summary are the most recent messages from before compaction, kept verbatim."


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (f"{BEFORE}What was.{DETAILS}{GO_ON}", "What was."),
        (f"{BEFORE}One.\n\nTwo.{DETAILS}{KEPT}", "One.\n\nTwo."),
        (f"{BEFORE}What was.{GO_ON}", "What was."),
        (f"{BEFORE}What was.{KEPT}", "What was."),
        (f"{BEFORE}What was.", "What was."),
        ("<analysis>hm\nhm</analysis>\n\n<summary>\nWhat was.\n</summary>\n", "What was."),
        (f"{BEFORE}<analysis>hm</analysis><summary>What was.</summary>{GO_ON}", "What was."),
        ("What was.\nSummary:\nof a part", "What was.\nSummary:\nof a part"),
        ("We continue the conversation.", "We continue the conversation."),
        ("", None),
        (BEFORE, None),
    ],
)
def test_text(text: str, summary: str | None) -> None:
    """Only the summary is left of Claude Code 2.1.332's words to the model, and of the model's own."""
    assert summary_in(text) == summary
    assert summary_in([{"type": "text", "text": text}]) == summary


@pytest.mark.parametrize("content", [None, 7, {}, [], [None, {"type": "image"}, {"type": "text"}]])
def test_no_text(content: Any) -> None:
    """Content without a text has no summary."""
    assert summary_in(content) is None
