"""Remembered methods: a stage method marked `@remembered` looks for its result in the store first.

A question that is answered again uses no reply of an earlier attempt from the store.

    with answer_again(1):  # the second answer to a question
        llm.complete(prompt)  # is asked, though the store has a reply to this prompt

The number of the attempt is part of the key of each call that depends on a language model, so that
the same attempt after a crash costs nothing twice. All other results (embeddings, scores of
rankers) are used again.
"""

import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, wraps
from typing import Any
from weakref import WeakSet

from convrag.api.completions import Completion
from convrag.api.errors import ConvragError, locate_function
from convrag.api.records import Usage
from convrag.api.stage import LLM, Stage
from convrag.api.thoughts import separate_thoughts
from convrag.concurrency.cancellation import check_cancelled
from convrag.concurrency.slots import release_slot
from convrag.concurrency.streaming import current_listener
from convrag.store.fingerprint import digest
from convrag.store.json_text import CannotBeKept
from convrag.store.store import Store
from convrag.store.usage_meter import add_reply, add_usage, count_failure
from convrag.store.values import ArrayCodec, Codec, encode_reply, make_codec

log = logging.getLogger(__name__)

_attempt: ContextVar[int] = ContextVar("convrag_attempt", default=0)
cache_enabled: ContextVar[bool] = ContextVar("convrag_cache_enabled", default=True)
"""Whether new results are put into the store; a search that is deeper than any turn's is not."""

_model_users: WeakSet[Stage] = WeakSet()
"""The stages that ask a language model, themselves or through an injected stage."""

_importing = threading.RLock()
_loaded: WeakSet[Stage] = WeakSet()
"""The stages whose libraries are imported."""

_warned: set[str] = set()
"""The stores about whose unreadable entries this process has warned."""


def remember(stage: Stage, store: Store) -> None:
    """Replace the marked methods of a stage object by methods that use the store.

    Its fingerprint must be set.
    """
    for name, (marked, each, array) in find_marked_methods(type(stage)).items():
        method = getattr(stage, name)
        codec = make_codec(marked, getattr(type(stage), name), array)
        results = _Results(stage, method, store, codec)
        if each:
            setattr(stage, name, _remember_items(stage, method, results, each))
        else:
            setattr(stage, name, _remember_call(stage, method, results))


def load_libraries(stage: Stage) -> None:
    """Import what the calls of a stage import, unless that has been done.

    One stage at a time: of threads that import parts of one library at once, some get modules that
    are half imported.
    """
    with _importing:
        if stage not in _loaded:
            stage.load_libraries()
            _loaded.add(stage)


@contextmanager
def answer_again(attempt: int) -> Iterator[None]:
    """Count the calls of this thread during the block as an attempt's; 0 is the first attempt."""
    token = _attempt.set(attempt)
    try:
        yield
    finally:
        _attempt.reset(token)


def mark_model_user(stage: Stage, injected: Iterable[Stage | None]) -> None:
    """Mark a stage that asks a language model: an injected stage is a model, or asks one."""
    if any(isinstance(each, LLM) or each in _model_users for each in injected if each is not None):
        _model_users.add(stage)


def find_attempt(stage: Stage) -> int:
    """Return the attempt that a call belongs to; 0 for a stage that asks no language model."""
    asks_model = isinstance(stage, LLM) or stage in _model_users
    return _attempt.get() if asks_model else 0


def compute_call_key(stage: Stage, method: str, arguments: Mapping[str, Any]) -> str:
    """Compute the key of a call.

    The key of an LLM's call covers its request, of any other stage's call its fingerprint and
    arguments. A turn that is answered again adds the number of the attempt.
    """
    attempt = find_attempt(stage)
    suffix = [f"attempt {attempt}"] if attempt else []
    if isinstance(stage, LLM):
        prompt = arguments["prompt"]
        identity = [stage.request(prompt), prompt.attempt, *suffix]
        return digest(identity, f"{type(stage).__name__}: the request")
    identity = [stage.fingerprint, method, arguments, *suffix]
    return digest(identity, f"{type(stage).__name__}.{method}: an argument")


