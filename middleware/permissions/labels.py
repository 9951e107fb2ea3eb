"""What a lasting choice is called. A function gives None for what cannot be named truly: then it is not offered.

The words are the reference's (05.5 to 05.7). Where its label would say less than what is granted (a rule for a parent
directory, a second directory), the label here names what is granted, or there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import attrs

from middleware.tools import paths
from middleware.tools.text import one_line
from middleware.tools.unseen import spelled

from .suggestions import Update

COMMANDS = 50
"""Characters of a list of commands; a longer one is called "similar"."""


def commands_again(named: str) -> str:
    return f"Yes, and don't ask again for {named} commands"


def again(named: str) -> str:
    return f"Yes, and don't ask again for {named}"


# ------------------------------------------------------------------------------------------------- commands (05.5)


def shell_label(tool: str, updates: Sequence[Update], cwd: str) -> str | None:
    """Rules for commands, directories to read from, directories to work in, or a mixture of these."""
    commands: list[str] = []
    reads: list[str] = []
    directories: list[str] = []
    for update in updates:
        if update["type"] == "addDirectories" and update["destination"] == "session":
            directories += update["directories"]
        elif update["type"] == "addRules" and update["behavior"] == "allow":
            for rule in update["rules"]:
                content = rule.get("ruleContent", "")
                if not content.strip() or rule["toolName"] not in (tool, "Read"):
                    return None
                if rule["toolName"] == tool:
                    commands.append(one_line(content.removesuffix(":*")))
                else:
                    reads.append(content.removesuffix("/**"))
        else:
            return None
    if not all(commands) or not (commands or reads or directories):
        return None
    named = _commands(_unique(commands))
    places = short_paths(_unique(paths.absolute(path, cwd) for path in [*directories, *map(_plain, reads)]))
    if not commands:
        if not directories:
            return f"Yes, allow reading from {_paths(places)} from this project"
        return f"Yes, and always allow access to {_paths(places)} from this project"
    if not places:
        return commands_again(named)
    if len(places) == 1 and len(_unique(commands)) == 1:
        return f"Yes, and allow access to {places[0]} and {named} commands"
    return f"Yes, and allow {_paths(places)} access and {named} commands"


def _plain(path: str) -> str:
    """A rule's path as a path: `//x` is from the root of the disk."""
    return path[1:] if path.startswith("//") else path


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _commands(items: Sequence[str]) -> str:
    if len(", ".join(items)) > COMMANDS:
        return "similar"
    if len(items) > 2:
        return f"{', '.join(items[:-1])}, and {items[-1]}"
    return " and ".join(items)


def _paths(items: Sequence[str]) -> str:
    if len(items) > 2:
        return f"{items[0]}, {items[1]} and {len(items) - 2} more"
    return " and ".join(items)


def short_paths(full: Sequence[str]) -> list[str]:
    """Each path by the shortest end that no other has, with a separator behind it."""
    split = [paths.parts(path) for path in full]
    short = []
    for index, (path, parts) in enumerate(zip(full, split, strict=True)):
        others = split[:index] + split[index + 1 :]
        length = 1
        while length < len(parts) and any(other[-length:] == parts[-length:] for other in others):
            length += 1
        separator = paths.flavour(path).sep
        short.append(one_line(spelled(separator.join(parts[-length:]))) + separator if parts else path)
    return short


# ------------------------------------------------------------------------------------------------- files (05.6)


@attrs.frozen(kw_only=True)
class FileAccess:
    """A tool that is about to reach a file (or a directory, where `is_directory`); `path` is "" where it says none."""

    path: str
    write: bool
    cwd: str
    home: str
    is_directory: bool = False

    @property
    def directory(self) -> str:
        full = paths.absolute(self.path, self.cwd)
        return full if self.is_directory else paths.parent(full)

    @property
    def in_settings(self) -> bool:
        """Whether it is one of Claude's own settings, which no mode accepts by itself."""
        full = paths.absolute(self.path, self.cwd)
        roots = [paths.flavour(root).join(root, ".claude") for root in (self.cwd, self.home) if root]
        return bool(self.path) and any(paths.is_inside(full, root) for root in roots)


