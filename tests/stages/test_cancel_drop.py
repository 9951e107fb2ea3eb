"""`CancelDrop` alone: every row of its table, step by step. Every test ends with the count of the answers.

What it does in a pipeline, in every order and as time passes, is in tests/timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from middleware import Failure, Message, Pipeline, StepRunner
from middleware.messages import (
    AgentGone,
    AskWithdrawn,
    CancelRequest,
    Closing,
    Compaction,
    CompactionSummary,
    MessageCompleted,
    MessageStarted,
    PastSubagent,
    PermissionAnswer,
    Request,
    RequestFailed,
    SessionRestarted,
    SubagentHistory,
    Thought,
    TokenCount,
    ToolDenied,
    ToolProgress,
    ToolResponse,
    ToolResult,
    TurnEnded,
    Usage,
    WorkStopped,
)
from middleware.stages import CancelDrop
from middleware.stages.cancel_window import REMEMBERED
from middleware.testing import assert_one_answer, check_stage
from tests.core import logged
from tests.timing.words import (
    DENIED,
    S,
    ask_for,
    cancel,
    closed,
    echoed,
    gate,
    gave,
    level,
    play,
    prompt,
    reply,
    requesting,
    shown,
    started,
    state,
    stops,
    subagent,
    text,
    tool_input,
    tool_result,
    unlisted,
    use,
    use_begins,
    verdicts,
    withdrawn,
    work,
)

Run = Callable[..., StepRunner]


@pytest.fixture
def run_with() -> Iterator[Run]:
    """Runners with `CancelDrop`; when the test is over, every ask has had exactly one answer, and no timer is left."""
    runners: list[StepRunner] = []

    def make(**arguments: Any) -> StepRunner:
        runners.append(StepRunner(Pipeline([CancelDrop(**arguments)])))
        return runners[-1]

    yield make
    for runner in runners:
        runner.feed(Closing()).close()
        for asked in [message for message in runner.fed if message.opens is not None and message.opens[0] == "request"]:
            runner.fed.remove(asked)  # the answers of prompts are given by `Turns`
        assert_one_answer(runner)
        assert len(runner.timers) == 0


@pytest.fixture
def run(run_with: Run) -> StepRunner:
    """One with a source of one order."""
    return run_with(one_order=True)


@pytest.fixture
def two(run_with: Run) -> StepRunner:
    """One with a source whose asks may run ahead of its stream."""
    return run_with()


def over(number: int, session: str = S, **members: Any) -> TurnEnded:
    return TurnEnded(session=session, request=number, prompt=f"p{number}", **members)


def begin(run: StepRunner, session: str = S) -> None:
    """A prompt runs."""
    play(run, prompt(1, session), started(1, session), work("running", session))


def stop(run: StepRunner) -> None:
    """A prompt runs and is cancelled; the client has not been told yet."""
    begin(run)
    play(run, cancel())


def tell(run: StepRunner) -> None:
    """A prompt was cancelled, and the client was told that its work ended."""
    stop(run)
    play(run, over(1, stop_reason="cancelled"))


STAGES = {"closed": begin, "open": stop, "told": tell}


def usage() -> Usage:
    return Usage(session=S, used=1, size=2)


# ------------------------------------------------------------------------------------------------- the stream's rows


@pytest.mark.parametrize(("window", "passes"), [("closed", True), ("open", True), ("told", False)])
@pytest.mark.parametrize(
    "message",
    [
        text("words"),
        text("words", whole=True),
        text("words", parent="a foreground subagent's call"),
        Thought(session=S, text="hm"),
        usage(),
        use("x"),
        use_begins("x"),
        tool_input("x"),
        ToolProgress(session=S, tool_use="x"),
        ToolResponse(session=S, tool_use="x", name="Write"),
        ToolDenied(session=S, tool_use="x"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_streams(run: StepRunner, window: str, passes: bool, message: Message) -> None:
    """What the stopped work streams passes until the client was told of its end, and is dropped from then on."""
    STAGES[window](run)
    assert gave(run, message) == ([message] if passes else [])


@pytest.mark.parametrize("window", list(STAGES))
@pytest.mark.parametrize(
    "message",
    [
        MessageStarted(session=S, message="m"),
        MessageCompleted(session=S),
        work("idle"),
        state(1, "completed"),
        level(),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_only_stages_need(run: StepRunner, window: str, message: Message) -> None:
    """What shows nothing to anybody passes always: other stages keep their books by it."""
    STAGES[window](run)
    assert message in gave(run, message)


@pytest.mark.parametrize(("window", "fate"), [("closed", "as it is"), ("open", "failed"), ("told", "dropped")])
def test_a_tool_result(run: StepRunner, window: str, fate: str) -> None:
    """A tool of stopped work has failed, whatever it gave; when the client was told, nothing is said of it."""
    begin(run)
    play(run, use("x"))
    if window != "closed":
        play(run, cancel())
    if window == "told":
        play(run, over(1))
    failed = ToolResult(session=S, tool_use="x", content="result of x", is_error=True)
    assert gave(run, tool_result("x")) == {"as it is": [tool_result("x")], "failed": [failed], "dropped": []}[fate]


def test_what_follows_a_dropped_tool_use(run: StepRunner) -> None:
    """A tool use that was dropped stays so when the window has closed: its message, progress and result, too."""
    tell(run)
    play(run, use_begins("x"), prompt(2), started(2))
    late = [use("x"), ToolProgress(session=S, tool_use="x"), tool_result("x"), ToolDenied(session=S, tool_use="x")]
    assert gave(run, *late, ToolResponse(session=S, tool_use="x", name="Write")) == []
    assert gave(run, ask_for("x")) == [ask_for("x").denied(DENIED)]


def test_what_was_reached_before_the_client_was_told(run: StepRunner) -> None:
    """A call that the client held was closed when it was told: nothing of it comes any more, not even a question."""
    begin(run)
    play(run, use_begins("x"), use_begins("y"), cancel(), over(1))
    assert gave(run, use("x"), tool_result("x"), ToolResponse(session=S, tool_use="x", name="Write")) == []
    assert gave(run, ask_for("x")) == [ask_for("x").denied(DENIED)]
    assert gave(run, prompt(2), started(2), use("y"), ask_for("y"))[2:] == [ask_for("y").denied(DENIED)]


def test_only_so_many_tool_uses_are_remembered(run: StepRunner) -> None:
    """The oldest is forgotten first."""
    tell(run)
    play(run, *(use(f"x{number}") for number in range(REMEMBERED + 1)), prompt(2), started(2))
    assert gave(run, tool_result("x0")) == [tool_result("x0")]
    assert gave(run, tool_result("x1")) == []


def test_a_message_is_not_cut_in_the_middle(run: StepRunner) -> None:
    """When the window closes inside a message, its pieces stay hidden: the complete message brings all of it (C31)."""
    tell(run)
    one, two, whole = text("one ", message="m1"), text("two", message="m1"), text("one two", message="m1", whole=True)
    assert gave(run, prompt(2), one, echoed(2), two, whole) == [prompt(2), echoed(2), whole]
    play(run, MessageCompleted(session=S))
    assert gave(run, text("three")) == [text("three")]


def test_lanes_are_cut_one_by_one(run: StepRunner) -> None:
    """A piece that was dropped hides the rest of its own message only, and the next message of its lane begins anew."""
    tell(run)
    one, two = text("one ", message="m1"), text("two", message="m1")
    play(run, prompt(2), one, echoed(2))
    child = text("child", message="m1", parent="call")
    assert gave(run, child, two, MessageStarted(session=S, message="m", parent="call"), two) == [
        child,
        MessageStarted(session=S, message="m", parent="call"),
    ]
    assert gave(run, MessageStarted(session=S, message="m"), text("three"))[1:] == [text("three")]


def test_a_compaction(run: StepRunner) -> None:
    """A compaction that was cancelled is not shown behind its answer, however it ends; the next prompt's is."""
    begins, piece = Compaction(session=S, state="in_progress", compaction="c"), CompactionSummary(session=S, text="s")
    failed = Compaction(session=S, state="failed", compaction="c", error="aborted")
    tell(run)
    assert gave(run, begins, piece, failed) == []
    assert gave(run, prompt(2), started(2), begins, piece, failed)[2:] == [begins, piece, failed]


