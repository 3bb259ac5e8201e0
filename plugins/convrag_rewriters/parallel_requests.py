"""Several requests to a language model at once, some of which may fail."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from convrag import LLMError
from convrag.sdk.parallel import map_parallel

K = TypeVar("K")
V = TypeVar("V")


def ask_all(keys: Sequence[K], ask: Callable[[K], V]) -> tuple[dict[K, V], dict[K, str]]:
    """Ask for each key at once; return the replies and the failures, both in the keys' order."""

    def try_once(key: K) -> V | LLMError:
        try:
            return ask(key)
        except LLMError as error:
            return error

    replies: dict[K, V] = {}
    failures: dict[K, str] = {}
    for key, reply in zip(keys, map_parallel(try_once, keys), strict=True):
        if isinstance(reply, LLMError):
            failures[key] = str(reply)
        else:
            replies[key] = reply
    return replies, failures
