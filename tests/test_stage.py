"""The rules of a stage: which handler gets a message, and what it may return."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import attrs
import pytest

from middleware import Context, Expired, Message, Outcome, Pipeline, Stage, StepRunner, ToClient, on
from middleware.errors import StageDefinitionError, StageOutputError
from middleware.messages import Text, Thought, ToolUse
from middleware.pipeline import close, handle
from tests.core import Does, Down, Log, Pass, Up


class NoTime:
    """A context for stages that ask for nothing."""

    def now(self) -> float:
        return 0.0

    def set_timer(self, key: object, seconds: float) -> None: ...

    def cancel_timer(self, key: object) -> None: ...


CONTEXT = NoTime()
TEXT = Text(session="s", text="hello")
THOUGHT = Thought(session="s", text="hm")
USE = ToolUse(session="s", tool_use="t", name="Bash")


def said(stage: Stage, message: Message | Expired) -> list[str]:
    """The texts of what a stage answers."""
    return [answer.text for answer in handle(stage, message, CONTEXT) if isinstance(answer, Text)]


def says(text: str) -> Text:
    return Text(session="s", text=text)


# --------------------------------------------------------------------------------------------- which handler


class Speaks(Stage):
    """Says which of its handlers was called."""

    @on(Text)
    def _text(self, message: Text, context: Context) -> Outcome:
        return says("text")


def test_a_subclass_goes_to_its_parents_handler() -> None:
    """The handler of a class gets the messages of its subclasses too."""
    assert said(Speaks(), THOUGHT) == ["text"]


def test_the_nearest_class_wins() -> None:
    """Of two handlers that fit, the one for the nearer class is called, wherever it stands."""

    class Both(Stage):
        @on(ToClient)
        def _any(self, message: ToClient, context: Context) -> Outcome:
            return says("any")

        @on(Thought)
        def _thought(self, message: Thought, context: Context) -> Outcome:
            return says("thought")

        @on(Text)
        def _text(self, message: Text, context: Context) -> Outcome:
            return says("text")

    assert [said(Both(), message) for message in (THOUGHT, TEXT, USE)] == [["thought"], ["text"], ["any"]]


def test_one_handler_for_several_classes() -> None:
    """`@on` with several classes, and several `@on` above each other, mean the same."""

    class Together(Stage):
        @on(Text, ToolUse)
        def _both(self, message: Text | ToolUse, context: Context) -> Outcome:
            return says("both")

    class Stacked(Stage):
        @on(Text)
        @on(ToolUse)
        def _both(self, message: Text | ToolUse, context: Context) -> Outcome:
            return says("both")

    for stage in (Together(), Stacked()):
        assert said(stage, TEXT) == said(stage, USE) == ["both"]


def test_a_timer_has_a_handler() -> None:
    """`@on(Expired)` gets the timers, with the key that was set."""
    stage = Does(lambda item, context: says(f"{item.key}") if isinstance(item, Expired) else None)
    assert said(stage, Expired("tea")) == ["tea"]


# --------------------------------------------------------------------------------------------- inheritance


def test_handlers_are_inherited() -> None:
    """A stage handles what its parent handles, and what it adds."""

    class More(Speaks):
        @on(ToolUse)
        def _use(self, message: ToolUse, context: Context) -> Outcome:
            return says("use")

    assert said(More(), TEXT) == ["text"]
    assert said(More(), USE) == ["use"]
    assert handle(Speaks(), USE, CONTEXT) == (USE,), "the parent must not learn from its child"


def test_an_override_needs_no_mark() -> None:
    """A method that overrides a handler handles the same classes."""

    class Other(Speaks):
        def _text(self, message: Text, context: Context) -> Outcome:
            return says("other")

    assert said(Other(), TEXT) == ["other"]


def test_an_override_with_a_mark_handles_what_that_says() -> None:
    """With an `@on` of its own an override handles those classes, and what it overrode no longer."""

    class Other(Speaks):
        @on(ToolUse)
        def _text(self, message: ToolUse, context: Context) -> Outcome:  # type: ignore[override]
            return says("use")

    assert said(Other(), USE) == ["use"]
    assert handle(Other(), TEXT, CONTEXT) == (TEXT,)


def test_a_child_may_handle_a_class_under_another_name() -> None:
    """A handler in a subclass wins over its parent's for the same class."""

    class Other(Speaks):
        @on(Text)
        def _aloud(self, message: Text, context: Context) -> Outcome:
            return says("aloud")

    assert said(Other(), TEXT) == ["aloud"]


