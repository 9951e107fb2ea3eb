"""Why a request about sessions was not served, in the client's words."""

from __future__ import annotations

from loguru import logger

from acpbridge.claude.client_options import WrongOption
from middleware.errors import Failure


class RequestRefused(Exception):
    """A request that is answered with this failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: Exception, method: str) -> Failure:
    """The failure that an exception of a method is answered with. What nobody foresaw is logged in full."""
    if isinstance(error, RequestRefused):
        return error.failure
    if isinstance(error, WrongOption):
        return Failure.invalid_params(str(error))
    logger.opt(exception=error).error("{} failed: {}", method, type(error).__name__)
    return Failure.internal(f"{method} failed: {type(error).__name__}", {"details": str(error)})
