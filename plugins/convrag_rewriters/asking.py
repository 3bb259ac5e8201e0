"""Several requests at once, of which some may fail."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from convrag import LLMError
from convrag.sdk.parallel import map_parallel

K = TypeVar("K")
V = TypeVar("V")


def ask_all(keys: Sequence[K], ask: Callable[[K], V]) -> tuple[dict[K, V], dict[K, str]]:
    """Ask for each key at once -> key -> reply, and key -> what failed, both in the order of the
    keys.
    """

    def try_once(key: K) -> V | LLMError:
        try:
            return ask(key)
        except LLMError as error:
            return error

    replies = list(zip(keys, map_parallel(try_once, keys), strict=True))
    failures = {key: str(reply) for key, reply in replies if isinstance(reply, LLMError)}
    return {key: reply for key, reply in replies if not isinstance(reply, LLMError)}, failures