def test_handlers_come_from_every_parent() -> None:
    """A second parent's handlers count, whether it is a stage or not."""

    class Mixed(Stage):
        @on(ToolUse)
        def _use(self, message: ToolUse, context: Context) -> Outcome:
            return says("use")

    class Plain:
        @on(Down)
        def _down(self, message: Down, context: Context) -> Outcome:
            return says("down")

    class All(Speaks, Mixed, Plain):
        pass

    assert [said(All(), message) for message in (TEXT, USE, Down())] == [["text"], ["use"], ["down"]]


def test_attrs_makes_no_difference() -> None:
    """A slotted attrs class, which attrs creates a second time, keeps its handlers and its state apart."""

    @attrs.define(eq=False)
    class Counts(Speaks):
        heard: int = 0

        @on(ToolUse)
        def _use(self, message: ToolUse, context: Context) -> Outcome:
            self.heard += 1
            return says(str(self.heard))

    first, second = Counts(), Counts()
    assert [said(stage, USE) for stage in (first, first, second)] == [["1"], ["2"], ["1"]]
    assert said(first, TEXT) == ["text"]


# --------------------------------------------------------------------------------------------- wrong definitions


@pytest.mark.parametrize("wrong", [int, "Text", 5, Stage, object, TEXT, Text | ToolUse], ids=repr)
def test_a_wrong_class_is_an_error_at_once(wrong: Any) -> None:
    """`@on` of something that is no message class fails when the stage's class is created, and says where."""
    with pytest.raises(StageDefinitionError, match=rf"Wrong\._handler \(.*{__name__.split('.')[-1]}\.py:\d+\)"):

        class Wrong(Stage):
            @on(wrong)
            def _handler(self, message: Message, context: Context) -> Outcome:
                return None


def test_a_class_has_one_handler() -> None:
    """Two handlers for one class fail when the stage's class is created, and both are named."""
    with pytest.raises(StageDefinitionError, match=r"Twice\._second .*: _first handles Text already"):

        class Twice(Stage):
            @on(Text)
            def _first(self, message: Text, context: Context) -> Outcome:
                return None

            @on(ToolUse, Text)
            def _second(self, message: Text | ToolUse, context: Context) -> Outcome:
                return None


def test_on_without_a_class_is_an_error() -> None:
    """`@on` without parentheses, or with nothing in them, would never be called: it fails at once."""

    def handler(self: Stage, message: Message, context: Context) -> Outcome:
        return None

    with pytest.raises(StageDefinitionError, match=r"handler \(.*test_stage\.py:\d+\): @on needs the message classes"):
        on(cast(Any, handler))
    with pytest.raises(StageDefinitionError, match="names no message class"):
        on()


# --------------------------------------------------------------------------------------------- outcomes


@pytest.mark.parametrize("message", [TEXT, USE, Up(number=1), Down(number=1)], ids=repr)
def test_the_unknown_passes(message: Message) -> None:
    """What no handler names passes through, the very same object, whichever way it goes."""
    (passed,) = handle(Pass(), message, CONTEXT)
    assert passed is message


def test_an_unknown_timer_is_nothing() -> None:
    """A timer that no handler names gives nothing: it is no message, so it cannot pass."""
    assert handle(Pass(), Expired("tea"), CONTEXT) == ()


ONE, TWO = Down(number=1), Up(number=2)


def several() -> Iterator[Message]:
    yield ONE
    yield TWO


