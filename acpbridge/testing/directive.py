"""Scripts written into a prompt, for a model that runs in another process: `[[do: <json>]]`.

The JSON is a list of rounds, each a list of steps (a list of steps alone is one round):

    [[do: [[{"text": "I write"}, {"tool": "Write", "input": {"file_path": "$CWD/a", "content": "x"}}],
           [{"text": "done"}]]]]

| step | options | same as |
|---|---|---|
| `{"text": "..."}` | each, chunks, delay, repeat | `Say`; `repeat: n`: n deltas, `{i}` is the count |
| `{"thinking": "..."}` | the same | `Think` |
| `{"tool": "Bash", "input": {...}}` | id, pieces, delay | `UseTool` |
| `{"pause": 0.5}` or `{"first_delay": 0.5}` | | `Pause` |
| `{"wait": "name"}` | | `Wait(model.gate("name"))` |
| `{"usage": {"input": 1, "output": 2}}` | in it also cache_read, cache_creation, cache_hour | `Usage` |
| `{"stop": "max_tokens"}` | | `Stop` |
| `{"error": 529}` | type, message, retry_after, times | `Fail` |
| `{"stream_error": "overloaded_error"}` | message, times | `FailInStream` |
| `{"cut": true}` | times | `Cut` |

Seconds everywhere. Finding the prompt in a request is requests.py's task.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from acpbridge.testing.script import (
    Cut,
    Fail,
    FailInStream,
    Gate,
    Pause,
    Say,
    Step,
    Stop,
    Think,
    Usage,
    UseTool,
    Wait,
    checked,
)

OPENING = "[[do:"
CLOSING = "]]"


class DirectiveError(ValueError):
    """A prompt has a `[[do: ...]]` that is not a script; the text says where it is wrong."""


def find_directive(text: str, gate: Callable[[str], Gate]) -> tuple[tuple[Step, ...], ...] | None:
    """The script in a prompt's text (the first, if there are several), None if there is none.

    `gate` gives the gate of a name. Raises DirectiveError.
    """
    start = text.find(OPENING)
    if start < 0:
        return None
    body = text[start + len(OPENING) :].lstrip()
    try:
        value, end = json.JSONDecoder().raw_decode(body)
    except json.JSONDecodeError as error:
        raise DirectiveError(f"[[do: ...]] has no valid JSON: {error}") from error
    if not body[end:].lstrip().startswith(CLOSING):
        raise DirectiveError(f"[[do: ...]] is not closed by ]] after its JSON, but by {body[end : end + 20]!r}")
    if not isinstance(value, list):
        raise DirectiveError("[[do: ...]] needs a list of rounds")
    rounds = [value] if value and all(isinstance(item, dict) for item in value) else value
    try:
        return checked([[_step(item, gate) for item in reply] for reply in rounds])
    except (TypeError, ValueError, KeyError) as error:
        raise DirectiveError(f"[[do: ...]] is not a script: {error}") from error


def _step(item: Any, gate: Callable[[str], Gate]) -> Step:
    if not isinstance(item, dict):
        raise TypeError(f"a step is an object, not {item!r}")
    left = dict(item)
    for key, build in _STEPS.items():
        if key in left:
            step = build(left.pop(key), left, gate)
            if left:
                raise ValueError(f"a {key} step has no {', '.join(sorted(left))}")
            return step
    raise ValueError(f"{item!r} is none of the steps {', '.join(_STEPS)}")


def _spoken(sort: type[Say] | type[Think]) -> Callable[[Any, dict[str, Any], Callable[[str], Gate]], Step]:
    def build(text: Any, options: dict[str, Any], _gate: Callable[[str], Gate]) -> Step:
        pause = options.pop("delay", 0.0)
        repeat = options.pop("repeat", None)
        if repeat is not None:
            return sort.pieces([text.replace("{i}", str(index)) for index in range(repeat)], pause=pause)
        chosen = {key: options.pop(key) for key in ("each", "chunks") if key in options}
        return sort(text, pause=pause, **chosen)

    return build


def _tool(name: Any, options: dict[str, Any], _gate: Callable[[str], Gate]) -> Step:
    return UseTool(
        name,
        options.pop("input", {}),
        id=options.pop("id", None),
        pieces=options.pop("pieces", None),
        pause=options.pop("delay", 0.0),
    )


def _fail(status: Any, options: dict[str, Any], _gate: Callable[[str], Gate]) -> Step:
    return Fail(
        status,
        options.pop("type", None),
        options.pop("message", None),
        retry_after=options.pop("retry_after", None),
        times=options.pop("times", None),
    )


def _fail_in_stream(kind: Any, options: dict[str, Any], _gate: Callable[[str], Gate]) -> Step:
    return FailInStream(kind, options.pop("message", "Overloaded"), times=options.pop("times", None))


_STEPS: dict[str, Callable[[Any, dict[str, Any], Callable[[str], Gate]], Step]] = {
    "text": _spoken(Say),
    "thinking": _spoken(Think),
    "tool": _tool,
    "error": _fail,
    "stream_error": _fail_in_stream,
    "cut": lambda _true, options, _gate: Cut(times=options.pop("times", None)),
    "pause": lambda seconds, _options, _gate: Pause(seconds),
    "first_delay": lambda seconds, _options, _gate: Pause(seconds),
    "wait": lambda name, _options, gate: Wait(gate(name)),
    "usage": lambda numbers, _options, _gate: Usage(**numbers),
    "stop": lambda reason, _options, _gate: Stop(reason),
}
"""What builds a step, by the key that names it."""
