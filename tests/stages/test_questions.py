"""Questions to the person: how they are put, what the answers mean, and who is refused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from middleware import Message, Pipeline, acp
from middleware.errors import Failure
from middleware.messages import (
    AgentGone,
    AskWithdrawn,
    Cancel,
    ClaudeStarted,
    Closing,
    Dialog,
    DialogAnswer,
    Elicitation,
    ElicitationAnswer,
    ElicitationCompleted,
    ElicitationReply,
    Initialized,
    PermissionAnswer,
    PermissionAsk,
    PermissionRequest,
    Prompt,
    PromptState,
    Question,
    RefusalAsk,
    SessionClosed,
    SessionRestarted,
    ToolUse,
    TurnEnded,
)
from middleware.profile import ClientProfile
from middleware.questions import Answers, Asked, answers_from, asked_in, form_for, updated_input
from middleware.questions.asked import Option
from middleware.stages import CancelDrop, Permissions, Questions
from middleware.stages.questions import ABORTED, NO_QUESTIONS, NOT_ASKABLE, ONE_CHOICE, UNANSWERED
from middleware.stepping import StepRunner
from middleware.testing import assert_one_answer, check_stage

S = "s"
OPTIONS = [{"label": "A", "description": "first"}, {"label": "B", "preview": "┌─┐"}]
PICK = {"question": "Which?", "header": "Pick", "multiSelect": False, "options": OPTIONS}
MANY = {"question": "Which ones?", "header": "Many", "multiSelect": True, "options": OPTIONS}
FORMS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def ask(*questions: Any, tool_use: str | None = "x", **members: Any) -> PermissionAsk:
    given = {"questions": list(questions), "metadata": 1}
    return PermissionAsk(session=S, ask="q", tool_use=tool_use, name="AskUserQuestion", input=given, **members)


def reply(action: Any = "accept", **content: Any) -> ElicitationReply:
    return ElicitationReply(session=S, ask="q", action=action, content=content)


def chosen(option: str | None) -> ElicitationReply:
    return ElicitationReply(session=S, ask="q", action="accept" if option else "cancel", option=option)


def runner(capabilities: dict[str, Any] | None = None) -> StepRunner:
    """The stage where it stands: between what decides whether it is shown, and Claude Code."""
    run = StepRunner(Pipeline([CancelDrop(one_order=True), Permissions(), Questions(new_uuid=lambda: "new")]))
    run.feed(Initialized(profile=ClientProfile(capabilities=FORMS if capabilities is None else capabilities))).run()
    run.feed(ToolUse(session=S, tool_use="x", name="AskUserQuestion")).run()
    run.agent.clear()
    run.client.clear()
    return run


def put(run: StepRunner, *messages: Message) -> list[Message]:
    """What the client is asked."""
    run.feed(*messages).run()
    return [message for message in run.client if isinstance(message, Elicitation | PermissionRequest)]


def answered(run: StepRunner, *replies: ElicitationReply) -> PermissionAnswer:
    """What Claude Code is told in the end."""
    for one in replies:
        run.feed(one).run()
    [answer] = [message for message in run.agent if isinstance(message, PermissionAnswer)]
    assert_one_answer(run)
    return answer


# ------------------------------------------------------------------------------------------ as a form


def test_form() -> None:
    """One question: its text is the form's message, its options are the choices, and beside them is a free text."""
    [question] = put(runner(), ask(PICK, agent="child"))
    assert isinstance(question, Question)
    assert (question.ask, question.tool_use, question.agent, question.message) == ("q", "x", "child", "Which?")
    assert question.options == ()
    assert question.schema == {
        "type": "object",
        "properties": {
            "question_0": {
                "type": "string",
                "title": "Pick",
                "oneOf": [
                    {"const": "A", "title": "A", "description": "first"},
                    {"const": "B", "title": "B", "_meta": {"_claude/askUserQuestionOption": {"preview": "┌─┐"}}},
                ],
            },
            "question_0_custom": {
                "type": "string",
                "title": "Other",
                "description": "Type your own answer, or add a note to the option you chose above (optional).",
            },
        },
    }