@attrs.define
class _Grant:
    """What a bundle grants for this session."""

    mode: bool = False
    broad: bool = False
    rule: bool = False
    directories: list[str] = attrs.field(factory=list)


def file_label(access: FileAccess, updates: Sequence[Update]) -> str | None:
    """A grant for this session that covers the file, and nothing else."""
    grant = _grant(access, updates)
    if grant is None or not _covers(grant, access):
        return None
    if access.write and access.in_settings:
        named = grant.rule and not grant.mode and not grant.broad
        inside = FileAccess(path=access.path, write=True, cwd=access.cwd, home=access.home)
        if not named or not all(_is_settings(directory, inside) for directory in grant.directories):
            return None
        return "Yes, and allow Claude to edit its own settings for this session"
    outside = [directory for directory in grant.directories if not _is_inside(directory, access.cwd)]
    everywhere = "Yes, allow all edits during this session" if access.write else "Yes, during this session"
    if grant.broad:
        return everywhere
    if not access.path or _is_inside(paths.absolute(access.path, access.cwd), access.cwd):
        return everywhere if not outside else None
    names = _unique(one_line(spelled(paths.name(directory))) for directory in outside or [access.directory])
    if not all(names):
        return None  # the root of a disk has no name, and is too much to be called "this directory"
    where = _paths([f"{name}/" for name in names])
    if access.write:
        return f"Yes, allow all edits in {where} during this session"
    return f"Yes, allow reading from {where} during this session"


def _is_settings(directory: str, access: FileAccess) -> bool:
    return attrs.evolve(access, path=directory).in_settings


def _is_inside(path: str, cwd: str) -> bool:
    return bool(cwd) and paths.is_inside(path, cwd)


def _grant(access: FileAccess, updates: Sequence[Update]) -> _Grant | None:
    grant, tool = _Grant(), "Edit" if access.write else "Read"
    for update in updates:
        if update["destination"] != "session":
            return None
        if access.write and update["type"] == "setMode" and update["mode"] == "acceptEdits":
            grant.mode = True
        elif access.write and update["type"] == "addDirectories":
            grant.directories += [paths.absolute(path, access.cwd) for path in update["directories"]]
        elif update["type"] == "addRules" and update["behavior"] == "allow":
            for rule in update["rules"]:
                if rule["toolName"] != tool:
                    return None
                if "ruleContent" not in rule:
                    grant.broad = True
                    continue
                place = _rule_directory(rule["ruleContent"], access)
                if place is None:
                    return None
                grant.rule = True
                grant.directories.append(place)
        else:
            return None
    return grant


def _rule_directory(content: str, access: FileAccess) -> str | None:
    """The directory or file that a rule's pattern is about; None for a pattern that is not one path.

    `//x` is from the root of the disk, `~/x` in the home directory, `/x` and `x` in the project.
    """
    pattern = content.removesuffix("/**")
    if re.search(r"[*?\[\]{}!]", pattern):
        return None
    if content.startswith("//"):
        return paths.absolute(pattern[1:] or "/", "")
    if content == "~" or content.startswith("~/"):
        return paths.absolute(pattern[2:], access.home) if access.home else None
    return paths.absolute(pattern.removeprefix("/"), access.cwd) if access.cwd else None


def _covers(grant: _Grant, access: FileAccess) -> bool:
    if grant.broad:
        return True
    if not access.path:
        return access.write and grant.mode
    full = paths.absolute(access.path, access.cwd)
    if any(directory == full or paths.is_inside(access.directory, directory) for directory in grant.directories):
        return True
    return access.write and grant.mode and not access.in_settings


# ------------------------------------------------------------------------------------------------- hosts


_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\]")


def host_of(url: str) -> str | None:
    """The host that a URL is fetched from; None for one that others could read differently."""
    if re.search(r"[\\\s\x00-\x1f\x7f]", url):
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    if ":" in host:
        host = f"[{host}]"
    else:
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    return host if _HOST.fullmatch(host) else None