class _Results:
    """Looks for the results of a method in the store, and puts new ones there.

    Args:
        stage: the stage.
        method: its method.
        store: the store.
        codec: converts the results to bytes and back.
    """

    def __init__(
        self, stage: Stage, method: Callable[..., Any], store: Store, codec: Codec
    ) -> None:
        self.name = f"{type(stage).__name__}.{method.__name__}"
        """The kind of the results, for the store and for messages ("LiteLLM.complete")."""
        self.store = store
        self.codec = codec
        self.is_paid = isinstance(stage, LLM)
        self._stage = stage
        self._place = f"{type(stage).__module__}, {locate_function(method)}"

    def fetch(
        self, items: Mapping[str, Any], compute: Callable[[list[Any]], list[Any]]
    ) -> tuple[dict[str, tuple[Any, float]], dict[str, Any]]:
        """Look for results, and compute and keep those that are missing.

        A call that another thread or process makes meanwhile is waited for.

        Args:
            items: key -> the item whose result it is.
            compute: takes the items whose results are missing, and returns a result for each.

        Returns:
            Key -> (result, seconds) of the results that were found, and key -> result of those that
            were computed.
        """
        found = self.find(items)
        if len(found) == len(items):
            return found, {}
        if not cache_enabled.get():
            missing = {key: item for key, item in items.items() if key not in found}
            computed = compute(list(missing.values()))
            return found, dict(zip(missing, computed, strict=True))
        with self.store.lock(items.keys() - found.keys(), on_all_machines=self.is_paid):
            check_cancelled()
            found |= self.find([key for key in items if key not in found])
            missing = {key: item for key, item in items.items() if key not in found}
            return found, self._compute_and_put(missing, compute) if missing else {}

    def _compute_and_put(
        self, missing: Mapping[str, Any], compute: Callable[[list[Any]], list[Any]]
    ) -> dict[str, Any]:
        """Compute results and put them into the store; arguments as in `fetch`."""
        start = time.perf_counter()
        with count_failure(len(missing)):
            load_libraries(self._stage)
            computed = compute(list(missing.values()))
            encoded = [self.encode(result) for result in computed]
        seconds = (time.perf_counter() - start) / len(missing)
        data = dict(zip(missing, (data for data, _ in encoded), strict=True))
        self.store.put(self.name, data, seconds)
        return dict(zip(missing, (result for _, result in encoded), strict=True))

    def find(self, keys: Iterable[str]) -> dict[str, tuple[Any, float]]:
        """Return key -> (result, seconds to compute it); unreadable entries count as absent."""
        found: dict[str, tuple[Any, float]] = {}
        for key, (data, seconds) in self.store.entries.find(keys).items():
            try:
                found[key] = self.codec.decode(data), seconds
            except ImportError:
                raise  # a missing library is not damage
            except Exception as error:  # damaged data may raise anything
                self._warn(error)
        return found

    def encode(self, result: Any) -> tuple[bytes, Any]:
        """Convert a computed result to its bytes, and the result that the store will give for them.

        The reply of a language model, which was paid for, is changed so that it can be kept.

        Raises:
            ConvragError: the result cannot be kept, or is not a reply of a language model; names
                the place in it.
        """
        is_reply = self.is_paid and isinstance(result, Completion)
        if self.is_paid and not is_reply and self.name.endswith(".complete"):
            kind = type(result).__name__
            raise ConvragError(
                f"{self.name} returned a {kind}, which is not a Completion ({self._place})"
            )
        with self._explained():
            if is_reply:
                data = encode_reply(result, self.codec, self.name)
            else:
                data = self.codec.encode(result)
            try:
                return data, self.codec.decode(data)
            except Exception as error:  # a dataclass whose constructor does not take its own fields
                problem = f"what cannot be made again ({type(error).__name__}: {error})"
                raise CannotBeKept("", problem) from error

    def split(self, rows: Any, count: int, each: str) -> list[Any]:
        """Split the result for some items. Raises ConvragError unless there is a row for each."""
        with self._explained():
            split = self.codec.split(rows)
        if len(split) != count:
            raise ConvragError(
                f"{self.name} returned {len(split)} rows for {count} {each}; "
                "there must be one for each."
            )
        return split

    def join(self, rows: list[Any]) -> Any:
        """Join rows to what the method returns. Raises ConvragError if they do not fit together."""
        with self._explained():
            return self.codec.join(rows)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Name the method whose result cannot be kept in the error."""
        try:
            yield
        except CannotBeKept as error:
            place = f" at {error.place}" if error.place else ""
            raise ConvragError(
                f"{self.name} returned {error.problem}{place}: the store cannot keep that. "
                "Return plain data, numpy values and arrays, and objects of convrag's types or of "
                f"dataclasses that the return annotation names ({self._place})."
            ) from error

    def _warn(self, error: Exception) -> None:
        if self.store.name not in _warned:
            _warned.add(self.store.name)
            log.warning(
                "%s: an entry of %s cannot be read (%r); it is computed again, as are others like "
                "it",
                self.store.name,
                self.name,
                error,
            )


def _remember_call(
    stage: Stage, method: Callable[..., Any], results: _Results
) -> Callable[..., Any]:
    """Wrap a method whose calls have one key each."""
    signature = inspect.signature(method)
    # A language model's method waits for a server
    call_method = release_slot()(method) if isinstance(stage, LLM) else method

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind_arguments(signature, args, kwargs)
        key = compute_call_key(stage, method.__name__, arguments)
        found, computed = results.fetch({key: None}, lambda _: [call_method(*args, **kwargs)])
        is_reused = key in found
        result, seconds = found[key] if is_reused else (computed[key], 0.0)
        if isinstance(stage, LLM) and isinstance(result, Completion) and stage.tasks is None:
            result = separate_thoughts(result)
        _count_call(stage, arguments, result, reused=is_reused, seconds=seconds)
        return result

    return call


def _remember_items(
    stage: Stage, method: Callable[..., Any], results: _Results, each: str
) -> Callable[..., Any]:
    """Wrap a method that returns a row, with a key of its own, for each item of a parameter."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind_arguments(signature, args, kwargs)
        items = list(arguments[each])
        if not items:
            empty = method(*args, **kwargs)
            results.split(empty, 0, each)
            return results.encode(empty if isinstance(results.codec, ArrayCodec) else [])[1]

        def compute(missing: list[Any]) -> list[Any]:
            rows = method(**{**arguments, each: missing})
            return results.split(rows, len(missing), each)

        keys = [
            compute_call_key(stage, method.__name__, {**arguments, each: item}) for item in items
        ]
        found, computed = results.fetch(dict(zip(keys, items, strict=True)), compute)
        saved = sum(seconds for _, seconds in found.values())
        add_usage(Usage(calls=len(computed), reused=len(found), reused_seconds=saved))
        return results.join([computed[key] if key in computed else found[key][0] for key in keys])

    return call