def test_messages_without_names(run: StepRunner) -> None:
    """Of a source that does not name its messages what comes in the window is dropped, and nothing of the next prompt:
    a bridge may have neither names nor `MessageStarted`."""
    tell(run)
    assert gave(run, prompt(2), text("too late"), started(2), text("answer")) == [prompt(2), started(2), text("answer")]


# ------------------------------------------------------------------------------------------------- opening


def test_the_client_is_told_before_the_answer(run: StepRunner) -> None:
    """What is open is closed before the prompt is answered, once."""
    stop(run)
    assert gave(run, over(1)) == [WorkStopped(session=S), over(1)]
    assert gave(run, work("idle")) == [work("idle")]


def test_somebody_else_cancelled_it(run: StepRunner) -> None:
    """A prompt that ran and is `cancelled` without the client's doing leaves nothing open, and hides nothing; one that
    never ran has nothing to close."""
    begin(run)
    queued, ran = over(2, stop_reason="cancelled"), over(1, stop_reason="cancelled", usage=TokenCount())
    assert gave(run, prompt(2), queued, ran) == [prompt(2), queued, WorkStopped(session=S), ran]
    assert gave(run, text("hello")) == [text("hello")]
    assert gave(run, prompt(3), started(3), over(3, usage=TokenCount()))[2:] == [over(3, usage=TokenCount())]


