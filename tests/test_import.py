"""What `import middleware` loads: the library, and nothing of the program, of the SDK or of a protocol's plumbing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import middleware

PACKAGE = Path(middleware.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

FOREIGN = frozenset({"acpbridge", "claude_agent_sdk", "mcp", "anyio", "pydantic", "httpx", "starlette"})
"""The program, the SDK, and what the SDK loads."""

PLUMBING = frozenset({"asyncio", "subprocess", "socket", "selectors", "socketserver", "http"})
"""What a library of stages has no business with. (loguru loads asyncio: what others load is theirs.)"""


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); {statement}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import middleware", "import middleware.testing, middleware.acp"])
def test_the_library_loads_nothing_foreign(statement: str) -> None:
    """In a fresh interpreter the library loads neither the program nor the SDK nor what the SDK needs."""
    modules = loaded_by(statement)
    assert "middleware.stage" in modules, "or nothing was tried"
    assert not {module for module in modules if module.split(".")[0] in FOREIGN}


def test_the_tools_for_tests_need_no_test_library() -> None:
    """`middleware.testing` works where pytest, freezegun and hypothesis are not installed."""
    modules = loaded_by("import middleware.testing")
    assert "middleware.testing" in modules
    assert not {module for module in modules if module.split(".")[0] in {"pytest", "freezegun", "hypothesis"}}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.relative_to(PACKAGE).as_posix())
def test_no_module_imports_plumbing(source: Path) -> None:
    """No module of the library imports the program, the SDK, asyncio, processes or sockets, not even in a function."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imported.add(node.module.split(".")[0])
    assert not imported & (FOREIGN | PLUMBING)


def test_the_library_has_no_wire() -> None:
    """stdio and JSON-RPC are the program's: no module of the library is named after them."""
    names = {part.lower() for source in SOURCES for part in source.relative_to(PACKAGE).with_suffix("").parts}
    assert "stage" in names
    assert not {name for name in names if any(word in name for word in ("stdio", "rpc", "wire", "transport"))}


def test_what_is_public_is_there() -> None:
    """Everything in `middleware.__all__` exists and is listed once."""
    assert len(set(middleware.__all__)) == len(middleware.__all__)
    assert all(hasattr(middleware, name) for name in middleware.__all__)
