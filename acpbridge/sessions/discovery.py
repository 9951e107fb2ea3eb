"""Which models a client's provider has: asked of the provider itself, when it is set (reference 10.7, Listing).

    anthropic   GET <base>/v1/models?limit=1000, page by page
    bedrock     GET <base>/foundation-models
    vertex      has no such list

A provider that answers with 4xx has no list, which is no error. Blocking: for worker threads; whoever asks has the
bound of time. An address may stand in an error or a log, a header may not, nor what the provider answered.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.parse import quote

import attrs

from .routing import TOKEN, Route

WITHIN = 10.0
"""Seconds for all pages."""

PAGES = 20
"""Pages that are asked for."""

_MOST_BYTES = 8 * 1024 * 1024
"""A page that is longer is no list of models."""

_FAMILY = "anthropic."
"""What stands in the ids of Bedrock that are Anthropic's; before it may stand a region."""


class ListingFailed(Exception):
    """The models could not be listed; the text says which request failed, and how."""


@attrs.frozen
class Listing:
    """The models of a provider, by id, in its order; `region` is what stands before Bedrock's."""

    models: tuple[str, ...]
    region: str | None = None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Headers hold keys, which are for the address that the client named, and for no other."""

    def redirect_request(self, *request: Any) -> None:
        return None


def list_models(route: Route) -> Listing | None:
    """The models behind a route; None when it does not say.

    Raises:
        ListingFailed
    """
    try:
        match route.api_type:
            case "anthropic":
                return Listing(tuple(_anthropic(route)))
            case "bedrock":
                return _bedrock(route)
    except _HasNone:
        return None
    return None


class _HasNone(Exception):
    """The provider answered with 4xx."""


def _anthropic(route: Route) -> Iterator[str]:
    after, until = "", time.monotonic() + WITHIN
    for _ in range(PAGES):
        path = "/v1/models?limit=1000" + (f"&after_id={quote(after, safe='')}" if after else "")
        page = _get(route, path, until)
        yield from _ids(page, "data", "id", path)
        after = page["last_id"] if isinstance(page.get("last_id"), str) else ""
        if page.get("has_more") is not True or not after:
            return


def _bedrock(route: Route) -> Listing:
    """Those of Anthropic, in one region: "global" where there is one, else the first."""
    path = "/foundation-models"
    page = _get(route, path, time.monotonic() + WITHIN)
    found = [model for model in _ids(page, "modelSummaries", "modelId", path) if _FAMILY in model]
    regions = [model.partition(_FAMILY)[0].rstrip(".") for model in found]
    region = "global" if "global" in regions else next(iter(regions), "")
    models = (model for model, own in zip(found, regions, strict=True) if own == region)
    return Listing(tuple(models), region or None)


def _ids(page: Mapping[str, Any], key: str, name: str, path: str) -> list[str]:
    listed = page.get(key)
    if not isinstance(listed, list):
        _failed(path, "is no list of models")
    ids = [item.get(name) for item in listed if isinstance(item, dict)]
    return [model for model in ids if isinstance(model, str) and model]


def _get(route: Route, path: str, until: float) -> dict[str, Any]:
    """A page. Raises `ListingFailed`, or `_HasNone`."""
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "application/json"}
    if route.api_type == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    headers |= {name.lower(): value for name, value in route.headers.items()}
    try:
        request = urllib.request.Request(route.base_url.rstrip("/") + path, headers=headers)
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=max(0.1, until - time.monotonic())) as answer:
            content = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        if 400 <= error.code < 500:
            raise _HasNone from None
        _failed(path, f"was answered with the status {error.code}")
    except TimeoutError:
        _failed(path, "was not answered in time")
    except urllib.error.URLError as error:
        _failed(path, f"failed: {_reason(error.reason)}")
    except (OSError, HTTPException) as error:
        _failed(path, f"failed: {_reason(error)}")
    except ValueError:
        _failed(path, "cannot be made with this address and these headers")  # and its own text quotes them
    if len(content) > _MOST_BYTES:
        _failed(path, "is no list of models")
    try:
        page = json.loads(content)
    except (ValueError, RecursionError):
        _failed(path, "was answered with no JSON")
    if not isinstance(page, dict):
        _failed(path, "is no list of models")
    return page


def _reason(error: Any) -> str:
    """What went wrong, in the system's words."""
    return getattr(error, "strerror", None) or type(error).__name__


def _failed(path: str, how: str) -> NoReturn:
    raise ListingFailed(f"Model listing GET {path} {how}.")