def test_the_client_is_told_with_the_last_answer(run: StepRunner) -> None:
    """The work has ended when the last of the stopped prompts has its answer."""
    begin(run)
    play(run, prompt(2), prompt(3), cancel(), prompt(4))
    assert gave(run, over(2), over(3)) == [over(2), over(3)]
    assert gave(run, text("tail"), over(1)) == [text("tail"), WorkStopped(session=S), over(1)]
    assert gave(run, text("nothing")) == []


def test_a_failure_is_an_answer_too(run: StepRunner) -> None:
    """A stopped prompt that the agent end refuses has had its answer; another request's failure is none."""
    refused = RequestFailed(request=1, failure=Failure.internal())
    other = RequestFailed(request=7, failure=Failure.internal())
    stop(run)
    assert gave(run, other, refused) == [other, WorkStopped(session=S), refused]
    assert gave(run, text("nothing")) == []


def test_a_cancel_when_idle(run: StepRunner) -> None:
    """With nothing to stop there is nothing to hide: what comes next is shown."""
    begin(run)
    play(run, over(1), work("idle"))
    assert gave(run, cancel(), text("hello"), ask_for("x")) == [cancel(), text("hello"), ask_for("x")]


def test_a_cancel_of_claude_codes_own_work(run: StepRunner) -> None:
    """Work that no prompt asked for has ended when Claude Code is idle: then the client is told."""
    play(run, work("running"), cancel())
    assert gave(run, text("tail"), work("requires_action")) == [text("tail"), work("requires_action")]
    assert gave(run, prompt(2), over(2)) == [prompt(2), over(2)]  # it came behind the cancel
    assert gave(run, work("idle")) == [WorkStopped(session=S), work("idle")]
    assert gave(run, text("nothing")) == []


def test_claude_code_is_gone_while_its_own_work_is_stopped(run: StepRunner) -> None:
    """With Claude Code its work has ended, and what its successor does is not stopped work."""
    play(run, work("running"), cancel())
    assert gave(run, AgentGone(session=S)) == [WorkStopped(session=S), AgentGone(session=S)]
    play(run, prompt(1), started(1), over(1))
    assert gave(run, cancel(), text("hello")) == [cancel(), text("hello")]


def test_idle_does_not_tell_while_a_prompt_waits(run: StepRunner) -> None:
    """An idle is no answer of a stopped prompt."""
    stop(run)
    assert gave(run, work("idle"), text("tail")) == [work("idle"), text("tail")]


def test_a_second_cancel_opens_no_second_window(run: StepRunner) -> None:
    """What was told stays told: a second cancel, over a prompt that waits, lets no leftovers through."""
    tell(run)
    play(run, prompt(2), cancel())
    assert gave(run, text("leftover"), over(2)) == [over(2)]
    assert gave(run, text("leftover")) == []


def test_a_second_cancel_takes_what_is_new(run: StepRunner) -> None:
    """A prompt that the second cancel covers does not close the window when it begins; the next one does."""
    stop(run)
    play(run, prompt(2), cancel(), over(2))
    assert gave(run, started(2), text("tail"), over(1)) == [started(2), text("tail"), WorkStopped(session=S), over(1)]
    assert gave(run, prompt(3), started(3), text("hello"))[2:] == [text("hello")]


def test_a_second_cancel_meets_the_start_of_its_prompt(run: StepRunner) -> None:
    """A prompt that begins just when the second cancel comes is stopped work from its first frame, answered or not."""
    tell(run)
    play(run, requesting(1), prompt(2), cancel(), started(2), requesting(1, 2))
    assert gave(run, text("nothing")) == []
    play(run, over(2), requesting(2))
    assert gave(run, text("nothing")) == []


def test_cancel_request(run: StepRunner) -> None:
    """`$/cancel_request` of a prompt opens the window of its session, and of no other; it passes in any case."""
    begin(run)
    begin(run, "t")
    play(run, prompt(5, "t"))
    assert gave(run, CancelRequest(request=9), over(7)) == [CancelRequest(request=9), over(7)]
    assert gave(run, CancelRequest(request=5)) == [CancelRequest(request=5)]
    assert gave(run, over(5, "t"), over(1, "t"), text("nothing", "t"))[:2] == [over(5, "t"), WorkStopped(session="t")]
    assert gave(run, over(1), text("hello")) == [over(1), text("hello")]