def test_form_of_several() -> None:
    """Several questions: each has its text with it, and one of several choices is a list."""
    [question] = put(runner(), ask(PICK, MANY))
    assert isinstance(question, Question)
    assert question.message == "Please answer the following questions."
    properties = question.schema["properties"]
    assert properties["question_0"]["description"] == "Which?"
    assert properties["question_1"]["type"] == "array"
    assert [option["const"] for option in properties["question_1"]["items"]["anyOf"]] == ["A", "B"]
    assert properties["question_1_custom"]["description"].startswith("Type your own answer to add")
    acp.structure(question.schema, acp.ElicitationSchema)


HIDDEN = {
    "question": "Delete \u202eelif\u202c?",
    "header": "Fi\u200ble",
    "options": [
        {"label": "Y\u200bes", "description": "\u2066now\u2069", "preview": "a\x1b[8m\u202eb"},
        {"label": "No\ufeff", "description": "never"},
    ],
}


def test_what_is_not_seen_in_a_form() -> None:
    """Every text of a form is shown without what is not seen; an option's value, and the answer, stay as they came."""
    run = runner()
    [question] = put(run, ask(HIDDEN, {**HIDDEN, "question": "And \u202ethen?", "multiSelect": True}))
    assert isinstance(question, Question)
    first, second = (question.schema["properties"][f"question_{index}"] for index in (0, 1))
    assert (first["title"], first["description"], second["description"]) == ("File", "Delete elif?", "And then?")
    yes, no = first["oneOf"]
    assert yes == {
        "const": "Y\u200bes",
        "title": "Yes",
        "description": "now",
        "_meta": {"_claude/askUserQuestionOption": {"preview": "a[8mb"}},
    }
    assert (no["const"], no["title"]) == ("No\ufeff", "No")
    assert [option["title"] for option in second["items"]["anyOf"]] == ["Yes", "No"]
    answer = answered(run, reply(question_0="Y\u200bes", question_1=["No\ufeff"]))
    assert answer.updated_input is not None
    assert answer.updated_input["answers"] == {HIDDEN["question"]: "Y\u200bes", "And \u202ethen?": "No\ufeff"}
    assert answer.updated_input["questions"][0] == HIDDEN


def test_what_is_not_seen_in_one_question() -> None:
    """The message of a form with one question is plain, too."""
    [question] = put(runner(), ask(HIDDEN))
    assert isinstance(question, Question)
    assert question.message == "Delete elif?"


def test_what_is_not_seen_without_forms() -> None:
    """So is all of the request that stands for a form; the answer is the label as it came."""
    run = runner({})
    [question] = put(run, ask(HIDDEN))
    assert isinstance(question, Question)
    assert question.call is not None
    assert [option.name for option in question.options] == ["Yes", "No", "Don't answer"]
    assert question.call.title == "Delete elif?"
    [content] = question.call.content or []
    assert isinstance(content, acp.Content)
    text = "Delete elif?\n\n- **Yes**: now\n\n```\na[8mb\n```\n- **No**: never"
    assert content.content == acp.TextContent(text=text)
    answer = answered(run, chosen("choice-0"))
    assert answer.updated_input is not None
    assert answer.updated_input["answers"] == {HIDDEN["question"]: "Y\u200bes"}


def test_options_that_look_alike() -> None:
    """Options that would look the same are told apart by what is not seen of them."""
    alike = {"question": "Which?", "options": [{"label": "Yes"}, {"label": "Yes\u200b"}]}
    [question] = put(runner({}), ask(alike))
    assert isinstance(question, Question)
    assert [option.name for option in question.options][:2] == ["Yes", "Yes<U+200B>"]


def test_form_for_air() -> None:
    """JetBrains AIR is told which text is whose."""
    [asked] = asked_in({"questions": [PICK]})
    own = form_for([asked], air=True)[1]["properties"]["question_0_custom"]["_meta"]
    assert own["_askUserQuestionCustomAnswer"] == {"questionId": "question_0", "isCustomAnswer": True}
    assert own["jetbrains"]["air"]["customAnswer"] == own["_askUserQuestionCustomAnswer"]
    assert "_meta" not in form_for([asked])[1]["properties"]["question_0_custom"]


