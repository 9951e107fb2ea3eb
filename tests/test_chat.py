"""The terminal client: what it shows, how it talks to an agent in a subprocess, and the program around both.

The agent is `AGENT`, a script that speaks ACP; what it does is decided by the prompt's text.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpbridge.chat.client import Client, Ended, Interrupted, NoMoreInput, Posted, Terminated, Typed
from acpbridge.chat.conversation import Conversation, Verdict
from acpbridge.chat.view import MAX_DIFF_LINES, Style, View

AGENT = r'''
import json, os, signal, subprocess, sys, threading
from acpbridge.jsonrpc import ErrorReply, Notification, Peer, Reply, Request
from middleware.errors import Failure

peer = Peer()

def send(line):
    os.write(1, line)

def next_event():
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if event := peer.receive(line):
            return event

def update(kind, /, **members):
    send(peer.notify("session/update", {"sessionId": "s1", "update": {"sessionUpdate": kind, **members}}))

def say(text, kind="agent_message_chunk", message="m1"):
    update(kind, content={"type": "text", "text": text}, messageId=message)

DIFF = {"type": "diff", "path": "/p/a.py", "oldText": "one\ntwo\n", "newText": "one\n2\n"}
CALL = {"toolCallId": "t1", "title": "Edit a.py", "kind": "edit", "status": "pending", "content": [DIFF]}
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
           {"optionId": "all", "name": "Always", "kind": "allow_always"},
           {"optionId": "no", "name": "No", "kind": "reject_once"}]

def ask(options=OPTIONS):
    call, line = peer.call("session/request_permission", {"sessionId": "s1", "toolCall": CALL, "options": options})
    send(line)
    return call

def answer(request, cancelled=None):
    """The answer to an ask or a request; a session/cancel on the way is remembered."""
    while True:
        match next_event():
            case Reply(call=number, result=result) if number == request:
                return result
            case ErrorReply(call=number, error=error) if number == request:
                return {"error": error.code}
            case Notification(method="session/cancel") if cancelled is not None:
                cancelled.append(True)

def prompt(request, text):
    word, _, rest = text.partition(":")
    reason = "end_turn"
    match word:
        case "hello":
            say("Let me think.", "agent_thought_chunk")
            say("Hel")
            say("lo ")
            say("there.")
        case "edit":
            update("tool_call", **CALL)
            update("tool_call_update", toolCallId="t1", content=[DIFF])
            cancelled = []
            outcome = answer(ask(), cancelled)["outcome"]
            allowed = outcome.get("optionId") in ("yes", "all")
            output = {"type": "content", "content": {"type": "text", "text": "edited" if allowed else "refused"}}
            update("tool_call_update", toolCallId="t1", status="completed" if allowed else "failed", content=[output])
            say("The answer was " + outcome.get("optionId", outcome["outcome"]))
            reason = "cancelled" if cancelled else reason
        case "two asks":
            first, second = ask(), ask(OPTIONS[::2])
            say("both asked")
            say(f"{answer(first)['outcome']['optionId']} then {answer(second)['outcome']['optionId']}")
        case "odd ask":
            say(str(answer(ask([{"name": "No id"}, 7]))))
        case "withdraw":
            number = ask()
            send(peer.notify("$/cancel_request", {"requestId": number}))
            say("code " + str(answer(number)["error"]))
        case "slow":
            say("working")
            while next_event() != Notification(method="session/cancel", params={"sessionId": "s1"}):
                pass
            reason = "cancelled"
        case "late ask":
            say("working")
            next_event()
            say(str(answer(ask())))
        case "die":
            os.write(2, b"Traceback: the \x1b[31mreason\n")
            os._exit(3)
        case "fail":
            return send(peer.fail(request, Failure.of(-32603, "no luck", {"details": "the API is down"})))
        case "login":
            return send(peer.fail(request, Failure.of(-32000)))
        case "read":
            call, line = peer.call("fs/read_text_file", {"path": "/x"})
            send(line)
            say("code " + str(answer(call)["error"]))
        case "odd":
            update("brand_new_kind", x=1)
            update("tool_call", toolCallId=None, title=[1], content="no")
            send(peer.notify("session/update", "text"))
            send(peer.notify("session/update", [1]))
            send(peer.notify("_vendor/thing", {}))
            os.write(1, b"this is no JSON\n\n[1]\n")
            codes = [json.loads(sys.stdin.buffer.readline())["error"]["code"] for _ in range(2)]
            say(f"still here, {codes}")
        case "print":
            say(rest)
        case "environment":
            say(os.environ["ANTHROPIC_BASE_URL"] + " " + os.environ["HOME"])
        case "deaf":
            send(peer.respond(request, {"stopReason": "end_turn"}))
            threading.Event().wait()
        case "hang":
            connect = f"s = socket.create_connection(('127.0.0.1', {rest}))"
            child = f"import socket, threading; {connect}; threading.Event().wait()"
            subprocess.Popen([sys.executable, "-c", child])
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            send(peer.respond(request, {"stopReason": "end_turn"}))
            threading.Event().wait()
    send(peer.respond(request, {"stopReason": reason}))

def serve():
    while True:
        match next_event():
            case Request(id=number, method="initialize", params=params):
                methods = [{"id": "a", "name": "Claude", "type": "terminal", "args": ["--cli", "auth", "login"]}]
                version = 2 if "v2" in sys.argv else params["protocolVersion"]
                send(peer.respond(number, {"protocolVersion": version, "authMethods": methods}))
            case Request(id=number, method="session/new", params=params):
                if "login" in sys.argv:
                    send(peer.fail(number, Failure.of(-32000)))
                    continue
                os.chdir(params["cwd"])
                send(peer.respond(number, {"sessionId": "s1"}))
            case Request(id=number, method="session/prompt", params={"prompt": [{"text": text}]}):
                prompt(number, text)

serve()
'''

PLAIN = Style(colour=False, unicode=False)


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    """The command of the scripted agent."""
    script = tmp_path / "agent.py"
    script.write_text(AGENT, encoding="utf-8")
    return [sys.executable, str(script)]


@attrs.define
class Screen:
    """What is written; when the next awaited text appears, its event is posted, as a person would react to it."""

    client: Client
    reactions: list[tuple[str, Posted]]
    text: str = ""
    seen: int = 0

    def write(self, text: str) -> None:
        self.text += text
        while self.reactions and (at := self.text.find(self.reactions[0][0], self.seen)) >= 0:
            awaited, event = self.reactions.pop(0)
            self.seen = at + len(awaited)
            self.client.post(event)


def converse(
    command: list[str],
    *reactions: tuple[str, Posted],
    prompts: Iterable[str] = (),
    terminal: bool = True,
    input_open: bool | None = None,
    verdict: Verdict = "reject_once",
) -> tuple[int, str]:
    """Hold a conversation; the exit code and all that was written. The agent must end by itself."""
    client = Client(command)
    screen = Screen(client, list(reactions))
    conversation = Conversation(
        client,
        View(PLAIN),
        screen.write,
        cwd=os.getcwd(),
        prompts=prompts,
        terminal=terminal,
        input_open=terminal if input_open is None else input_open,
        verdict=verdict,
        login_command=["acpbridge"],
    )
    code = conversation.run()
    ended = client.close()
    assert not ended.killed
    assert not screen.reactions, screen.text
    if not conversation.agent_gone:
        assert ended == Ended(0, killed=False)
    return code, screen.text


# What the view shows


def show(*updates: dict[str, Any], style: Style = PLAIN) -> str:
    view = View(style)
    return "".join(view.update(update) for update in updates)


def chunk(text: str, kind: str = "agent_message_chunk", message: str | None = "m") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": message}


def test_text_streams_as_it_comes() -> None:
    """Chunks of one message are put one after the other; another message begins a new line."""
    assert show(chunk("Hel"), chunk("lo\n"), chunk("you"), chunk("next", message="n")) == "Hello\nyou\nnext"


def test_thoughts_are_dimmed_and_apart_from_the_text() -> None:
    """A thought is dimmed; the text after it begins a new line."""
    style = Style(colour=True, unicode=True)
    shown = show(chunk("hm", "agent_thought_chunk"), chunk("so"), style=style)
    assert shown == "\x1b[2mhm\x1b[0m\nso"


def test_other_content_is_named() -> None:
    """Content that is no text is shown as what it is."""

    def content(**block: Any) -> dict[str, Any]:
        return {"sessionUpdate": "agent_message_chunk", "content": block}

    assert show(content(type="image", mimeType="image/png", data="AAAA")) == "[image image/png]"
    assert show(content(type="resource_link", name="a", uri="file:///a")) == "[a](file:///a)"
    assert show(content(type="resource", resource={"uri": "file:///a", "text": "x"})) == "[file:///a]"


def test_a_tool_call_is_shown_when_it_changes() -> None:
    """A call is shown when its input begins to be known, and with each other status; a diff once, output at its end."""
    diff = {"type": "diff", "path": "/a", "oldText": "x\ny", "newText": "x\nz"}
    output = {"type": "content", "content": {"type": "text", "text": "done\n"}}
    shown = show(
        {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Preparing", "status": "pending"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawInput": {}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Edit a", "rawInput": {"file_path": "/a"}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Edit a, all of it", "content": [diff]},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "content": [diff, output]},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [diff, output]},
    )
    assert shown.splitlines() == [
        "[ ] Edit a pending",
        "    /a",
        "    @@ -1,2 +1,2 @@",
        "     x",
        "    -y",
        "    +z",
        "[>] Edit a, all of it in progress",
        "[x] Edit a, all of it completed",
        "    done",
    ]


def test_a_question_about_a_call() -> None:
    """A call that was not shown yet is shown by its question, and one that was is not shown again."""
    for announced in ({}, {"rawInput": {"file_path": "/a"}}):
        view = View(PLAIN)
        call = {"toolCallId": "t", "title": "Edit a", "status": "pending"}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        shown = view.update({"sessionUpdate": "tool_call", **call, **announced})
        shown += view.question({"toolCall": {"toolCallId": "t", "rawInput": {"file_path": "/a"}}, "options": options})
        shown += view.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})
        lines = ["? Edit a", "  1) Yes", "[x] Edit a completed"]
        assert shown.splitlines() == (["[ ] Edit a pending", *lines] if announced else lines)


def test_a_new_file_is_all_additions() -> None:
    """A diff without an old text shows every line as added, and no line that is not there."""
    diff = {"type": "diff", "path": "/a", "oldText": None, "newText": "x\ny\n"}
    shown = show({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write", "content": [diff]})
    assert shown.splitlines()[1:] == ["    /a", "    @@ -0,0 +1,2 @@", "    +x", "    +y"]


def test_the_same_change_is_shown_once_however_much_is_around_it() -> None:
    """A diff that comes again with other context says nothing new; another change of the same file does."""
    view = View(PLAIN)

    def update(old: str, new: str) -> str:
        diff = {"type": "diff", "path": "/a", "oldText": old, "newText": new}
        return view.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [diff]})

    assert "    -y\n    +z\n" in update("y", "z")
    assert update("x\ny\n", "x\nz\n") == ""
    assert "    +w\n" in update("x\ny\n", "x\nw\n")


def test_long_diffs_and_outputs_are_cut() -> None:
    """A long diff ends with the number of lines that are left out; a huge one is only measured."""
    text = "\n".join(map(str, range(1000)))
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write", "status": "completed"}
    shown = show(call | {"content": [{"type": "diff", "path": "/a", "newText": text}]})
    assert len(shown.splitlines()) == 2 + MAX_DIFF_LINES + 1
    assert "more lines" in shown.splitlines()[-1]
    huge = show(call | {"content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y" * 1_000_000}]})
    assert huge.splitlines()[-1] == "    (1 characters become 1000000)"
    output = show(call | {"content": [{"type": "content", "content": {"type": "text", "text": text}}]})
    assert output.splitlines()[-1] == "    ... 988 more lines"


def test_plans_modes_and_notices_are_shown() -> None:
    """A plan is a list with marks; a mode and a notice are a line each."""
    entries = [
        {"content": "first", "status": "completed", "priority": "low"},
        {"content": "second", "status": "in_progress", "priority": "low"},
        {"content": "third", "status": "pending", "priority": "low"},
    ]
    plan = "Plan\n  [x] first\n  [>] second\n  [ ] third\n"
    assert show({"sessionUpdate": "plan", "entries": entries}) == plan
    items = {"type": "items", "planId": "p", "entries": entries}
    assert show({"sessionUpdate": "plan_update", "plan": items}) == plan
    assert show({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}) == "mode: plan\n"
    notice = {"sessionUpdate": "notice", "severity": "error", "title": "Oh", "description": "why"}
    assert show(notice) == "Oh: why\n"


@pytest.mark.parametrize(
    "kind", ["usage_update", "available_commands_update", "user_message_chunk", "new_kind", None, 5]
)
def test_kinds_that_are_not_shown_are_skipped(kind: Any) -> None:
    """An update of an unknown kind, or one that says nothing to a reader, leaves no trace."""
    assert show({"sessionUpdate": kind, "content": {"type": "text", "text": "x"}}) == ""


def test_nothing_that_is_shown_drives_the_terminal() -> None:
    """Escape sequences in texts, titles, diffs, outputs, options and plans are made harmless."""
    evil = "a\x1b]0;title\x07\x9b2J\rb"
    style = Style(colour=False, unicode=True)
    content = [
        {"type": "diff", "path": evil, "oldText": evil, "newText": evil + "x"},
        {"type": "content", "content": {"type": "text", "text": evil}},
    ]
    call = {"toolCallId": "t", "title": evil, "status": "completed", "content": content}
    shown = show(
        chunk(evil),
        {"sessionUpdate": "tool_call"} | call,
        {"sessionUpdate": "plan", "entries": [{"content": evil, "status": "pending"}]},
        {"sessionUpdate": "current_mode_update", "currentModeId": evil},
        style=style,
    )
    shown += View(style).question({"toolCall": call, "options": [{"optionId": "x", "name": evil}]})
    assert shown.count("a\ufffd]0;title\ufffd\ufffd2Jb") >= 8
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\r"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
    max_leaves=8,
)
KINDS = ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "plan_update", "notice"]
MEMBERS = [
    "content",
    "messageId",
    "toolCallId",
    "title",
    "status",
    "entries",
    "plan",
    "severity",
    "type",
    "text",
    "name",
]
members = st.dictionaries(st.sampled_from(MEMBERS), json_values | st.sampled_from(["diff", "text", "completed"]))


@given(st.sampled_from(KINDS), members, members, members)
def test_malformed_updates_break_nothing(kind: str, outer: Any, inner: Any, innermost: Any) -> None:
    """Whatever stands in the members of an update or a question, the view returns text."""
    inner["content"] = innermost
    update = outer | {"sessionUpdate": kind, "content": [inner] if kind.startswith("tool") else inner}
    view = View(PLAIN)
    assert isinstance(view.update(update), str)
    assert isinstance(view.question({"toolCall": outer, "options": [inner, outer]}), str)


# Conversations with an agent in a subprocess


def test_prompts_are_answered_one_after_the_other(agent: list[str]) -> None:
    """Given prompts are shown and sent in order; after the last turn the program is done."""
    code, text = converse(agent, prompts=["hello", "print:bye"], terminal=False)
    assert code == 0
    assert text == "> hello\nLet me think.\nHello there.\n> print:bye\nbye\n"


def test_typed_prompts_are_sent_until_ctrl_d(agent: list[str]) -> None:
    """At a terminal each line is a prompt, an empty one is none, and Ctrl-D ends."""
    code, text = converse(
        agent, ("> ", Typed("print:one")), ("> ", Typed("  ")), ("> ", Typed("print:two")), ("> ", NoMoreInput())
    )
    assert code == 0
    assert text == "starting Claude Code...\n> one\n> > two\n> \n"


def test_piped_prompts_are_sent_until_the_end_of_the_file(agent: list[str]) -> None:
    """Without a terminal the lines of stdin are prompts, those that come early too; its end ends the program."""
    client = Client(agent)
    for event in (Typed("print:one"), Typed(""), Typed("print:two"), NoMoreInput()):
        client.post(event)
    written: list[str] = []
    conversation = Conversation(client, View(PLAIN), written.append, cwd=os.getcwd(), terminal=False, input_open=True)
    assert conversation.run() == 0
    assert client.close() == Ended(0, killed=False)
    assert "".join(written) == "> print:one\none\n> print:two\ntwo\n"


def test_a_prompt_typed_during_a_turn_waits_for_its_end(agent: list[str]) -> None:
    """What is typed while a turn runs is said to wait; a cancel of the turn drops it, and says that, too."""
    code, text = converse(
        agent,
        ("> ", Typed("slow")),
        ("working", Typed("print:later")),
        ("(sent when this turn has ended)", Interrupted()),
        ("(stopped: cancelled)", Typed("print:now")),
        ("now", NoMoreInput()),
    )
    assert code == 0
    assert "(cancelling)\n(not sent: print:later)\n" in text
    assert "\nlater\n" not in text


def test_a_waiting_prompt_is_shown_when_it_is_sent(agent: list[str]) -> None:
    """A prompt that was typed before it could be sent is repeated above its answer."""
    client = Client(agent)
    client.post(Typed("print:early"))
    screen = Screen(client, [("> print:early\nearly\n> ", NoMoreInput())])
    conversation = Conversation(client, View(PLAIN), screen.write, cwd=os.getcwd(), terminal=True, input_open=True)
    assert conversation.run() == 0
    assert client.close() == Ended(0, killed=False)


@pytest.mark.parametrize(
    ("typed", "option", "end"), [("1", "yes", "completed"), ("2", "all", "completed"), (" 3 ", "no", "failed")]
)
def test_a_question_is_answered_with_a_number(agent: list[str], typed: str, option: str, end: str) -> None:
    """The tool call, its diff (once) and the options are shown; the number that is typed is the option that is sent."""
    code, text = converse(
        agent,
        ("> ", Typed("edit")),
        ("  1) Yes\n  2) Always\n  3) No\nYour choice (1-3): ", Typed(typed)),
        (f"Edit a.py {end}", Typed("")),
        (f"The answer was {option}", NoMoreInput()),
    )
    assert code == 0
    assert text.count("    -two\n    +2\n") == 1
    assert "? Edit a.py\n" in text


@pytest.mark.parametrize("typed", ["0", "4", "yes", "", "-1", "²", "9" * 5000])
def test_a_wrong_choice_is_asked_again(agent: list[str], typed: str) -> None:
    """What is no number of an option chooses nothing."""
    code, _ = converse(
        agent,
        ("> ", Typed("edit")),
        ("Your choice", Typed(typed)),
        ("Please enter a number from 1 to 3: ", Typed("3")),
        ("The answer was no", NoMoreInput()),
    )
    assert code == 0


def test_questions_are_asked_one_after_the_other(agent: list[str]) -> None:
    """A second question is shown when the first is answered, with its own options."""
    code, text = converse(
        agent,
        ("> ", Typed("two asks")),
        ("both asked", Typed("2")),
        ("Your choice (1-2): ", Typed("2")),
        ("all then no", NoMoreInput()),
    )
    assert code == 0
    assert text.count("? Edit a.py") == 2


@pytest.mark.parametrize(("verdict", "name", "option"), [("allow_once", "Yes", "yes"), ("reject_once", "No", "no")])
def test_without_a_terminal_questions_are_answered_and_that_is_said(
    agent: list[str], verdict: Verdict, name: str, option: str
) -> None:
    """Nobody can be asked: the option of the given kind is taken, and the text says so."""
    code, text = converse(agent, prompts=["edit"], terminal=False, verdict=verdict)
    assert code == 0
    assert f"(no terminal to ask at; answered: {name})\n" in text
    assert text.endswith(f"The answer was {option}\n")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_question_without_usable_options_is_cancelled(agent: list[str], terminal: bool) -> None:
    """A question that offers nothing to choose is answered `cancelled`, so that the agent does not wait for ever."""
    code, text = converse(agent, prompts=["odd ask"], terminal=terminal, input_open=False)
    assert code == 0
    assert "{'outcome': {'outcome': 'cancelled'}}" in text


def test_a_withdrawn_question_is_gone(agent: list[str]) -> None:
    """When the agent takes a question back it gets its answer (-32800), and the next line is a prompt again."""
    code, _ = converse(
        agent,
        ("> ", Typed("withdraw")),
        ("(the question was withdrawn)", Typed("print:a prompt")),
        ("code -32800", Typed("")),
        ("a prompt", NoMoreInput()),
    )
    assert code == 0


def test_ctrl_c_cancels_the_turn(agent: list[str]) -> None:
    """Ctrl-C ends the turn, not the program; a second one only says that it goes on."""
    code, text = converse(
        agent,
        ("> ", Typed("slow")),
        ("working", Interrupted()),
        ("(cancelling)", Interrupted()),
        ("(stopped: cancelled)\n> ", Typed("edit")),
        ("Your choice", Interrupted()),
        ("(stopped: cancelled)\n> ", NoMoreInput()),
    )
    assert code == 0
    assert "working\n(cancelling)\n(still cancelling; Ctrl-D ends)\n(stopped: cancelled)\n" in text


def test_ctrl_c_while_idle_gives_a_hint(agent: list[str]) -> None:
    """With no turn running Ctrl-C ends nothing and names the key that does."""
    code, text = converse(agent, ("> ", Interrupted()), ("(nothing runs; Ctrl-D ends)\n> ", NoMoreInput()))
    assert code == 0, text


def test_ctrl_c_at_a_question_cancels_it_and_the_turn(agent: list[str]) -> None:
    """After a cancel the open question is answered `cancelled`, as ACP demands, and what is typed is a prompt again."""
    code, _ = converse(
        agent,
        ("> ", Typed("edit")),
        ("Your choice", Interrupted()),
        ("The answer was cancelled", Typed("")),
        ("(stopped: cancelled)", Typed("print:next")),
        ("next", NoMoreInput()),
    )
    assert code == 0


def test_a_question_after_the_cancel_is_cancelled(agent: list[str]) -> None:
    """A question that crosses with the cancel is answered `cancelled` and bothers nobody."""
    code, text = converse(
        agent,
        ("> ", Typed("late ask")),
        ("working", Interrupted()),
        ("{'outcome': {'outcome': 'cancelled'}}", NoMoreInput()),
    )
    assert code == 0
    assert "Your choice" not in text


def test_ctrl_c_without_a_terminal_ends_after_the_turn(agent: list[str]) -> None:
    """In a script Ctrl-C cancels the turn, drops the prompts behind it and gives 130."""
    code, text = converse(agent, ("working", Interrupted()), prompts=["slow", "print:next"], terminal=False)
    assert code == 130
    assert text.endswith("(cancelling)\n(not sent: print:next)\n(stopped: cancelled)\n")


def test_ctrl_d_during_a_turn_ends(agent: list[str]) -> None:
    """Ctrl-D while a turn runs cancels it and ends the program."""
    assert converse(agent, ("> ", Typed("slow")), ("working", NoMoreInput()))[0] == 0


def test_a_signal_ends_the_program(agent: list[str]) -> None:
    """SIGTERM ends the conversation with 143 and the agent with it."""
    assert converse(agent, ("> ", Typed("slow")), ("working", Terminated()))[0] == 143


def test_an_agent_that_dies_ends_the_program_with_its_last_words(agent: list[str]) -> None:
    """When the agent ends by itself the conversation fails, and the tail of its stderr is at hand."""
    client = Client(agent)
    conversation = Conversation(
        client, View(PLAIN), lambda text: None, cwd=os.getcwd(), prompts=["die"], terminal=False, input_open=False
    )
    assert conversation.run() == 1
    assert conversation.agent_gone
    assert client.close() == Ended(3, killed=False)
    assert client.stderr_tail() == ["Traceback: the \x1b[31mreason"]


def test_a_failed_prompt_is_explained_and_is_no_end(agent: list[str]) -> None:
    """An error answer is shown with its details; a later prompt is sent; the exit code remembers the failure."""
    code, text = converse(agent, prompts=["fail", "print:next"], terminal=False)
    assert code == 1
    assert "The prompt failed: Internal error: no luck (code -32603)\nthe API is down\n" in text
    assert text.endswith("next\n")


@pytest.mark.parametrize(("arguments", "prompts"), [(["login"], ["hello"]), ([], ["login", "hello"])])
def test_a_missing_login_is_explained(agent: list[str], arguments: list[str], prompts: list[str]) -> None:
    """-32000, at session/new or at a prompt, ends the program with the command that logs in."""
    code, text = converse([*agent, *arguments], prompts=prompts, terminal=False)
    assert code == 1
    assert text.endswith(
        "Claude Code is not logged in. Log in, then start again:\n  Claude: acpbridge --cli auth login\n"
    )


def test_another_protocol_version_is_refused(agent: list[str]) -> None:
    """An agent that answers with a version that this client lacks is not talked to."""
    code, text = converse([*agent, "v2"], prompts=["hello"], terminal=False)
    assert code == 1
    assert text == "The agent speaks ACP 2, this client 1.\n"


def test_a_method_that_the_client_lacks_is_refused(agent: list[str]) -> None:
    """A request for something that was not offered (fs, terminal) is answered -32601."""
    assert "code -32601" in converse(agent, prompts=["read"], terminal=False)[1]


def test_strange_messages_are_survived(agent: list[str]) -> None:
    """Unknown kinds, malformed updates, other notifications and lines that are no JSON disturb nothing."""
    code, text = converse(agent, prompts=["odd", "hello"], terminal=False)
    assert code == 0
    assert "still here, [-32700, -32600]\n" in text
    assert "Hello there." in text


def test_an_agent_that_hangs_is_killed_with_its_children(agent: list[str]) -> None:
    """An agent that ends neither at EOF nor at SIGTERM is killed, and what it started goes with it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(agent, grace=0.1)
        port = server.getsockname()[1]
        conversation = Conversation(
            client,
            View(PLAIN),
            lambda text: None,
            cwd=os.getcwd(),
            prompts=[f"hang:{port}"],
            terminal=False,
            input_open=False,
        )
        assert conversation.run() == 0
        child, _ = server.accept()
        ended = client.close()
        assert ended.killed
        assert not psutil.pid_exists(client.pid)
        with child:
            # On Windows only the agent itself is killed.
            assert sys.platform == "win32" or child.recv(1) == b""