def test_cancel_request_of_a_stopped_prompt(run: StepRunner) -> None:
    """A client that sends both forms of cancel for one key does not stop the prompt that it wrote in between."""
    begin(run)
    play(run, cancel(), prompt(2), CancelRequest(request=1), over(1), started(2), text("of the second"))
    assert gave(run, over(2)) == [over(2)]


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_is_closed_is_cancelled_first(run: StepRunner, method: str) -> None:
    """Its calls are closed before its prompts are answered, as at a cancel (C3)."""
    begin(run)
    play(run, Request(request=8, method=method, params=None, session=S))
    assert gave(run, over(1)) == [WorkStopped(session=S), over(1)]


def test_other_requests_open_no_window(run: StepRunner) -> None:
    """A request that does not end the session, or one that is not open, hides nothing."""
    begin(run)
    play(run, Request(request=8, method="session/set_mode", params=None, session=S))
    play(run, Request(request=9, method="session/delete", params=None, session="never opened"))
    assert gave(run, over(1)) == [over(1)]


# ------------------------------------------------------------------------------------------------- closing


@pytest.mark.parametrize("start", [started(2), echoed(2)], ids=["state", "echo"])
def test_the_next_prompt_closes_the_window(run: StepRunner, start: Message) -> None:
    """The start of a prompt that no cancel covers is the end of the stopped work, from that frame on."""
    tell(run)
    hello = text("hello", message="m2")
    assert gave(run, prompt(2), text("nothing", message="m1"), start, hello) == [prompt(2), start, hello]
    assert gave(run, ask_for("y")) == [ask_for("y")]


def test_what_does_not_close_the_window(run: StepRunner) -> None:
    """A prompt that waits, a stopped one that is taken up all the same, and prompts that nobody knows do not."""
    tell(run)
    play(run, prompt(2), state(2, "queued"), started(1), echoed(1), requesting(1), started(9), echoed(9))
    assert gave(run, text("nothing")) == []


def test_the_next_prompt_before_the_answer(run: StepRunner) -> None:
    """A source whose answers come late: the start of the next prompt tells the client all the same."""
    stop(run)
    play(run, ask_for("x"))
    assert gave(run, prompt(2), started(2)) == [prompt(2), WorkStopped(session=S), started(2)]
    assert gave(run, over(1), text("hello")) == [over(1), text("hello")]


@pytest.mark.parametrize(
    ("requests", "closes"),
    [
        ([requesting(1)], False),
        ([requesting(1, 2)], False),
        ([requesting(2)], True),
        ([requesting()], True),
        ([unlisted()], False),
        ([requesting(1), unlisted()], True),
    ],
    ids=["of the stopped", "of both", "of another", "of nobody", "unlisted", "of nobody, since others are listed"],
)
def test_a_request_that_serves_no_stopped_prompt(run: StepRunner, requests: list[Message], closes: bool) -> None:
    """New work begins with a request that serves no stopped prompt, where Claude Code says whom they serve (C41)."""
    tell(run)
    play(run, *requests)
    assert gave(run, text("hello")) == ([text("hello")] if closes else [])


def test_a_request_before_the_client_was_told(run: StepRunner) -> None:
    """Stopped work may ask the model once more before it stops: that ends nothing."""
    stop(run)
    play(run, requesting(2), requesting())
    assert gave(run, over(1), text("nothing")) == [WorkStopped(session=S), over(1)]


def test_own_work_that_is_stopped_asks_again(run: StepRunner) -> None:
    """While work that nobody asked for is being stopped, its requests serve nobody, like those of new work: only the
    idle tells them apart."""
    play(run, work("running"), requesting(), prompt(1), cancel(), over(1))
    assert gave(run, unlisted(), text("tail of the own work", message="m1")) == [unlisted()]
    new = text("new work", message="m2")
    assert gave(run, work("idle"), unlisted(), new)[2:] == [new]


# ------------------------------------------------------------------------------------------------- subagents


CHILD = "call of a"


def test_a_background_subagent_outlives_the_cancel(run: StepRunner) -> None:
    """Nothing of a subagent that lives in the background is stopped work: its words, its calls, its questions."""
    begin(run)
    play(run, subagent("a"), cancel(), over(1))
    child = [
        text("words", parent=CHILD),
        use("x", parent=CHILD),
        ask_for("x", agent="a"),
        ask_for("unseen", agent="a"),
        tool_result("x", parent=CHILD),
        ToolProgress(session=S, tool_use="unseen", parent=CHILD),
    ]
    assert gave(run, *child) == child
    assert verdicts(gave(run, gate("x", agent="a"), gate("unseen 2", agent="a")), "gate x") == ["let"]
    assert gave(run, reply("x"), reply("unseen")) == [reply("x"), reply("unseen")]
    assert gave(run, text("words of the parent"), use("y")) == []