def test_asked_in() -> None:
    """What has no text or no options is no question; what has no label is no option."""
    wrong = [{"question": 1, "options": OPTIONS}, {"question": "x", "options": []}, "y", {"question": "z"}]
    mixed = {"question": "ok", "options": [{"label": 3}, {"label": "A"}]}
    assert asked_in({"questions": [*wrong, mixed]}) == (Asked(question="ok", options=(Option(label="A"),)),)
    assert asked_in({"questions": "none"}) == asked_in({}) == ()


@pytest.mark.parametrize(
    ("content", "answers", "notes"),
    [
        ({"question_0": "A"}, {"Which?": "A"}, {}),
        ({"question_0": "A", "question_0_custom": " but why "}, {"Which?": "A"}, {"Which?": "but why"}),
        ({"question_0_custom": "mine"}, {"Which?": "mine"}, {}),
        ({"question_0": "", "question_0_custom": " "}, {}, {}),
        ({"question_0": None, "question_9": "A"}, {}, {}),
        ({"question_0": 3}, {"Which?": "3"}, {}),
        ({"question_1": ["A", "B"], "question_1_custom": " C "}, {"Which ones?": "A, B, C"}, {}),
        ({"question_1": ["A, x", 'B"y']}, {"Which ones?": '"A, x", "B\\"y"'}, {}),
        ({"question_1": [True, {}, ""]}, {"Which ones?": "true"}, {}),
        ({"question_1_custom": "C"}, {"Which ones?": "C"}, {}),
    ],
)
def test_answers(content: dict[str, Any], answers: dict[str, str], notes: dict[str, str]) -> None:
    """A choice wins, and a text beside it is a note; several are joined; what says nothing is no answer (10.1)."""
    assert answers_from(asked_in({"questions": [PICK, MANY]}), content) == Answers(answers=answers, notes=notes)


def test_updated_input() -> None:
    """The input runs with the answers in it, and says of each question without one why, where that is understood."""
    questions = asked_in({"questions": [PICK, MANY]})
    given = Answers(answers={"Which?": "A"}, notes={"Which?": "n"})
    assert updated_input({"a": 1}, questions, given, None) == {
        "a": 1,
        "answers": {"Which?": "A"},
        "annotations": {"Which?": {"notes": "n"}},
    }
    told = updated_input({}, questions, given, "skipped")["annotations"]
    assert told == {"Which?": {"notes": "n"}, "Which ones?": {"unanswered": "skipped"}}
    assert "annotations" not in updated_input({}, questions[:1], Answers(answers={"Which?": "A"}), "skipped")


def test_accepted() -> None:
    """The tool runs with its input and the answers, and is named."""
    run = runner()
    put(run, ask(PICK))
    answer = answered(run, reply(question_0="A"))
    assert (answer.decision, answer.tool_use) == ("allow", "x")
    assert answer.updated_input == {"questions": [PICK], "metadata": 1, "answers": {"Which?": "A"}}


@pytest.mark.parametrize(("action", "word"), [("decline", "dismissed"), ("accept", "skipped")])
def test_unanswered(action: str, word: str) -> None:
    """Who declines, or sends an empty form, lets the tool run without answers; a Claude Code that knows is told why."""
    for capable in (True, False):
        run = runner()
        run.feed(ClaudeStarted(session=S, capabilities=(UNANSWERED,) if capable else ())).run()
        put(run, ask(PICK))
        given = answered(run, reply(action)).updated_input
        assert given is not None
        assert given["answers"] == {}
        assert given.get("annotations") == ({"Which?": {"unanswered": word}} if capable else None)


def test_cancelled() -> None:
    """Who cancels aborts the tool use."""
    run = runner()
    put(run, ask(PICK))
    answer = answered(run, reply("cancel"))
    assert (answer.decision, answer.message) == ("abort", ABORTED)