def test_an_agent_that_misses_the_end_of_its_stdin_is_terminated(agent: list[str]) -> None:
    """An agent that does not end at EOF is asked by SIGTERM (on Windows: ended) before anything harder."""
    client = Client(agent, grace=0.1)
    conversation = Conversation(
        client, View(PLAIN), lambda text: None, cwd=os.getcwd(), prompts=["deaf"], terminal=False, input_open=False
    )
    assert conversation.run() == 0
    ended = client.close()
    assert ended.killed
    assert ended.code == (1 if sys.platform == "win32" else -signal.SIGTERM)


def test_closing_twice_is_closing_once(agent: list[str]) -> None:
    """A second close tells the same."""
    client = Client(agent)
    assert client.close() == Ended(0, killed=False)
    assert client.close() == Ended(0, killed=False)
    assert not psutil.pid_exists(client.pid)


# The program


def program(agent: list[str], *arguments: str) -> list[str]:
    source = f"import sys; from acpbridge.chat import main; sys.exit(main(sys.argv[1:], {agent!r}))"
    return [sys.executable, "-c", source, *arguments]


@contextmanager
def killed_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A test that fails must not wait for the program that made it fail."""
    try:
        yield
    finally:
        process.kill()


def run(
    agent: list[str], *arguments: str, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program without a terminal. (No timeout: subprocess would sleep. pytest-timeout is the bound.)"""
    return subprocess.run(
        program(agent, *arguments),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def test_the_program_sends_its_arguments_as_one_prompt(agent: list[str]) -> None:
    """The words of the command line are one prompt; without a terminal the program ends after its turn."""
    done = run(agent, "print:two", "words")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split() == [">", "print:two", "words", "two", "words"]
    assert done.stderr == b""


def test_with_a_prompt_stdin_is_not_read(agent: list[str]) -> None:
    """With a prompt and without a terminal the program does not wait for the end of a stdin that stays open."""
    process = subprocess.Popen(program(agent, "hello"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, killed_at_the_end(process):
        assert b"Hello there." in process.stdout.read()
        assert process.wait() == 0


def test_the_program_reads_prompts_from_a_pipe(agent: list[str]) -> None:
    """Without a prompt and a terminal each line of stdin is a prompt, and permission is refused."""
    done = run(agent, stdin="print:grüße\nedit\n".encode())
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "\ngrüße" in text.replace("\r", "")
    assert "answered: No" in text
    assert "The answer was no" in text


def test_a_terminal_without_utf8_is_written_to(agent: list[str]) -> None:
    """What the terminal's encoding lacks is replaced, marks are ASCII, and nothing fails."""
    done = run(agent, stdin="print:grüße 😀\nedit\n".encode(), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"gr?" in done.stdout
    assert b"[!] Edit a.py failed" in done.stdout


def test_there_are_no_colours_where_there_is_no_terminal(agent: list[str]) -> None:
    """Output into a file or pipe has no escape sequences."""
    assert b"\x1b" not in run(agent, "hello").stdout


def test_the_program_tells_why_the_agent_died(agent: list[str]) -> None:
    """The exit code is 1, and the text has the agent's exit code and its last words, made harmless."""
    done = run(agent, "die")
    assert done.returncode == 1
    text = done.stdout.decode()
    assert "The agent ended unexpectedly (exit code 3)." in text
    assert "Traceback: the \ufffd[31mreason" in text


def test_an_agent_that_cannot_be_started_is_explained(tmp_path: Path) -> None:
    """A command that does not exist is a clear message, no traceback."""
    done = run([str(tmp_path / "missing")], "hello")
    assert done.returncode == 1
    assert b"The agent cannot be started" in done.stdout
    assert done.stderr == b""


def test_the_session_runs_in_the_given_directory(agent: list[str], tmp_path: Path) -> None:
    """--cwd must exist, and not stand beside --offline: 2 otherwise."""
    assert run(agent, "--cwd", str(tmp_path), "hello").returncode == 0
    missing = run(agent, "--cwd", str(tmp_path / "missing"), "hello")
    assert missing.returncode == 2
    assert b"There is no directory" in missing.stdout
    assert run(agent, "--offline", "--cwd", str(tmp_path)).returncode == 2


def test_offline_the_agent_is_pointed_at_the_scripted_model(agent: list[str]) -> None:
    """--offline gives the agent a model on this machine and a home of its own, which are gone afterwards."""
    done = run(agent, "--offline", "environment")
    assert done.returncode == 0, done.stderr
    url, home = done.stdout.decode().split()[-2:]
    assert url.startswith("http://127.0.0.1:")
    assert not Path(home).exists()
    assert Path(home).name == "home"


def test_offline_reads_prompts_from_a_pipe(agent: list[str]) -> None:
    """Prompts that are piped are sent offline, too; the demonstration is for an input without any."""
    done = run(agent, "--offline", stdin=b"print:one\n\nprint:two\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == ["> print:one", "one", "> print:two", "two"]
    for nothing in (None, b"", b"\n \n"):
        shown = run(agent, "--offline", stdin=nothing).stdout.decode()
        assert shown.startswith("A demonstration")
        assert "> What is in greeting.py?" in shown


def test_offline_permission_is_given_once(agent: list[str]) -> None:
    """Offline and without a terminal the question is answered with allow once, which is said."""
    done = run(agent, "--offline", "edit")
    assert done.returncode == 0, done.stderr
    assert b"(no terminal to ask at; answered: Yes)" in done.stdout
    assert b"The answer was yes" in done.stdout


def test_a_reader_that_goes_away_is_no_crash(agent: list[str]) -> None:
    """`acpbridge chat | head` ends without a traceback and leaves no agent behind."""
    process = subprocess.Popen(program(agent), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(b"hello\n")
    process.stdin.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 1


if sys.platform != "win32":
    import termios

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
    def test_signals_at_a_terminal(agent: list[str], number: signal.Signals, code: int) -> None:
        """With a terminal, SIGINT cancels the turn and Ctrl-D ends; SIGTERM and SIGHUP end at once."""
        keyboard, terminal = os.openpty()
        process = subprocess.Popen(program(agent), stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(terminal)
        assert process.stdout is not None
        assert process.stderr is not None
        with process, killed_at_the_end(process), process.stdout as out:
            read_until(out.fileno(), b"> ")
            os.write(keyboard, b"slow\n")
            read_until(out.fileno(), b"working")
            process.send_signal(number)
            if number == signal.SIGINT:
                read_until(out.fileno(), b"(stopped: cancelled)\n> ")
                os.write(keyboard, b"\x04")
            assert process.stderr.read() == b""
            process.stderr.close()
            assert process.wait() == code
        os.close(keyboard)

    def test_lines_are_edited_at_a_terminal(agent: list[str]) -> None:
        """At a terminal a line is edited, and the ones before it come back; what is typed in the middle of a turn, or
        stands there at a Ctrl-C, is not lost unseen; afterwards the terminal is as it was."""
        keyboard, terminal = os.openpty()
        before = termios.tcgetattr(terminal)
        process = subprocess.Popen(
            program(agent),
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        )
        assert process.stderr is not None
        with process, killed_at_the_end(process), process.stderr as errors:
            for keys, shown in (
                (b"", b"starting Claude Code"),
                (b"", b"> "),
                (b"print:ona\x7fe\r", b"one\r\n> "),
                (b"\x1b[A\r", b"one\r\none\r\n> "),
                (b"edit\r", b"Your choice (1-3): "),
                (b"1\r", b"The answer was yes\r\n> "),
                (b"\x1b[A\x1b[A\x7f\x7f\x7ftwo\r", b"two\r\ntwo\r\n> "),
                (b"slow\r", b"working"),
                (b"print:later\n", b"(sent when this turn has ended)"),
            ):
                os.write(keyboard, keys)
                read_until(keyboard, shown)
            process.send_signal(signal.SIGINT)
            read_until(keyboard, b"(not sent: print:later)\r\n(stopped: cancelled)\r\n> ")
            os.write(keyboard, b"print:ha")
            read_until(keyboard, b"print:ha")
            process.send_signal(signal.SIGINT)
            read_until(keyboard, b"(nothing runs; Ctrl-D ends)\r\n> print:ha")
            os.write(keyboard, b"lf\r")
            read_until(keyboard, b"\nhalf\r\n> ")
            os.write(keyboard, b"\x04")
            assert errors.read() == b""
            assert process.wait() == 0
        assert termios.tcgetattr(terminal) == before
        os.close(keyboard)
        os.close(terminal)

    def read_until(fd: int, text: bytes) -> None:
        seen = b""
        while text not in seen:
            piece = os.read(fd, 4096)
            assert piece, seen
            seen += piece