def test_the_asks_of_a_background_subagent_stay(run: StepRunner) -> None:
    """When the client is told, what a background subagent asked stays open, and what the stopped work asked goes."""
    begin(run)
    play(run, subagent("a"), ask_for("x", agent="a"), ask_for("y"), cancel())
    assert gave(run, over(1)) == [withdrawn("y"), ask_for("y").denied(DENIED), WorkStopped(session=S), over(1)]
    assert gave(run, reply("x")) == [reply("x")]


def test_the_launch_of_a_background_subagent(run: StepRunner) -> None:
    """The call that launched it is its own, not the stopped work's: its result still comes, and as it is."""
    begin(run)
    play(run, use(CHILD), subagent("a"), cancel())
    launched = tool_result(CHILD)
    assert gave(run, launched) == [launched]
    play(run, over(1))
    assert gave(run, launched, use(CHILD)) == [launched, use(CHILD)]


def test_a_subagent_from_before_is_resumed(run: StepRunner) -> None:
    """What a subagent from before does names the call that began it, whatever resumes it."""
    past = (PastSubagent(task="a", call=CHILD), PastSubagent(task="b"))
    play(run, SubagentHistory(session=S, subagents=past))
    begin(run)
    play(run, subagent("a", call="another"), cancel(), over(1))
    child = text("words", parent=CHILD)
    assert gave(run, child) == [child]
    play(run, subagent("a", "ended", call="another"))
    assert gave(run, child) == []


@pytest.mark.parametrize(
    ("tasks", "lives"),
    [
        ((subagent("a", background=False),), False),
        ((subagent("b"), subagent("a", background=False, parent="b")), True),
        (
            (subagent("c"), subagent("b", background=False, parent="c"), subagent("a", background=False, parent="b")),
            True,
        ),
        ((subagent("b", background=False), subagent("a", background=False, parent="b")), False),
        ((subagent("b"), subagent("a", background=False, parent="b"), subagent("b", "ended")), False),
        ((subagent("b", background=False, parent="a"), subagent("a", background=False, parent="b")), False),
        ((subagent("a", background=None),), False),
        ((subagent("a", subagent=False),), False),
        ((subagent("a"), subagent("a", "ended")), False),
        ((subagent("a"), level()), False),
        ((subagent("a"), level("a")), True),
        ((subagent("a"), level(), level("a")), True),
        ((subagent("a", background=False), subagent("a", background=True, subagent=False)), True),
        ((subagent("a", run="2"), subagent("a", "ended", run="1")), True),
        ((subagent("a", run="2"), subagent("a", "ended", run="2")), False),
        ((subagent("a"), subagent("a", "ended"), subagent("a")), True),
        ((subagent("a"), subagent("a", "ended"), subagent("a", background=None, subagent=False)), False),
        (
            (
                subagent("a", background=False),
                subagent("a", "ended", background=None),
                subagent("a", background=None, subagent=False, status="running"),
            ),
            True,
        ),
        ((subagent("a"), subagent("a", "ended"), subagent("a", call="another")), True),
        ((subagent("a"), level(), subagent("a", "ended"), level("a"), subagent("a")), True),
        ((subagent("a"), SessionRestarted(session=S)), False),
        ((subagent("a"), AgentGone(session=S), subagent("a", call="another")), True),
    ],
    ids=[
        "in the foreground",
        "waited for by one in the background",
        "below that",
        "waited for by one in the foreground",
        "waited for by one that has ended",
        "a circle",
        "nobody knows where",
        "a command",
        "ended",
        "not in the level",
        "in the level",
        "in the level again",
        "sent to the background",
        "an earlier run ended",
        "this run ended",
        "started again",
        "a late word of it",
        "resumed",
        "resumed by another call",
        "resumed when it was missed",
        "Claude Code was restarted",
        "resumed by the next Claude Code",
    ],
)
def test_which_subagents_live_in_the_background(run: StepRunner, tasks: tuple[Message, ...], lives: bool) -> None:
    """Those that started, are in the background, and have not ended as far as anybody knows (7.1, S1 to S4)."""
    begin(run)
    play(run, *tasks, cancel(), over(1))
    child = text("words", parent=CHILD)
    assert gave(run, child) == ([child] if lives else [])


@pytest.mark.parametrize(
    "end", [subagent("a", "ended", status="killed"), level("other")], ids=["ended", "missed by the level"]
)
def test_a_background_subagent_that_is_stopped_later(run: StepRunner, end: Message) -> None:
    """When it ends after the client was told, what it leaves open is closed, and nothing more of it comes (C29)."""
    begin(run)
    play(run, subagent("a"), cancel(), over(1), use("x", parent=CHILD), ask_for("y", agent="a"))
    assert gave(run, end) == [end, withdrawn("y"), ask_for("y").denied(DENIED), WorkStopped(session=S)]
    assert gave(run, tool_result("x", parent=CHILD), ask_for("x", agent="a")) == [ask_for("x").denied(DENIED)]


