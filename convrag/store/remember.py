"""Puts the store between a stage and its callers: what a marked method returned once is not computed again."""

from __future__ import annotations

import inspect
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from convrag.api.records import Usage
from convrag.api.stage import Stage
from convrag.api.stages import LLM
from convrag.api.types import Completion
from convrag.store.fingerprint import digest
from convrag.store.store import Store
from convrag.store.streaming import current_listener
from convrag.store.usage import add_reply, add_usage

if TYPE_CHECKING:
    import numpy as np
    from pydantic import TypeAdapter


def remember(stage: Stage, store: Store) -> None:
    """Replace the marked methods of this one stage object by remembering ones. Its fingerprint must be set."""
    for name, (method, each, array) in _marked(type(stage)).items():
        codec: Codec = ArrayCodec(array) if array else PlainCodec(method)
        wrap = _each if each else _whole
        setattr(stage, name, wrap(stage, getattr(stage, name), store, codec, each))


def key_of(stage: Stage, method: str, arguments: Mapping[str, Any]) -> str:
    """The key of a call: an LLM's request as sent and its attempt; for other stages fingerprint, method and inputs."""
    if isinstance(stage, LLM):
        prompt = arguments["prompt"]
        return digest([stage.request(prompt), prompt.attempt])
    return digest([stage.fingerprint, method, arguments])


class Codec:
    """A result as bytes and back."""

    def encode(self, value: Any) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        raise NotImplementedError


class ArrayCodec(Codec):
    """An array as its raw bytes, little-endian. One that is no vector has its shape before them.

    A shape is an odd number of bytes long, and so tells itself from numbers of two, four or eight.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def encode(self, value: Any) -> bytes:
        import numpy as np

        array = np.asarray(value, dtype=self._stored())
        plain = array.ndim == 1 and array.itemsize > 1
        return (b"" if plain else struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)) + array.tobytes()

    def decode(self, data: bytes) -> Any:
        import numpy as np

        stored = self._stored()
        if stored.itemsize > 1 and len(data) % stored.itemsize == 0:
            return np.frombuffer(data, dtype=stored).astype(self.dtype)
        shape = struct.unpack_from(f"<{data[0]}I", data, offset=1)
        return np.frombuffer(data, dtype=stored, offset=1 + 4 * data[0]).astype(self.dtype).reshape(shape)

    def _stored(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.dtype).newbyteorder("<")


class PlainCodec(Codec):
    """Plain data and dataclasses as compressed JSON, read back through the method's return annotation."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def encode(self, value: Any) -> bytes:
        return zlib.compress(_adapter(self.method).dump_json(value), 1)

    def decode(self, data: bytes) -> Any:
        return _adapter(self.method).validate_json(zlib.decompress(data))


def _whole(stage: Stage, method: Callable[..., Any], store: Store, codec: Codec, _: str) -> Callable[..., Any]:
    signature = inspect.signature(method)

    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = _arguments(signature, args, kwargs)
        key = key_of(stage, method.__name__, arguments)
        if (kept := store.get_timed([key]).get(key)) is None:
            with store.lock([key]):
                if (kept := store.get_timed([key]).get(key)) is None:
                    start = time.perf_counter()
                    result = method(*args, **kwargs)
                    store.put(_kind(stage, method), {key: codec.encode(result)}, time.perf_counter() - start)
                    _account(stage, arguments, result, reused=False)
                    return result
        data, seconds = kept
        result = codec.decode(data)
        _account(stage, arguments, result, reused=True, seconds=seconds)
        return result

    return call


def _each(stage: Stage, method: Callable[..., Any], store: Store, codec: Codec, each: str) -> Callable[..., Any]:
    signature = inspect.signature(method)

    def call(*args: Any, **kwargs: Any) -> Any:
        import numpy as np

        arguments = _arguments(signature, args, kwargs)
        items = list(arguments[each])
        if not items:
            return method(*args, **kwargs)
        keys = [key_of(stage, method.__name__, {**arguments, each: item}) for item in items]
        found = store.get_timed(dict.fromkeys(keys))
        missing = {key: item for key, item in zip(keys, items, strict=True) if key not in found}
        made: dict[str, bytes] = {}
        if missing:
            with store.lock(missing):
                found |= store.get_timed(missing)
                missing = {key: item for key, item in missing.items() if key not in found}
                if missing:
                    start = time.perf_counter()
                    rows = method(**{**arguments, each: list(missing.values())})
                    made = {key: codec.encode(row) for key, row in zip(missing, rows, strict=True)}
                    store.put(_kind(stage, method), made, (time.perf_counter() - start) / len(made))
        saved = sum(seconds for _, seconds in found.values())
        add_usage(Usage(calls=len(made), reused=len(found), reused_seconds=saved))
        return np.stack([codec.decode(made[key] if key in made else found[key][0]) for key in keys])

    return call


def _arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _account(stage: Stage, arguments: Mapping[str, Any], result: Any, *, reused: bool, seconds: float = 0.0) -> None:
    """Count a call for the turn that it was made for; let who listens hear a reply that did not come in pieces."""
    if not isinstance(result, Completion):
        add_usage(Usage(reused=1, reused_seconds=seconds) if reused else Usage(calls=1))
        return
    add_usage(_usage_of(result, reused=reused))
    add_reply(arguments["prompt"], result)
    if (hear := current_listener()) and (reused or not (isinstance(stage, LLM) and stage.streams)):
        hear(result.text)


def _usage_of(reply: Completion, *, reused: bool) -> Usage:
    cost = reply.cost_usd or 0.0
    return Usage(
        calls=int(not reused),
        reused=int(reused),
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cached_tokens=reply.cached_tokens,
        cost_usd=cost,
        spent_usd=0.0 if reused else cost,
        unpriced=int(reply.cost_usd is None),
        seconds=0.0 if reused else reply.seconds,
        retries=0 if reused else reply.retries,
        reused_seconds=reply.seconds if reused else 0.0,
    )


def _kind(stage: Stage, method: Callable[..., Any]) -> str:
    return f"{type(stage).__name__}.{method.__name__}"


@cache
def _adapter(method: Callable[..., Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(method)["return"])


@cache
def _marked(cls: type[Stage]) -> dict[str, tuple[Callable[..., Any], str, str]]:
    """The marked methods of a class: name -> (the method that carries the mark, each, array)."""
    found: dict[str, tuple[Callable[..., Any], str, str]] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if mark := getattr(member, "remembered", None):
                found[name] = (member, *mark)
    return found
