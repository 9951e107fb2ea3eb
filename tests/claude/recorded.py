"""The recorded frames of `tests/frames`, and ways to break them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Frame = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "frames"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def frames(name: str) -> list[Frame]:
    """One conversation."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


ALL = [frame for name in NAMES for frame in frames(name)]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a frame stands."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _places(item, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
"""Any JSON value, and some that Python's reader takes for one."""


def each_broken() -> Iterator[Frame]:
    """Each kind of recorded frame with each of its members, one at a time, missing or of another type."""
    seen = set()
    for frame in ALL:
        kind = (frame.get("type"), frame.get("subtype"), str((frame.get("event") or {}).get("type")))
        for path in list(_places(frame)):
            shape = (kind, tuple("" if isinstance(key, int) else key for key in path))
            if shape not in seen:
                seen.add(shape)
                yield from _variants(frame, path)


def _variants(frame: Frame, path: tuple[Any, ...]) -> Iterator[Frame]:
    for value in (None, True, -1, 1.5, "odd", [], ["odd"], {}, {"odd": 1}):
        changed = copy.deepcopy(frame)
        _holder(changed, path)[path[-1]] = value
        yield changed
    changed = copy.deepcopy(frame)
    del _holder(changed, path)[path[-1]]
    yield changed


def _holder(frame: Frame, path: tuple[Any, ...]) -> Any:
    holder: Any = frame
    for key in path[:-1]:
        holder = holder[key]
    return holder


@st.composite
def broken(draw: st.DrawFn) -> Frame:
    """A recorded frame in which up to three members are missing, or anything."""
    frame = copy.deepcopy(draw(st.sampled_from(ALL)))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(frame))
        if not places:
            break
        path = draw(st.sampled_from(places))
        holder = _holder(frame, path)
        if draw(st.booleans()):
            holder[path[-1]] = draw(JSON)
        elif isinstance(holder, dict):
            del holder[path[-1]]
    return frame