@pytest.mark.parametrize("end", [subagent("a", "ended"), level()], ids=["ended", "missed by the level"])
@pytest.mark.parametrize("window", ["closed", "open"])
def test_a_background_subagent_that_ends_in_time(run: StepRunner, window: str, end: Message) -> None:
    """Its end is nothing special before the client was told: the end of the work closes what is open."""
    begin(run)
    play(run, subagent("a"))
    if window == "open":
        play(run, cancel())
    assert gave(run, end) == [end]


def test_a_subagent_without_a_call(run: StepRunner) -> None:
    """A subagent of which nobody knows the call exempts nobody, least of all the main thread."""
    begin(run)
    play(run, attrs.evolve(subagent("a"), tool_use=None), cancel(), over(1))
    assert gave(run, text("nothing"), use("x"), usage()) == []


def test_the_end_of_other_tasks(run: StepRunner) -> None:
    """A command in the background that ends closes nothing, nor does a word of an earlier run."""
    begin(run)
    play(run, subagent("a", run="2"), cancel(), over(1))
    assert stops(gave(run, subagent("b", "ended"), subagent("a", "ended", run="1"), level("a"))) == 0


# ------------------------------------------------------------------------------------------------- asks, one order


@pytest.mark.parametrize("window", ["closed", "open", "told"])
def test_an_ask_for_a_tool_use_that_was_shown(run: StepRunner, window: str) -> None:
    """An ask is shown as its tool use was, and denied once the client was told that the work ended."""
    begin(run)
    play(run, use("x"))
    if window != "closed":
        play(run, cancel())
    if window == "told":
        play(run, over(1))
    if window == "told":
        assert gave(run, ask_for("x")) == [ask_for("x").denied(DENIED)]
    else:
        assert gave(run, ask_for("x"), reply("x")) == [ask_for("x"), reply("x")]


@pytest.mark.parametrize("window", list(STAGES))
@pytest.mark.parametrize("tool_use", ["x", None])
def test_an_ask_for_a_tool_use_that_was_not_reached(run: StepRunner, window: str, tool_use: str | None) -> None:
    """With one order the place on the wire decides at once: before the next prompt's start it is the stopped work's."""
    STAGES[window](run)
    ask = ask_for("x") if tool_use else PermissionAskWithoutTool
    assert gave(run, ask) == ([ask] if window == "closed" else [ask.denied(DENIED)])
    assert len(run.timers) == 0


PermissionAskWithoutTool = ask_for("nothing").__class__(
    session=S, ask="ask x", name="Write", call=ask_for("x").call, options=ask_for("x").options
)


def test_a_denial_shows_nothing_and_is_logged(run: StepRunner) -> None:
    """The model is told that the user cancelled; the client sees nothing, and the log says what was denied."""
    tell(run)
    with logged() as entries:
        sent = gave(run, ask_for("x"))
    assert sent == [PermissionAnswer(session=S, ask="ask x", decision="deny", message=DENIED)]
    assert any("session s: denied x, which the cancelled work asked for" in entry for entry in entries)


@pytest.mark.parametrize("reached", [True, False])
@pytest.mark.parametrize(("window", "verdict"), [("closed", "let"), ("open", "denied"), ("told", "denied")])
def test_a_tool_that_is_about_to_run(run: StepRunner, window: str, verdict: str, reached: bool) -> None:
    """Where no permission is asked, a tool of a stopped prompt must not begin to run; any other goes on unseen."""
    begin(run)
    if reached:
        play(run, use("x"))
    if window != "closed":
        play(run, cancel())
    if window == "told":
        play(run, over(1))
    sent = gave(run, gate("x"))
    assert (verdicts(sent, "gate x"), len(sent)) == ([verdict], 1)


def test_a_dropped_tool_does_not_run_later(run: StepRunner) -> None:
    """A tool use that was dropped may not run under the next prompt either."""
    tell(run)
    play(run, use("x"), prompt(2), started(2))
    assert verdicts(gave(run, gate("x"), gate("y")), "gate x") == ["denied"]


def test_what_the_client_was_asked_is_taken_back(run: StepRunner) -> None:
    """When the client is told, its open questions of the stopped work are withdrawn and denied, before the answer."""
    begin(run)
    play(run, use("x"), ask_for("x"), use("y"), ask_for("y"), reply("y"), cancel())
    assert gave(run, over(1)) == [withdrawn("x"), ask_for("x").denied(DENIED), WorkStopped(session=S), over(1)]
    assert gave(run, reply("x"), ask_for("x").denied("late")) == []


