"""Where Claude Code sends its requests, when the client has a provider or a gateway of its own (reference 10.7).

A route is environment variables for Claude Code: all that could lead it elsewhere is emptied, then one way is set. Who
has chosen a route is held by the agent end. Addresses may be logged, headers may not: they hold keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

API_TYPES = ("anthropic", "bedrock", "vertex")

TOKEN = "acp-proxy"
"""What Claude Code signs in with: the client's own headers say who it is."""

_EMPTIED = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_AWS_API_KEY",
    "ANTHROPIC_AWS_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
    "ANTHROPIC_UNIX_SOCKET",
    "ANTHROPIC_VERTEX_BASE_URL",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLAUDE_CODE_OAUTH_TOKEN",
)

_SWITCHES = (
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_GATEWAY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_VERTEX",
)

_DEFAULTS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "bedrock": ("ANTHROPIC_BEDROCK_BASE_URL", "https://bedrock-runtime.amazonaws.com"),
    "vertex": ("ANTHROPIC_VERTEX_BASE_URL", "https://aiplatform.googleapis.com"),
}


@attrs.frozen(kw_only=True)
class Route:
    """One way to a model's API.

    `models` are those that it says it has, None where it does not say; `prefix` is the region of Bedrock's ids. Neither
    makes it another way.
    """

    api_type: str
    base_url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    project: str | None = None
    region: str | None = None
    models: tuple[str, ...] | None = attrs.field(default=None, eq=False)
    prefix: str | None = attrs.field(default=None, eq=False)

    def environment(self) -> dict[str, str]:
        """The variables that Claude Code is started with."""
        variables = dict.fromkeys(_EMPTIED, "") | dict.fromkeys(_SWITCHES, "0")
        match self.api_type:
            case "bedrock":
                variables |= {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_BEARER_TOKEN_BEDROCK": TOKEN}
                variables |= {"ANTHROPIC_BEDROCK_REGION_PREFIX": self.prefix} if self.prefix else {}
            case "vertex":
                variables |= {"CLAUDE_CODE_USE_VERTEX": "1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1"}
                variables |= {"ANTHROPIC_VERTEX_PROJECT_ID": self.project or "", "CLOUD_ML_REGION": self.region or ""}
            case _:
                variables["ANTHROPIC_AUTH_TOKEN"] = TOKEN
        variables[_DEFAULTS[self.api_type][0]] = self.base_url
        variables["ANTHROPIC_CUSTOM_HEADERS"] = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        return variables

    def settings(self, given: str | None) -> str:
        """Settings of the session with this way in them too, since settings files may set variables and a helper.

        Args:
            given: JSON, an object; see `session_settings`.
        """
        settings = json.loads(given) if given else {}
        known = settings.get("env")
        settings["env"] = {**(known if isinstance(known, dict) else {}), **self.environment()}
        return json.dumps({**settings, "apiKeyHelper": ""})


def current() -> Route:
    """Where requests go when the client has said nothing."""
    api_type = "anthropic"
    for name, variable in (("bedrock", "CLAUDE_CODE_USE_BEDROCK"), ("vertex", "CLAUDE_CODE_USE_VERTEX")):
        if os.environ.get(variable, "0") not in ("", "0", "false"):
            api_type = name
            break
    variable, default = _DEFAULTS[api_type]
    return Route(api_type=api_type, base_url=os.environ.get(variable) or default)


def is_address(text: Any) -> bool:
    """Whether this is an absolute http(s) URL."""
    if not isinstance(text, str):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def are_headers(value: Any) -> bool:
    """Whether this is an object of header names to values, which end no line."""
    return isinstance(value, Mapping) and all(
        isinstance(text, str) and not set(text) & set("\r\n\0") for pair in value.items() for text in pair
    )
