"""What a remembered method may return, as bytes: arrays, replies of language models, and the
classes of plain data.

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
    """Converts numpy arrays: their raw bytes in little-endian order, after the shape if the array
    is no vector.

    A shape takes an odd number of bytes, so its presence shows in the length of the data: numbers
    take two, four or eight bytes each. Vectors of one-byte numbers are therefore kept with their
    shape, too.

    Args:
        dtype: of the decoded arrays. Lists and arrays of other numbers are converted, if no integer
            changes thereby.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def encode(self, value: Any) -> bytes:
        """Convert an array to bytes. Raises CannotBeKept."""
        array = self._convert(value).astype(self._get_stored_dtype())
        is_plain_vector = array.ndim == 1 and array.itemsize > 1
        return (
            b"" if is_plain_vector else struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        ) + array.tobytes()

    def decode(self, data: bytes) -> Any:
        """Convert bytes back to the array. Damaged data may raise any exception."""
        import numpy as np

        stored = self._get_stored_dtype()
        if stored.itemsize > 1 and len(data) % stored.itemsize == 0:
            return np.frombuffer(data, dtype=stored).astype(self.dtype)
        shape = struct.unpack_from(f"<{data[0]}I", data, offset=1)
        return (
            np.frombuffer(data, dtype=stored, offset=1 + 4 * data[0])
            .astype(self.dtype)
            .reshape(shape)
        )

    def split(self, rows: Any) -> list[Any]:
        """Split an array into its rows. Raises CannotBeKept."""
        array = self._convert(rows)
        if not array.ndim:
            raise CannotBeKept("", f"one number ({rows!r}) instead of an array")
        return list(array)

    def join(self, rows: Sequence[Any]) -> Any:
        """Join rows, one at least, to an array. Raises CannotBeKept if they do not fit together."""
        import numpy as np

        if len(shapes := sorted({str(row.shape) for row in rows})) > 1:
            raise CannotBeKept(
                "", f"rows of different shapes in different calls: {', '.join(shapes)}"
            )
        return np.stack(rows)

    def _convert(self, value: Any) -> np.ndarray[Any, Any]:
        """Convert to an array of the dtype."""
        import numpy as np

        try:
            array, dtype = np.asarray(value), np.dtype(self.dtype)
        except Exception as error:  # rows of different lengths; a tensor on another device
            raise CannotBeKept("", f"no array ({error})") from error
        if array.dtype.kind not in "biuf":
            raise CannotBeKept("", f"{array.dtype} values, which are no {self.dtype}")
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)
        if dtype.kind in "biu" and not np.array_equal(converted, array):
            raise CannotBeKept("", f"{array.dtype} values, and some are no {self.dtype}")
        return converted

    def _get_stored_dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.dtype).newbyteorder("<")


Codec = ArrayCodec | MarkedJson
"""Converts results to bytes and back. Computing and reusing calls return `decode(encode(result))`.
"""


def make_codec(marked: Callable[..., Any], override: Callable[..., Any], array: str) -> Codec:
    """Make what converts the results of a method.

    Args:
        marked: the method that is marked `@remembered`.
        override: the method of the stage's class, whose annotation may name further classes.
        array: the dtype of the arrays that it returns; empty if it returns something else.
    """
    return ArrayCodec(array) if array else MarkedJson(find_classes(marked, override))


def find_classes(*methods: Callable[..., Any]) -> dict[str, type]:
    """Find the dataclasses, named tuples and enums of convrag.api, and those in the return
    annotations: name -> class.

    Classes that are the type of a field of another one are found too.
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
    if _is_kept(annotation) and not annotation.__module__.startswith("convrag.api."):
        found[f"{annotation.__module__}.{annotation.__qualname__}"] = annotation
    for base in annotation.__mro__:
        for hint in _evaluate(vars(base).get("__annotations__", {}), base.__module__).values():
            _collect(hint, found, seen)


def _evaluate(annotations: dict[str, Any], module: str) -> dict[str, Any]:
    """Evaluate annotations one by one, leaving out those that name something unknown."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    evaluated: dict[str, Any] = {}
    for name, annotation in annotations.items():
        try:
            evaluated |= get_type_hints(
                SimpleNamespace(__annotations__={name: annotation}), globalns=names
            )
        except (NameError, AttributeError):
            continue  # imported for type checkers only
    return evaluated


def _is_kept(cls: type) -> bool:
    return (
        is_dataclass(cls)
        or issubclass(cls, Enum)
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    )


_PLAIN_DATA = (answers, completions, conversations, evidence, passages, queries, records)
"""The modules of plain data whose classes are kept."""


@cache
def _list_api_classes() -> tuple[tuple[str, type], ...]:
    return tuple(
        (name, member)
        for module in _PLAIN_DATA
        for name, member in vars(module).items()
        if isinstance(member, type)
        and member.__module__.startswith("convrag.api.")
        and _is_kept(member)
    )


def encode_reply(reply: Completion, codec: Codec, source: str) -> bytes:
    """Convert a reply of a language model to bytes, with a mended text; where it cannot be kept
    whole, its text.

    It is kept in any case, since it was paid for.

    Args:
        reply: what the model's stage returned.
        codec: of the stage's method.
        source: the stage and its method, for a warning that names what cannot be kept.
    """
    if isinstance(reply.text, str):
        reply = replace(reply, text=mend_surrogates(reply.text))
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
    """Join the two halves of surrogate pairs to characters, and replace single halves by U+FFFD, as
    Unicode says.

    Half a pair is no character: UTF-8 has no form for it, so no file, terminal or server takes it.
    Models give halves where a reply is cut within an emoji.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