def test_the_client_answers_in_time(run: StepRunner) -> None:
    """An answer that comes before the end of the work is the ask's one verdict, also after the cancel."""
    begin(run)
    play(run, use("x"), ask_for("x"), cancel())
    assert gave(run, reply("x", None)) == [reply("x", None)]
    assert gave(run, over(1)) == [WorkStopped(session=S), over(1)]


def test_answers_that_nobody_waits_for(run: StepRunner) -> None:
    """A second answer, or one to nothing, goes nowhere, whoever gives it; the log says so."""
    begin(run)
    play(run, ask_for("x"), reply("x"))
    with logged() as entries:
        assert gave(run, reply("x"), ask_for("x").denied("no"), reply("y")) == []
    assert any("an answer to ask x, which is settled" in entry for entry in entries)


def test_a_stage_answers_in_the_clients_place(run: StepRunner) -> None:
    """An answer that a stage nearer the client gives is the ask's verdict, once."""
    begin(run)
    answer = ask_for("x").denied("The client cannot be asked.")
    assert gave(run, ask_for("x"), answer, reply("x"), answer) == [ask_for("x"), answer]


def test_a_withdrawn_ask(run: StepRunner) -> None:
    """What Claude Code withdraws is withdrawn from the client, once, and only what the client was asked."""
    begin(run)
    assert gave(run, ask_for("x"), withdrawn("x"), withdrawn("x")) == [ask_for("x"), withdrawn("x")]
    assert gave(run, reply("x")) == []
    play(run, ask_for("y"), reply("y"))
    assert gave(run, withdrawn("y")) == []
    play(run, cancel(), over(1))
    assert gave(run, ask_for("z"), withdrawn("z")) == [ask_for("z").denied(DENIED)]


# ------------------------------------------------------------------------------------------------- asks, two orders


@pytest.mark.parametrize("window", ["open", "told"])
def test_an_ask_waits_for_its_tool_use(two: StepRunner, window: str) -> None:
    """An ask that runs ahead of its stream is shown to nobody until the stream comes to its tool use."""
    STAGES[window](two)
    assert gave(two, ask_for("x")) == []
    sent = gave(two, use("x"))
    assert sent == ([use("x"), ask_for("x")] if window == "open" else [ask_for("x").denied(DENIED)])
    assert len(two.timers) == 0


def test_the_next_prompts_ask_waits_for_its_start(two: StepRunner) -> None:
    """The next prompt's tool, asked while the window looks open, is shown when the stream has come to it."""
    tell(two)
    play(two, prompt(2), ask_for("y"), gate("y"))
    assert verdicts(gave(two, started(2)), "ask y") == []
    sent = gave(two, use_begins("y"))
    assert sent[:2] == [use_begins("y"), ask_for("y")]
    assert verdicts(sent, "gate y") == ["let"]
    assert gave(two, reply("y")) == [reply("y")]


@pytest.mark.parametrize(("window", "verdict"), [("open", "denied"), ("told", "denied"), ("closed", "let")])
def test_a_gate_waits_for_its_tool_use(two: StepRunner, window: str, verdict: str) -> None:
    """A tool that is about to run while the window is open runs only if the stream shows it as the next prompt's."""
    tell(two) if window == "told" else stop(two)
    play(two, prompt(2), gate("x"))
    if window == "closed":
        play(two, over(1), started(2))
    assert verdicts(gave(two, use("x")), "gate x") == [verdict]


@pytest.mark.parametrize("after", [0.0, 1.0, 1.999])
def test_an_ask_that_is_withdrawn_while_it_waits(two: StepRunner, after: float) -> None:
    """Nobody is asked what was withdrawn before its wait was over, and nobody hears of it."""
    tell(two)
    play(two, ask_for("x"))
    two.advance(after)
    assert gave(two, withdrawn("x")) == []
    two.advance(10)
    assert (shown(two.client, "ask x"), len(two.timers)) == (0, 0)


def test_a_late_verdict(two: StepRunner) -> None:
    """An ask that was shown when its wait was over is taken back when its tool use turns out to be stopped work's, and
    the call that it had announced is closed."""
    tell(two)
    play(two, ask_for("x"))
    two.advance(2)
    assert shown(two.client, "ask x") == 1
    assert gave(two, use("x")) == [withdrawn("x"), ask_for("x").denied(DENIED), WorkStopped(session=S)]
    assert gave(two, reply("x")) == []