def test_client_fails() -> None:
    """A client that cannot show it: the model is told so."""
    run = runner()
    put(run, ask(PICK))
    answer = answered(run, ElicitationReply(session=S, ask="q", failure=Failure.internal("no window")))
    assert (answer.decision, answer.message) == ("deny", NOT_ASKABLE)


@pytest.mark.parametrize("questions", [(), ({"question": "x"},), ("text",)])
def test_no_questions(questions: Any) -> None:
    """A use without a valid question is denied, and nothing is shown."""
    run = runner()
    assert put(run, ask(*questions)) == []
    assert answered(run).message == NO_QUESTIONS


# ------------------------------------------------------------------------------------------ without forms


def test_choice() -> None:
    """Without forms a question is a request with one option a choice, and one for no answer."""
    run = runner({})
    [question] = put(run, ask(PICK, agent="child"))
    assert isinstance(question, Question)
    assert [(option.option_id, option.name, option.kind) for option in question.options] == [
        ("choice-0", "A", "allow_once"),
        ("choice-1", "B", "allow_once"),
        ("dismiss", "Don't answer", "reject_once"),
    ]
    assert question.call is not None
    assert (question.call.tool_call_id, question.call.title, question.agent) == ("x", "Which?", "child")
    assert (question.call.kind, question.call.status) == ("other", "pending")
    assert "- **A**: first" in str(question.call.content)
    assert "┌─┐" in str(question.call.content)
    answer = answered(run, chosen("choice-1"))
    assert answer.updated_input is not None
    assert answer.updated_input["answers"] == {"Which?": "B"}


def test_choices_one_after_the_other() -> None:
    """Several questions are put one after the other, and answered together."""
    run = runner({})
    second = {**PICK, "question": "And then?"}
    assert len(put(run, ask(PICK, second))) == 1
    asked = put(run, chosen("choice-0"))
    assert [question.message for question in asked if isinstance(question, Question)] == ["Which?", "And then?"]
    answer = answered(run, chosen("choice-1"))
    assert answer.updated_input is not None
    assert answer.updated_input["answers"] == {"Which?": "A", "And then?": "B"}


def test_choice_is_dismissed() -> None:
    """Who does not answer one is asked no further, and what was answered counts."""
    run = runner({})
    put(run, ask(PICK, {**PICK, "question": "2"}, {**PICK, "question": "3"}))
    answer = answered(run, chosen("choice-0"), chosen("dismiss"))
    assert answer.updated_input is not None
    assert answer.updated_input["answers"] == {"Which?": "A"}


@pytest.mark.parametrize(
    ("option", "message"), [(None, ABORTED), ("allow", "Permission option was not offered: allow")]
)
def test_choice_is_none(option: str | None, message: str) -> None:
    """A cancelled request, and an option that was not offered, abort the tool use."""
    run = runner({})
    put(run, ask(PICK))
    answer = answered(run, chosen(option))
    assert (answer.decision, answer.message) == ("abort", message)


def test_several_choices_without_forms() -> None:
    """What cannot be put without a form is denied with what to do instead."""
    run = runner({})
    assert put(run, ask(PICK, MANY)) == []
    assert answered(run).message == ONE_CHOICE


# ------------------------------------------------------------------------------------------ order and ends


def test_the_call_is_announced_first() -> None:
    """A source that asks before its stream gets there: the use is shown before the question, and only then."""
    run = runner()
    run.feed(ask(PICK, tool_use="early")).run()
    kinds = [type(message) for message in run.client]
    assert kinds == [ToolUse, Question]
    assert [type(message) for message in put(run, second_ask())] == [Question, Question]


def second_ask() -> PermissionAsk:
    """A second ask, for the use that the stream has shown."""
    return PermissionAsk(session=S, ask="r", tool_use="x", name="AskUserQuestion", input={"questions": [PICK]})


def test_other_asks_pass() -> None:
    """A permission is none of this stage's business."""
    run = StepRunner(Pipeline([Questions()]))
    other = PermissionAsk(session=S, ask="p", name="Write")
    run.feed(other).run()
    assert run.client == [other]


