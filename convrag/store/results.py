"""The results of one remembered method in the store."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from convrag.api.errors import ConvragError
from convrag.api.locations import locate_function
from convrag.api.models import LLM
from convrag.api.stage import Stage
from convrag.api.types import Completion
from convrag.store.codecs import Codec
from convrag.store.marked_json import CannotBeKept
from convrag.store.replies import encode_reply
from convrag.store.store import Store

log = logging.getLogger(__name__)

_warned: set[str] = set()
"""The stores of which this process has said that they hold entries that cannot be read."""
_guard = threading.Lock()


class MethodResults:
    """Looks for the results of a method, and keeps new ones.

    Args:
        stage: whose method it is.
        method: its method.
        store: where the results are.
        codec: converts them.
    """

    def __init__(self, stage: Stage, method: Callable[..., Any], store: Store, codec: Codec) -> None:
        self.name = f"{type(stage).__name__}.{method.__name__}"
        """What the store lists and messages name, such as "LiteLLM.complete"."""
        self.store = store
        self.codec = codec
        self._is_paid = isinstance(stage, LLM)
        self._place = f"{type(stage).__module__}, {locate_function(method)}"

    def find(self, keys: Iterable[str]) -> dict[str, tuple[Any, float]]:
        """Return key -> (result, seconds it took to compute). Entries that cannot be read count as absent."""
        found: dict[str, tuple[Any, float]] = {}
        for key, (data, seconds) in self.store.get_with_seconds(keys).items():
            try:
                found[key] = self.codec.decode(data), seconds
            except Exception as error:
                self._warn(error)
        return found

    def encode(self, result: Any) -> tuple[bytes, Any]:
        """Convert a computed result: its bytes, and the result that the store will give for them.

        The reply of a language model, which was paid for, is made such that it can be kept.

        Raises:
            ConvragError: the result cannot be kept, or is no reply of a language model; names the place in it.
        """
        if self._is_paid and self.name.endswith(".complete") and not isinstance(result, Completion):
            kind = type(result).__name__
            raise ConvragError(f"{self.name} returned a {kind}, which is no Completion ({self._place})")
        try:
            if self._is_paid and isinstance(result, Completion):
                data = encode_reply(result, self.codec, self.name)
            else:
                data = self.codec.encode(result)
            return data, self._decode_own(data)
        except CannotBeKept as error:
            raise self.make_error(error) from error

    def put(self, entries: Mapping[str, bytes], seconds: float) -> set[str]:
        """Keep results that took `seconds` each; return the keys of those that are refused (see `Store.put`)."""
        return self.store.put(self.name, entries, seconds)

    def take_over(self, refused: set[str]) -> dict[str, Any]:
        """Return key -> result of another process, for keys whose results `put` has refused; waits for that process."""
        if not refused:
            return {}
        log.warning(
            "%s: the connection was lost while %s was computed, and another process has computed the same: its result "
            "is used",
            self.store.name,
            self.name,
        )
        with self.store.lock(refused):
            return {key: result for key, (result, _) in self.find(refused).items()}

    def make_error(self, error: CannotBeKept) -> ConvragError:
        """Make the error that names the method and the place in its result."""
        place = f" at {error.place}" if error.place else ""
        return ConvragError(
            f"{self.name} returned {error.problem}{place}: the store cannot keep that. Return plain data, numpy values "
            "and arrays, and objects of convrag's types or of dataclasses that the return annotation names "
            f"({self._place})."
        )

    def _decode_own(self, data: bytes) -> Any:
        try:
            return self.codec.decode(data)
        except Exception as error:  # a dataclass whose constructor does not take its own fields
            raise CannotBeKept("", f"what cannot be made again ({type(error).__name__}: {error})") from error

    def _warn(self, error: Exception) -> None:
        with _guard:
            if self.store.name in _warned:
                return
            _warned.add(self.store.name)
        log.warning(
            "%s: an entry of %s cannot be read (%s: %s); it is computed again, as are others like it",
            self.store.name,
            self.name,
            type(error).__name__,
            error,
        )
