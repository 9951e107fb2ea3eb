"""The Agent Client Protocol's types, and the one way to read and write them.

    from middleware import acp

    request = acp.structure(params, acp.PromptRequest)              # raises acp.InvalidAcp
    result = acp.unstructure(acp.PromptResponse(stop_reason="end_turn"))

`v1.py` holds the generated classes (the schema's names, snake_case fields), `converter.py` the rules. `METHODS` says
what each (method, "request" or "notification") carries and which end handles it.
"""

from __future__ import annotations

from middleware.acp.converter import InvalidAcp as InvalidAcp
from middleware.acp.converter import Problem as Problem
from middleware.acp.converter import structure as structure
from middleware.acp.converter import unstructure as unstructure
from middleware.acp.v1 import *  # noqa: F403
from middleware.acp.vocabulary import NULL as NULL
from middleware.acp.vocabulary import Method as Method
from middleware.acp.vocabulary import Null as Null
