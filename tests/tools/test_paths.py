"""Paths as text, of both kinds of system, on any system."""

from __future__ import annotations

import pytest

from middleware.tools import paths


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("/repo/project/a.py", "/repo/project", "a.py"),
        ("/repo/project/src/a.py", "/repo/project", "src/a.py"),
        ("/repo/project", "/repo/project", "."),
        ("/repo/projects/a.py", "/repo/project", "/repo/projects/a.py"),
        ("/repo/project/../other/a.py", "/repo/project", "/repo/project/../other/a.py"),
        ("a.py", "/repo/project", "a.py"),
        ("/a.py", "/", "a.py"),
        ("/a.py", "", "/a.py"),
        (r"C:\work\project\src\a.py", r"C:\work\project", r"src\a.py"),
        (r"c:\WORK\project\a.py", r"C:\work\project", "a.py"),
        (r"D:\work\project\a.py", r"C:\work\project", r"D:\work\project\a.py"),
        (r"\\server\share\a.py", r"\\server\share", "a.py"),
    ],
)
def test_display_path(path: str, cwd: str, expected: str) -> None:
    """A path inside the working directory is shown relative to it, any other as it was given."""
    assert paths.display_path(path, cwd) == expected


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a/../b", "/a", False),
        ("/b", "/", True),
        (r"C:\a\b", r"c:\A", True),
        (r"C:\ab", r"C:\a", False),
        ("/a/b", r"C:\a", False),
    ],
)
def test_is_inside(path: str, directory: str, inside: bool) -> None:
    """Inside is a matter of whole names, not of letters, and `..` is followed."""
    assert paths.is_inside(path, directory) is inside


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("x/./y", "/repo", "/repo/x/y"),
        ("/x/../y", "/repo", "/y"),
        ("x", r"C:\work", r"C:\work\x"),
        (r"C:\x", "/repo", r"C:\x"),
    ],
)
def test_absolute(path: str, cwd: str, expected: str) -> None:
    """A relative path is the session's."""
    assert paths.absolute(path, cwd) == expected
