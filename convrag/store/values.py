"""The results of remembered methods as bytes: arrays, replies of models, classes of plain data.

Plain data and dataclasses are kept as `MarkedJson` writes them.
"""

from __future__ import annotations

import logging
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from enum import Enum
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from convrag.api import answers, completions, conversations, evidence, passages, queries, records
from convrag.api.completions import Completion
from convrag.store.json_text import CannotBeKept, MarkedJson

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)


class ArrayCodec:
    """Converts numpy arrays to their raw bytes in little-endian order.

    Unless the array is a vector, its shape comes first. A shape takes an odd number of bytes, and
    numbers take two, four or eight each, so that the length of the data shows whether there is a
    shape. Vectors of one-byte numbers therefore have it, too.

    Args:
        dtype: the type of the decoded arrays. Lists and arrays of other numbers are converted,
            unless that changes an integer.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def encode(self, value: Any) -> bytes:
        """Convert an array to bytes. Raises CannotBeKept."""
        array = self._convert(value).astype(self._get_stored_dtype())
        if array.ndim == 1 and array.itemsize > 1:
            return array.tobytes()
        shape = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        return shape + array.tobytes()

    def decode(self, data: bytes) -> Any:
        """Convert bytes back to the array. Damaged data may raise any exception."""
        import numpy as np

        stored = self._get_stored_dtype()
        if stored.itemsize > 1 and len(data) % stored.itemsize == 0:
            return np.frombuffer(data, dtype=stored).astype(self.dtype)
        dimensions = data[0]
        shape = struct.unpack_from(f"<{dimensions}I", data, offset=1)
        numbers = np.frombuffer(data, dtype=stored, offset=1 + 4 * dimensions)
        return numbers.astype(self.dtype).reshape(shape)

    def split(self, rows: Any) -> list[Any]:
        """Split an array into its rows. Raises CannotBeKept."""
        array = self._convert(rows)
        if not array.ndim:
            raise CannotBeKept("", f"one number ({rows!r}) instead of an array")
        return list(array)

    def join(self, rows: Sequence[Any]) -> Any:
        """Join rows, one at least, to an array. Raises CannotBeKept if they do not fit together."""
        import numpy as np

        shapes = sorted({str(row.shape) for row in rows})
        if len(shapes) > 1:
            problem = f"rows of different shapes in different calls: {', '.join(shapes)}"
            raise CannotBeKept("", problem)
        return np.stack(rows)

    def _convert(self, value: Any) -> np.ndarray[Any, Any]:
        """Convert to an array of the dtype."""
        import numpy as np

        try:
            array = np.asarray(value)
            dtype = np.dtype(self.dtype)
        except Exception as error:  # rows of different lengths; a tensor on another device
            raise CannotBeKept("", f"no array ({error})") from error
        if array.dtype.kind not in "biuf":
            raise CannotBeKept("", f"{array.dtype} values, which are not {self.dtype}")
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)
        if dtype.kind in "biu" and not np.array_equal(converted, array):
            raise CannotBeKept("", f"{array.dtype} values, and some are not {self.dtype}")
        return converted

    def _get_stored_dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.dtype).newbyteorder("<")


Codec = ArrayCodec | MarkedJson
"""A converter of results to bytes and back.

A call that computes, and one that finds the result in the store, return `decode(encode(result))`.
"""


def make_codec(marked: Callable[..., Any], override: Callable[..., Any], array: str) -> Codec:
    """Make the converter for the results of a method.

    Args:
        marked: the method that is marked `@remembered`.
        override: the method of the stage's class, whose annotation may name further classes.
        array: the dtype of the arrays that it returns; empty if it returns something else.
    """
    return ArrayCodec(array) if array else MarkedJson(find_classes(marked, override))


def find_classes(*methods: Callable[..., Any]) -> dict[str, type]:
    """Find the classes whose objects the results of methods may contain: name -> class.

    They are the dataclasses, named tuples and enums of convrag.api, of the return annotations, and
    of the fields of these classes.
    """
    found = dict(_list_api_classes())
    for method in methods:
        returned = {"return": getattr(method, "__annotations__", {}).get("return")}
        _collect(_evaluate(returned, method.__module__).get("return"), found, set())
    return found


def _collect(annotation: Any, found: dict[str, type], seen: set[int]) -> None:
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    for part in get_args(annotation):
        _collect(part, found, seen)
    if not isinstance(annotation, type):
        return
    if _is_data_class(annotation) and not annotation.__module__.startswith("convrag.api."):
        found[f"{annotation.__module__}.{annotation.__qualname__}"] = annotation
    for base in annotation.__mro__:
        for hint in _evaluate(vars(base).get("__annotations__", {}), base.__module__).values():
            _collect(hint, found, seen)


def _evaluate(annotations: dict[str, Any], module: str) -> dict[str, Any]:
    """Evaluate annotations one by one, without those that name something unknown."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    evaluated: dict[str, Any] = {}
    for name, annotation in annotations.items():
        holder = SimpleNamespace(__annotations__={name: annotation})
        try:
            evaluated |= get_type_hints(holder, globalns=names)
        except (NameError, AttributeError):
            continue  # imported for type checkers only
    return evaluated


def _is_data_class(cls: type) -> bool:
    """Whether a class is a dataclass, an enum or a named tuple."""
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return is_dataclass(cls) or issubclass(cls, Enum) or is_named_tuple


_PLAIN_DATA = (answers, completions, conversations, evidence, passages, queries, records)
"""The modules of convrag.api whose classes the store keeps."""


@cache
def _list_api_classes() -> tuple[tuple[str, type], ...]:
    found: list[tuple[str, type]] = []
    for module in _PLAIN_DATA:
        for name, member in vars(module).items():
            is_api_class = isinstance(member, type) and member.__module__.startswith("convrag.api.")
            if is_api_class and _is_data_class(member):
                found.append((name, member))
    return tuple(found)


def encode_reply(reply: Completion, codec: Codec, source: str) -> bytes:
    """Convert a reply of a language model to bytes, with a mended text.

    Since it was paid for, it is kept in any case: if not whole, then its text.

    Args:
        reply: the result of the model's stage.
        codec: the converter of the stage's method.
        source: the stage and its method, for a warning about a part that is not kept.
    """
    if isinstance(reply.text, str):
        reasoning = mend_surrogates(str(reply.reasoning))
        reply = replace(reply, text=mend_surrogates(reply.text), reasoning=reasoning)
    try:
        return codec.encode(reply)
    except CannotBeKept as error:
        log.warning(
            "%s returned %s at %s: of this reply, the text is kept",
            source,
            error.problem,
            error.place,
        )
        return codec.encode(Completion(str(reply.text)))


def mend_surrogates(text: str) -> str:
    """Join the two halves of surrogate pairs, and replace single halves by U+FFFD.

    Half a pair is not a character: UTF-8 has no form for it, so no file, terminal or server takes
    it. Models give halves where a reply is cut within an emoji.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
