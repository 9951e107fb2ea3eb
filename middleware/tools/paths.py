"""Paths as text: nothing here looks at a disk, and a path of Windows is understood on any system, by its form."""

from __future__ import annotations

import ntpath
import posixpath
import re
from types import ModuleType

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def flavour(path: str) -> ModuleType:
    """The path module for the system that an absolute path is of."""
    return ntpath if _WINDOWS.match(path) else posixpath


def is_absolute(path: str) -> bool:
    return path.startswith("/") or _WINDOWS.match(path) is not None


def absolute(path: str, cwd: str) -> str:
    """The path from the root, without `.` and `..`; a relative one is inside `cwd`."""
    module = flavour(path if is_absolute(path) else cwd)
    joined: str = module.normpath(module.join(cwd, path) if cwd else path)
    return joined


def is_inside(path: str, directory: str) -> bool:
    """Whether an absolute path is the directory or below it."""
    module = flavour(directory)
    if flavour(path) is not module:
        return False
    inner, outer = module.normcase(module.normpath(path)), module.normcase(module.normpath(directory))
    separator = module.sep
    return bool(inner == outer or inner.startswith(outer if outer.endswith(separator) else outer + separator))


def parent(path: str) -> str:
    directory: str = flavour(path).dirname(path)
    return directory


def name(path: str) -> str:
    """The last part of a path."""
    base: str = flavour(path).basename(flavour(path).normpath(path))
    return base


def parts(path: str) -> list[str]:
    """The names on the way to a path, without its root."""
    return [part for part in re.split(r"[\\/]" if flavour(path) is ntpath else "/", path) if part]


def display_path(path: str, cwd: str) -> str:
    """A path as people read it: relative inside the working directory, else as given (reference 4.3)."""
    if not cwd or not is_absolute(path) or not is_inside(path, cwd):
        return path
    relative: str = flavour(path).relpath(path, cwd)
    return relative