@pytest.mark.parametrize(
    ("outcome", "messages"),
    [
        (lambda: None, ()),
        (lambda: (), ()),
        (list, ()),
        (lambda: ONE, (ONE,)),
        (lambda: (ONE, TWO), (ONE, TWO)),
        (lambda: [TWO, ONE], (TWO, ONE)),
        (several, (ONE, TWO)),
    ],
    ids=["None", "empty tuple", "empty list", "a message", "a tuple", "a list", "a generator"],
)
def test_outcomes(outcome: Callable[[], Outcome], messages: tuple[Message, ...]) -> None:
    """A handler drops with None or nothing, passes or replaces with one message, and expands with several, in order."""
    assert handle(Does(lambda item, context: outcome()), TEXT, CONTEXT) == messages


@attrs.frozen(kw_only=True)
class Aimless(Message):
    """A message class that forgot its direction."""


@pytest.mark.parametrize(
    "wrong",
    [5, "text", Text, {"text": TEXT}, Expired("tea"), Aimless(), [TEXT, 5], [None], [Text], [Aimless()]],
    ids=repr,
)
def test_only_messages_come_out(wrong: Any) -> None:
    """A handler that returns anything but messages is named with its file and line, and nothing of it is emitted."""

    class Wrong(Stage):
        @on(Text)
        def _text(self, message: Text, context: Context) -> Outcome:
            return cast(Outcome, wrong)

    line = inspect.getsourcelines(Wrong._text)[1]
    runner = StepRunner(Pipeline([Log(), Wrong()])).feed(TEXT)
    with pytest.raises(StageOutputError, match=rf"Wrong\._text \({re.escape(__file__)}:{line}\) returned") as raised:
        runner.run()
    assert runner.ready == ()
    assert runner.sent == []
    assert "toward the agent or the client" in str(raised.value)


def test_a_wrong_output_is_not_quoted() -> None:
    """The error names the class of what came instead of a message, and none of its contents: errors are logged."""
    wrong: Any = {"ANTHROPIC_API_KEY": "sk-secret"}
    with pytest.raises(StageOutputError) as raised:
        handle(Does(lambda item, context: wrong), TEXT, CONTEXT)
    assert "sk-secret" not in str(raised.value)
    with pytest.raises(StageOutputError, match="class 'dict'"):
        handle(Does(lambda item, context: [wrong]), TEXT, CONTEXT)


def test_what_overrides_handle_is_checked_too() -> None:
    """A stage that has no handlers but a `handle` and a `close` of its own is held to the same rule."""

    class Own(Stage):
        def handle(self, message: Message | Expired, context: Context) -> Iterable[Message]:
            return cast(Iterable[Message], [5] if message == TEXT else None)

        def close(self, context: Context) -> Iterable[Message]:
            return cast(Iterable[Message], 5)

    with pytest.raises(StageOutputError, match=r"Own\.handle \(.*test_stage\.py:\d+\)"):
        handle(Own(), TEXT, CONTEXT)
    assert handle(Own(), USE, CONTEXT) == ()
    with pytest.raises(StageOutputError, match=r"Own\.close \(.*test_stage\.py:\d+\)"):
        close(Own(), CONTEXT)


@pytest.mark.parametrize("error", [KeyError("k"), TypeError("t")], ids=repr)
def test_who_fails_half_way_has_emitted_nothing(error: Exception) -> None:
    """A generator that fails after its first message has emitted none, and its own error is what comes out."""

    def half(item: Message | Expired, context: Context) -> Iterator[Message]:
        yield ONE
        raise error

    runner = StepRunner(Pipeline([Log(), Does(half), Log()])).feed(TEXT)
    runner.step(2)
    with pytest.raises(type(error)) as raised:
        runner.step(1)
    assert raised.value is error
    assert (runner.ready, runner.sent) == ((), [])


def test_a_stage_is_called_by_its_class() -> None:
    """A stage's name, for logs and threads, is its class's; it owes nothing at its end unless it says so."""
    assert Speaks().name == "Speaks"
    assert close(Speaks(), CONTEXT) == ()