def _bind_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, with defaults for those that are not given."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def _count_call(
    stage: Stage, arguments: Mapping[str, Any], result: Any, *, reused: bool, seconds: float = 0.0
) -> None:
    """Count a call in the usage of the current turn.

    A reply that was not streamed is passed to the listener. The replies of an LLM stage of rules
    (`LLM.tasks`) count without tokens.
    """
    if not isinstance(result, Completion):
        add_usage(Usage(reused=1, reused_seconds=seconds) if reused else Usage(calls=1))
        return
    if isinstance(stage, LLM) and stage.tasks is not None:  # its tokens are words of rules
        result = replace(
            result, prompt_tokens=0, completion_tokens=0, cached_tokens=0, reasoning_tokens=0
        )
    add_usage(_compute_usage(result, reused=reused))
    add_reply(arguments["prompt"], result)
    listener = current_listener()
    was_streamed = isinstance(stage, LLM) and stage.streams and not reused
    if listener and not was_streamed:
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
        reasoning_tokens=reply.reasoning_tokens,
    )


@cache
def find_marked_methods(cls: type[Stage]) -> dict[str, tuple[Callable[..., Any], str, str]]:
    """Find the methods that are marked `@remembered`: name -> (the marked method, each, array)."""
    marked: dict[str, tuple[Callable[..., Any], str, str]] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            if mark := getattr(member, "remembered", None):
                marked[name] = (member, *mark)
    return marked
