"""Remembered methods: a stage method that is marked `@remembered` looks for its result in the store first."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, wraps
from typing import Any

from convrag.api.errors import ConvragError, UnidentifiedValue
from convrag.api.models import LLM
from convrag.api.records import Usage
from convrag.api.stage import Stage
from convrag.api.types import Completion
from convrag.store.attempts import find_attempt
from convrag.store.cancellation import check_cancelled
from convrag.store.codecs import ArrayCodec, Codec, PlainCodec
from convrag.store.compute_slots import waiting
from convrag.store.fingerprint import digest
from convrag.store.marked_json import CannotBeKept
from convrag.store.results import MethodResults
from convrag.store.store import Store
from convrag.store.streaming import current_listener
from convrag.store.usage import add_reply, add_usage, count_failure


def remember(stage: Stage, store: Store) -> None:
    """Replace the marked methods of a stage object by methods that use the store. Its fingerprint must be set."""
    for name, (marked, each, array) in _find_marked_methods(type(stage)).items():
        method = getattr(stage, name)
        codec: Codec = ArrayCodec(array) if array else PlainCodec(marked, getattr(type(stage), name))
        results = MethodResults(stage, method, store, codec)
        wrapped = _remember_items(stage, method, results, each) if each else _remember_call(stage, method, results)
        setattr(stage, name, wrapped)


def compute_call_key(stage: Stage, method: str, arguments: Mapping[str, Any]) -> str:
    """Compute the key of a call from an LLM's request and attempt, or from any other stage's fingerprint and inputs.

    The attempt of a turn that is answered again is part of the key, too (see `convrag.store.attempts`).
    """
    attempt = find_attempt(stage)
    again = [f"attempt {attempt}"] if attempt else []
    if isinstance(stage, LLM):
        prompt = arguments["prompt"]
        return digest([stage.request(prompt), prompt.attempt, *again], f"{type(stage).__name__}: the request")
    try:
        return digest([stage.fingerprint, method, arguments, *again])
    except UnidentifiedValue:
        for name, value in arguments.items():
            digest(value, f"{type(stage).__name__}.{method}: argument {name}")
        raise


def _remember_call(stage: Stage, method: Callable[..., Any], results: MethodResults) -> Callable[..., Any]:
    """Wrap a method: the result of each call has one key."""
    signature = inspect.signature(method)
    call_method = waiting()(method) if isinstance(stage, LLM) else method  # it waits for a server

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind_arguments(signature, args, kwargs)
        key = compute_call_key(stage, method.__name__, arguments)
        if (entry := results.find([key]).get(key)) is None:
            with results.store.lock([key]):
                check_cancelled()
                if (entry := results.find([key]).get(key)) is None:
                    start = time.perf_counter()
                    with count_failure():
                        data, result = results.encode(call_method(*args, **kwargs))
                    refused = results.put({key: data}, time.perf_counter() - start)
                    _count_call(stage, arguments, result, reused=False)
            if entry is None:
                return results.take_over(refused).get(key, result)
        result, seconds = entry
        _count_call(stage, arguments, result, reused=True, seconds=seconds)
        return result

    return call


def _remember_items(stage: Stage, method: Callable[..., Any], results: MethodResults, each: str) -> Callable[..., Any]:
    """Wrap a method that returns a row for each item of the parameter `each`: each row has a key of its own."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind_arguments(signature, args, kwargs)
        items = list(arguments[each])
        if not items:
            none = method(*args, **kwargs)
            _split_rows(none, 0, results, each)
            return results.encode(none if isinstance(results.codec, ArrayCodec) else [])[1]
        keys = [compute_call_key(stage, method.__name__, {**arguments, each: item}) for item in items]
        found = results.find(dict.fromkeys(keys))
        missing = {key: item for key, item in zip(keys, items, strict=True) if key not in found}
        computed: dict[str, Any] = {}
        if missing:
            refused: set[str] = set()
            with results.store.lock(missing):
                check_cancelled()
                found |= results.find(missing)
                missing = {key: item for key, item in missing.items() if key not in found}
                if missing:
                    start = time.perf_counter()
                    with count_failure(len(missing)):
                        rows = method(**{**arguments, each: list(missing.values())})
                        encoded = list(map(results.encode, _split_rows(rows, len(missing), results, each)))
                    entries = {key: data for key, (data, _) in zip(missing, encoded, strict=True)}
                    refused = results.put(entries, (time.perf_counter() - start) / len(missing))
                    computed = {key: row for key, (_, row) in zip(missing, encoded, strict=True)}
            computed |= results.take_over(refused)
        saved = sum(seconds for _, seconds in found.values())
        add_usage(Usage(calls=len(computed), reused=len(found), reused_seconds=saved))
        return _join_rows([computed[key] if key in computed else found[key][0] for key in keys], results)

    return call


def _split_rows(rows: Any, count: int, results: MethodResults, each: str) -> list[Any]:
    """Split what a method returned for `count` items. Raises ConvragError unless there is a row for each of them."""
    try:
        split = results.codec.split(rows)
    except CannotBeKept as error:
        raise results.make_error(error) from error
    if len(split) != count:
        raise ConvragError(f"{results.name} returned {len(split)} rows for {count} {each}; there must be one for each.")
    return split


def _join_rows(rows: list[Any], results: MethodResults) -> Any:
    try:
        return results.codec.join(rows)
    except ValueError as error:
        shapes = ", ".join(sorted({str(row.shape) for row in rows}))
        raise ConvragError(f"{results.name} returned rows of different shapes in different calls: {shapes}.") from error


def _bind_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, with defaults for those that are not given."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _count_call(stage: Stage, arguments: Mapping[str, Any], result: Any, *, reused: bool, seconds: float = 0.0) -> None:
    """Count a call in the usage of the current turn. If a reply was not streamed, pass its text to the listener.

    Tokens are those of language models: replies of an llm that works by rules (`LLM.tasks`) count without any.
    """
    if not isinstance(result, Completion):
        add_usage(Usage(reused=1, reused_seconds=seconds) if reused else Usage(calls=1))
        return
    if isinstance(stage, LLM) and stage.tasks is not None:  # its tokens are words that rules have read
        result = replace(result, prompt_tokens=0, completion_tokens=0, cached_tokens=0)
    add_usage(_compute_usage(result, reused=reused))
    add_reply(arguments["prompt"], result)
    if (listener := current_listener()) and (reused or not (isinstance(stage, LLM) and stage.streams)):
        listener(result.text)


def _compute_usage(reply: Completion, *, reused: bool) -> Usage:
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
        cut=int(reply.finish_reason == "length"),
        filtered=int(reply.finish_reason == "content_filter"),
    )


@cache
def _find_marked_methods(cls: type[Stage]) -> dict[str, tuple[Callable[..., Any], str, str]]:
    """Find the methods of a class that are marked `@remembered`: name -> (the marked method, each, array)."""
    marked: dict[str, tuple[Callable[..., Any], str, str]] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if mark := getattr(member, "remembered", None):
                marked[name] = (member, *mark)
    return marked