@pytest.mark.parametrize("capabilities", [FORMS, {}])
def test_withdrawn(capabilities: dict[str, Any]) -> None:
    """A question that Claude Code takes back is taken back from the client, and a late answer is nobody's."""
    run = runner(capabilities)
    put(run, ask(PICK), AskWithdrawn(session=S, ask="q"))
    assert run.client[-1] == AskWithdrawn(session=S, ask="q")
    run.feed(reply(question_0="A")).run()
    assert run.agent == []


@pytest.mark.parametrize(
    "end",
    [AgentGone(session=S), SessionRestarted(session=S), SessionClosed(session=S)],
    ids=lambda end: type(end).__name__,
)
def test_end_of_the_session(end: Message) -> None:
    """With its Claude Code every open question is gone: the client is told, and nobody is answered twice."""
    run = StepRunner(Pipeline([Questions()]))
    run.feed(Initialized(profile=ClientProfile(capabilities=FORMS))).run()
    run.feed(ask(PICK), Elicitation(session=S, ask="e", message="who?"), end).run()
    assert run.client[-3:] == [AskWithdrawn(session=S, ask="q"), AskWithdrawn(session=S, ask="e"), end]


def test_closing() -> None:
    """A client that is gone cannot answer: the tool use is aborted, the server is told `cancel`."""
    run = StepRunner(Pipeline([Questions()]))
    run.feed(Initialized(profile=ClientProfile(capabilities=FORMS))).run()
    run.feed(ask(PICK), Elicitation(session=S, ask="e", message="who?")).run()
    run.feed(Closing()).run()
    tool, server = run.agent[1:3]
    assert isinstance(tool, PermissionAnswer)
    assert tool.decision == "abort"
    assert server == ElicitationAnswer(session=S, ask="e", action="cancel")
    assert_one_answer(run)


# ------------------------------------------------------------------------------------------ a declined request


REFUSED = RefusalAsk(session=S, ask="q", original_model="Fable 5", fallback_model="Opus 4.8")


def test_refusal() -> None:
    """A request that the model declined is put as a form with two choices, in the reference's words (10.2)."""
    run = runner()
    [dialog] = put(run, attrs.evolve(REFUSED, category="cyber", guidance="Or\u202e rephrase."))
    assert isinstance(dialog, Dialog)
    assert dialog.message == "Fable 5 declined this request (cyber). Retry with Opus 4.8?\n\nOr rephrase."
    retry = {
        "const": "retry_fallback",
        "title": "Retry with Opus 4.8",
        "description": "The session continues on Opus 4.8.",
    }
    keep = {"const": "cancelled", "title": "Keep the refusal", "description": "You can send a new message."}
    assert dialog.schema == {"type": "object", "properties": {"choice": {"type": "string", "oneOf": [retry, keep]}}}
    acp.structure(dialog.schema, acp.ElicitationSchema)
    [short] = put(runner(), REFUSED)
    assert isinstance(short, Dialog)
    assert short.message == "Fable 5 declined this request. Retry with Opus 4.8?"


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (reply(choice="retry_fallback"), "retry_fallback"),
        (reply(choice="cancelled"), "cancelled"),
        (reply(choice=3), "cancelled"),
        (reply(), "cancelled"),
        (reply("decline", choice="retry_fallback"), "cancelled"),
        (reply("cancel"), "cancelled"),
        (ElicitationReply(session=S, ask="q", action="accept", failure=Failure.internal()), None),
    ],
)
def test_refusal_is_answered(given: ElicitationReply, result: str | None) -> None:
    """Only who chooses the retry gets it; a client that fails has asked nobody."""
    run = runner()
    put(run, REFUSED)
    run.feed(given).run()
    assert run.agent == [DialogAnswer(session=S, ask="q", result=result)]
    assert_one_answer(run)


def test_refusal_without_forms() -> None:
    """A client without forms is asked nothing."""
    run = runner({"elicitation": {"url": {}}})
    assert put(run, REFUSED) == []
    assert run.agent == [DialogAnswer(session=S, ask="q")]