def test_an_early_ask_goes_with_its_tool_use(two: StepRunner) -> None:
    """An ask that was shown when its wait was over is the stopped work's as soon as the stream shows its tool use as
    that: it is taken back when the client is told. Until then nobody knows whose it is, and it stays."""
    stop(two)
    play(two, ask_for("x"), ask_for("y"))
    two.advance(2)
    play(two, use("x"))
    assert gave(two, over(1)) == [withdrawn("x"), ask_for("x").denied(DENIED), WorkStopped(session=S), over(1)]
    assert gave(two, prompt(2), started(2), use("y"), reply("y"))[2:] == [use("y"), reply("y")]


def test_a_tool_use_that_is_never_shown(two: StepRunner) -> None:
    """The stream never shows some tool uses: after the wait such an ask is shown, and the client's answer counts."""
    tell(two)
    play(two, ask_for("x"))
    two.advance(2)
    assert gave(two, reply("x")) == [reply("x")]


@pytest.mark.parametrize("next_prompt", [False, True])
def test_a_gate_whose_tool_use_is_never_shown(two: StepRunner, next_prompt: bool) -> None:
    """After the wait the tool runs if a new prompt does, and not while the stopped work is the last that was seen."""
    tell(two)
    play(two, gate("x"), prompt(2), *([started(2)] if next_prompt else []))
    two.advance(2)
    assert verdicts(two.agent, "gate x") == ["let" if next_prompt else "denied"]


def test_the_wait_is_an_argument(run_with: Run) -> None:
    """A bridge may wait for longer."""
    run = run_with(wait=5.0)
    tell(run)
    play(run, ask_for("x"))
    run.advance(4.999)
    assert shown(run.client, "ask x") == 0
    run.advance(0.001)
    assert shown(run.client, "ask x") == 1


def test_without_a_cancel_nothing_waits(two: StepRunner) -> None:
    """When no cancel is pending an ask is shown at once, whether or not the stream has come to its tool use."""
    begin(two)
    assert gave(two, ask_for("x"), use("x")) == [ask_for("x"), use("x")]
    assert len(two.timers) == 0


# ------------------------------------------------------------------------------------------------- the end


@pytest.mark.parametrize("end", [AgentGone(session=S), SessionRestarted(session=S), closed()])
def test_what_is_asked_when_claude_code_is_gone(two: StepRunner, end: Message) -> None:
    """Nobody waits for an answer any more: open asks are withdrawn, waiting ones are shown to nobody."""
    begin(two)
    play(two, ask_for("x"), cancel(), ask_for("y"), prompt(9, "t"))
    sent = gave(two, end)
    assert sent[-1] == end
    assert [message for message in sent if isinstance(message, AskWithdrawn)] == [withdrawn("x")]
    assert (len(verdicts(sent, "ask x")), len(verdicts(sent, "ask y"))) == (1, 1)
    two.advance(10)
    assert gave(two, reply("x")) == []
    assert shown(two.client, "ask y") == 0


def test_closing(two: StepRunner) -> None:
    """When the client is gone its questions end, all work is stopped, and nothing more may run or be asked."""
    begin(two)
    play(two, ask_for("x"), prompt(5, "t"), cancel("t"), ask_for("y", session="t"))
    sent = gave(two, Closing())
    assert sent[-1] == Closing()
    assert (verdicts(sent, "ask x"), verdicts(sent, "ask y")) == (["denied"], ["denied"])
    assert gave(two, over(1)) == [WorkStopped(session=S), over(1)]
    late = gave(two, ask_for("z", session="u"), gate("z", session="u"))
    assert (verdicts(late, "ask z"), verdicts(late, "gate z"), len(late)) == (["denied"], ["denied"], 2)


def test_a_session_is_forgotten_when_it_closes(run: StepRunner) -> None:
    """A session that is opened again under its name begins with a closed window."""
    tell(run)
    play(run, closed())
    assert gave(run, text("hello")) == [text("hello")]


def test_two_sessions_have_nothing_to_do_with_each_other(two: StepRunner) -> None:
    """A window hides, parks and denies in its own session only."""
    begin(two, "t")
    tell(two)
    play(two, ask_for("x"))
    other = [text("hello", "t"), use("y", session="t"), ask_for("y", session="t")]
    assert gave(two, *other) == other
    assert gave(two, use("x", session="t")) == [use("x", session="t")]
    assert gave(two, reply("y", session="t")) == [reply("y", session="t")]


def test_it_is_a_stage() -> None:
    """`CancelDrop` keeps what every stage promises."""
    check_stage(
        CancelDrop,
        [
            text("hello"),
            use("x"),
            subagent("a"),
            work("running"),
            cancel(),
            ask_for("x"),
            gate("z"),
            ask_for("y"),
            work("idle"),
            use("y"),
            closed(),
        ],
    )
