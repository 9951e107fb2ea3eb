"""The settings that a session is given beside those of the settings files (reference 9.1, option layering).

    CLAUDE_MODEL_CONFIG of the environment  <  `_meta.claudeCode.options.settings` of the client

Reads a file where the client names one, so that more can be put over what it says: for worker threads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from middleware.errors import Failure

from .failures import RequestRefused

_FROM_MODEL_CONFIG = ("availableModels", "modelOverrides")


def session_settings(given: str | None, cwd: str) -> str | None:
    """The settings as JSON; None where there are none.

    Args:
        given: what the client wants: JSON, or the path of a file.
        cwd: the session's working directory, from which the path counts.

    Raises:
        RequestRefused: -32602, the file is not there or holds something else; -32603, the environment does.
    """
    base = _model_config()
    if given is None:
        return json.dumps(base) if base else None
    if given.lstrip().startswith("{"):
        settings = _object(given)
    else:
        try:
            settings = _object(Path(cwd, given).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise _refused(f"`_meta.claudeCode.options.settings` cannot be read: {why}") from error
    if settings is None:
        raise _refused("`_meta.claudeCode.options.settings` must be a JSON object, or the path of a file with one")
    return json.dumps({**base, **settings})


def _model_config() -> dict[str, Any]:
    """What the environment says of models."""
    given = os.environ.get("CLAUDE_MODEL_CONFIG")
    if not given:
        return {}
    config = _object(given)
    if config is None:
        raise RequestRefused(Failure.internal("CLAUDE_MODEL_CONFIG must be a JSON object"))
    return {name: config[name] for name in _FROM_MODEL_CONFIG if name in config}


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refused(text: str) -> RequestRefused:
    return RequestRefused(Failure.invalid_params(text))
