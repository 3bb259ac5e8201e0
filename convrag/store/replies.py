"""Replies of language models are kept in any case, since they were paid for."""

from __future__ import annotations

import logging
from dataclasses import MISSING, Field, fields, replace
from typing import Any

from convrag.api.types import Completion
from convrag.store.codecs import Codec
from convrag.store.marked_json import CannotBeKept
from convrag.store.surrogates import mend_surrogates

log = logging.getLogger(__name__)


def encode_reply(reply: Completion, codec: Codec, source: str) -> bytes:
    """Convert a reply to bytes, with a mended text, and without what cannot be kept.

    Args:
        reply: what the model's stage returned.
        codec: that of the stage's method.
        source: the stage and its method, for a warning that names what was left out.
    """
    if isinstance(reply.text, str):
        reply = replace(reply, text=mend_surrogates(reply.text))
    try:
        return codec.encode(reply)
    except CannotBeKept as error:
        log.warning("%s returned %s at %s, which cannot be kept: it is left out", source, error.problem, error.place)
        kept = {field.name: _keep_or_default(reply, field, codec) for field in fields(Completion)}
        return codec.encode(Completion(**kept))


def _keep_or_default(reply: Completion, field: Field[Any], codec: Codec) -> Any:
    value = getattr(reply, field.name)
    try:
        codec.encode(value)
    except CannotBeKept:
        return str(value) if field.default is MISSING else field.default
    return value