def test_refusal_is_cancelled() -> None:
    """When the client is told that its prompt is cancelled, an open dialog is taken back, and nobody has chosen."""
    run = runner()
    running = Prompt(session=S, request=1, prompt="p", content=())
    put(run, running, PromptState(session=S, prompt="p", state="started"), REFUSED)
    run.agent.clear()
    run.feed(Cancel(session=S), TurnEnded(session=S, request=1, prompt="p", stop_reason="cancelled")).run()
    assert AskWithdrawn(session=S, ask="q") in run.client
    assert DialogAnswer(session=S, ask="q") in run.agent


# ------------------------------------------------------------------------------------------ MCP servers


def foreign(mode: Any = "form", **members: Any) -> Elicitation:
    return Elicitation(session=S, ask="q", message="who?", mode=mode, server="srv", **members)


def test_mcp_form() -> None:
    """A server's form goes out with its schema, completed, and its answer comes back as it is."""
    run = runner()
    [asked] = put(run, foreign(schema={"required": ["a"], "properties": None, "title": "T"}))
    assert isinstance(asked, Elicitation)
    assert asked.schema == {"required": ["a"], "properties": {}, "title": "T", "type": "object"}
    run.feed(reply(name="Bo")).run()
    assert run.agent == [ElicitationAnswer(session=S, ask="q", action="accept", content={"name": "Bo"})]


@pytest.mark.parametrize(
    ("given", "action", "content"),
    [
        (reply(), "accept", {}),
        (ElicitationReply(session=S, ask="q", action="accept"), "accept", {}),
        (reply("decline", a=1), "decline", None),
        (reply("cancel"), "cancel", None),
        (ElicitationReply(session=S, ask="q", action="decline", failure=Failure.internal()), "cancel", None),
    ],
)
def test_mcp_answers(given: ElicitationReply, action: str, content: Any) -> None:
    """Accept has an object, decline and cancel have none; a client that fails has not declined."""
    run = runner()
    put(run, foreign())
    run.feed(given).run()
    assert run.agent == [ElicitationAnswer(session=S, ask="q", action=action, content=content)]  # type: ignore[arg-type]


def test_mcp_url() -> None:
    """A URL keeps its server's id, or is given one."""
    for given, used in (("their", "their"), (None, "new")):
        [asked] = put(runner(), foreign("url", url="https://x.test", elicitation=given))
        assert isinstance(asked, Elicitation)
        assert (asked.url, asked.elicitation) == ("https://x.test", used)


@pytest.mark.parametrize(
    ("capabilities", "mode", "asked"),
    [
        ({}, "form", False),
        ({}, "url", False),
        ({"elicitation": {"url": {}}}, "form", False),
        ({"elicitation": {"form": {}}}, "url", False),
        ({"elicitation": {"form": {}}}, "form", True),
        ({"elicitation": {"url": {}}}, "url", True),
    ],
)
def test_mcp_refused(capabilities: dict[str, Any], mode: str, asked: bool) -> None:
    """A client is asked what it can be asked; any other question is cancelled at once."""
    run = runner(capabilities)
    assert bool(put(run, foreign(mode, url="https://x.test"))) is asked
    assert (run.agent == [ElicitationAnswer(session=S, ask="q", action="cancel")]) is not asked


