"""One message as one line of JSON: `decode` for what comes, `encode` for what goes.

Only what JSON itself and strict readers of it ask for; what a message means is `jsonrpc`'s business.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from loguru import logger

# Deeper JSON is refused. Python's own limit depends on its version and on the caller's stack, and what gets through is
# walked recursively further on; serde_json, under many clients, draws the line at the same depth.
MAX_DEPTH: Final = 128
# Only reached by a payload that overflowed the encoder: what lies deeper is replaced by null.
_CUT_DEPTH: Final = 300


def decode(line: bytes) -> Any:
    """The JSON value of a line of UTF-8, free of lone surrogates. ValueError says what is wrong and quotes nothing."""
    try:
        value = _DECODER.decode(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise ValueError(f"invalid UTF-8 at byte {problem.start}") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"{problem.msg} at character {problem.pos}") from None
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    # Counting brackets is cheap and nearly always spares the walk.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    # A lone surrogate can only come in as an escape. Further on it would break paths, logs and every other encoder.
    if b"\\ud" in line or b"\\uD" in line:
        value = repair(value)
    return value


def encode(message: Mapping[str, Any]) -> bytes:
    """One line of UTF-8 JSON with its newline, and no other newline in it.

    What JSON or a strict client cannot take is repaired, see `repair`; only then is the payload walked. TypeError for
    an object that is no JSON value, ValueError for a circular one.
    """
    try:
        return _unbroken(_ENCODER.encode(message).encode("utf-8")) + b"\n"
    except (ValueError, RecursionError) as problem:
        logger.debug("JSON-RPC: a message is repaired before it is sent ({})", type(problem).__name__)
    return _unbroken(_ENCODER.encode(repair(message)).encode("utf-8")) + b"\n"


def _unbroken(line: bytes) -> bytes:
    """The same JSON, with what other readers of lines take for a line break as an escape.

    JSON has these characters inside texts only, and their bytes stand for nothing else in UTF-8. Where there is none,
    the line is searched and not copied.
    """
    for character, escape in _BREAKS:
        line = line.replace(character, escape)
    return line


def repair(value: Any) -> Any:
    """A copy of a JSON value in which every strict reader finds only what it can take.

    Surrogates that form a pair become their character, lone ones U+FFFD, in keys too (Rust clients refuse the whole
    message for one); NaN and infinities become null, and so does what is nested more than 300 levels deep. ValueError
    when the value contains itself.
    """
    return _repair(value, set(), 0)


def _repair(value: Any, path: set[int], depth: int) -> Any:
    if isinstance(value, str):
        return _repair_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) in path:
        raise ValueError("a message contains itself and cannot be sent")
    if depth >= _CUT_DEPTH:
        return None
    path.add(id(value))
    result: Any
    # Plain loops: a comprehension would cost a second stack frame a level.
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            result[_repair(key, path, depth + 1)] = _repair(item, path, depth + 1)
    else:
        result = []
        for item in value:
            result.append(_repair(item, path, depth + 1))
    path.discard(id(value))
    return result


def _repair_text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        below: list[Any] = []
        for item in level:
            children = item.values() if isinstance(item, dict) else item
            below.extend(child for child in children if isinstance(child, dict | list))
        if not below:
            return False
        level = below
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


# Node's readline ends a line at the first two; Python's str.splitlines and some editors at the third, too.
_BREAKS: Final = tuple((character.encode(), f"\\u{ord(character):04x}".encode()) for character in "\u2028\u2029\x85")

# json.loads and json.dumps build a new object at each call that has a non-default argument.
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite_float)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