def test_mcp_what_is_not_seen() -> None:
    """A server's words are shown without what is not seen, and its values go back as they are."""
    run = runner()
    schema = {
        "title": "T\u202e",
        "description": "D\u200b",
        "required": ["na\u200bme"],
        "properties": {
            "na\u200bme": {"type": "string", "default": "x\u200b"},
            "one": {"type": "string", "title": "O\u202e", "oneOf": [{"const": "a\u200b", "title": "A\u200b"}]},
            "bare": {"type": "string", "enum": ["a\u200b", "a"]},
            "many": {"type": "array", "items": {"anyOf": [{"const": "b", "title": "B", "description": "\u2066d"}]}},
            "several": {"type": "array", "items": {"type": "string", "enum": ["c\u202e"]}},
            "simple": {"type": "string", "enum": ["c"]},
        },
    }
    asked = Elicitation(session=S, ask="q", message="Who \u202eyou?\x1b[0m", schema=schema, server="srv")
    [shown] = put(run, asked)
    assert isinstance(shown, Elicitation)
    assert shown.message == "Who you?[0m"
    assert shown.schema == {
        "type": "object",
        "title": "T",
        "description": "D",
        "required": ["na\u200bme"],
        "properties": {
            "na\u200bme": {"type": "string", "default": "x\u200b", "title": "name"},
            "one": {"type": "string", "title": "O", "oneOf": [{"const": "a\u200b", "title": "A"}]},
            "bare": {
                "type": "string",
                "oneOf": [{"const": "a\u200b", "title": "a<U+200B>"}, {"const": "a", "title": "a"}],
            },
            "many": {"type": "array", "items": {"anyOf": [{"const": "b", "title": "B", "description": "d"}]}},
            "several": {"type": "array", "items": {"anyOf": [{"const": "c\u202e", "title": "c"}]}},
            "simple": {"type": "string", "enum": ["c"]},
        },
    }
    acp.structure(shown.schema, acp.ElicitationSchema)
    run.feed(reply(**{"na\u200bme": "Bo\u200b", "one": "a\u200b"})).run()
    content = {"na\u200bme": "Bo\u200b", "one": "a\u200b"}
    assert run.agent == [ElicitationAnswer(session=S, ask="q", action="accept", content=content)]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.test/ä?a=1&b=%20#f", "https://x.test/ä?a=1&b=%20#f"),
        ("https://x.test/\u202emoc.live", "https://x.test/%E2%80%AEmoc.live"),
        ("https://x.test/a b\n\x1b[0m", "https://x.test/a%20b%0A%1B[0m"),
    ],
    ids=ascii,
)
def test_mcp_address(url: str, shown: str) -> None:
    """The address that a person is sent to leads where it led, and all of it is seen."""
    [asked] = put(runner(), foreign("url", url=url))
    assert isinstance(asked, Elicitation)
    assert asked.url == shown


def test_mcp_wrong_schema() -> None:
    """A schema that no client could be sent is not sent."""
    run = runner()
    assert put(run, foreign(schema={"properties": {"a": {"type": "array"}}})) == []
    assert run.agent == [ElicitationAnswer(session=S, ask="q", action="cancel")]


def test_completed() -> None:
    """The end of what a URL asked for is told to clients that have URLs."""
    done = ElicitationCompleted(session=S, elicitation="e")
    for capabilities, told in ((FORMS, [done]), ({}, [])):
        run = runner(capabilities)
        run.feed(done).run()
        assert run.client == told


def test_conformance() -> None:
    """The stage passes what it does not know, shares no state, and does the same on a thread."""
    script = [Initialized(profile=ClientProfile(capabilities=FORMS)), ask(PICK), reply(question_0="A"), second_ask()]
    check_stage(lambda: Questions(new_uuid=lambda: "new"), script)


@pytest.mark.parametrize(
    "settled", [AskWithdrawn(session=S, ask="q"), PermissionAnswer(session=S, ask="q", decision="deny")]
)
def test_settled(settled: Message) -> None:
    """A reply to what is settled, or to what another stage asks, is none of this stage's: it passes."""
    run = StepRunner(Pipeline([Questions()]))
    run.feed(Initialized(profile=ClientProfile(capabilities=FORMS)), ask(PICK)).run()
    run.feed(settled).run()
    run.agent.clear()
    run.feed(reply(question_0="A")).run()
    assert run.agent == [reply(question_0="A")]


def test_a_stage_that_asks_itself() -> None:
    """A question of a stage on the agent's side goes out as it is, and its reply goes back to that stage."""
    run = runner()
    own = Elicitation(session=S, ask="mcp-oauth", message="sign in", mode="url", url="u", elicitation="mcp-oauth")
    assert put(run, own) == [own]
    run.feed(ElicitationReply(session=S, ask="mcp-oauth", action="accept")).run()
    assert run.agent == [ElicitationReply(session=S, ask="mcp-oauth", action="accept")]
