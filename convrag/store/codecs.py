"""Results as bytes: numpy arrays, plain data and dataclasses, as the store keeps them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from convrag.store.marked_json import CannotBeKept, MarkedJson
from convrag.store.value_classes import find_classes

if TYPE_CHECKING:
    import numpy as np
    from pydantic import TypeAdapter

_MARKED = b"1"
"""The first byte of marked JSON. Data of early versions begin with zlib's own first byte, "x"."""


class Codec:
    """Converts results to bytes and back. Computing and reusing calls return `decode(encode(result))`."""

    def encode(self, value: Any) -> bytes:
        """Convert a result to bytes. Raises CannotBeKept."""
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """Convert bytes back to the result. Damaged data may raise any exception."""
        raise NotImplementedError

    def split(self, rows: Any) -> list[Any]:
        """Split the result of a method that returns a row for each item. Raises CannotBeKept."""
        raise NotImplementedError

    def join(self, rows: Sequence[Any]) -> Any:
        """Join rows, one at least, to what the method returns. Raises ValueError if they do not fit together."""
        raise NotImplementedError


class ArrayCodec(Codec):
    """Converts numpy arrays: their raw bytes in little-endian order, after the shape if the array is no vector.

    A shape takes an odd number of bytes, so its presence shows in the length of the data: numbers take two, four or
    eight bytes each. Vectors of one-byte numbers are therefore kept with their shape, too.

    Args:
        dtype: of the decoded arrays. Lists and arrays of other numbers are converted, if no integer changes thereby.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def encode(self, value: Any) -> bytes:
        array = self._convert(value).astype(self._get_stored_dtype())
        is_plain_vector = array.ndim == 1 and array.itemsize > 1
        return (b"" if is_plain_vector else struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)) + array.tobytes()

    def decode(self, data: bytes) -> Any:
        import numpy as np

        stored = self._get_stored_dtype()
        if stored.itemsize > 1 and len(data) % stored.itemsize == 0:
            return np.frombuffer(data, dtype=stored).astype(self.dtype)
        shape = struct.unpack_from(f"<{data[0]}I", data, offset=1)
        return np.frombuffer(data, dtype=stored, offset=1 + 4 * data[0]).astype(self.dtype).reshape(shape)

    def split(self, rows: Any) -> list[Any]:
        array = self._convert(rows)
        if not array.ndim:
            raise CannotBeKept("", f"one number ({rows!r}) instead of an array")
        return list(array)

    def join(self, rows: Sequence[Any]) -> Any:
        import numpy as np

        return np.stack(rows)

    def _convert(self, value: Any) -> np.ndarray[Any, Any]:
        """Convert to an array of the dtype."""
        import numpy as np

        try:
            array, dtype = np.asarray(value), np.dtype(self.dtype)
        except Exception as error:  # rows of different lengths; a tensor on another device
            raise CannotBeKept("", f"no array ({error})") from error
        if array.dtype.kind not in "biufc":
            raise CannotBeKept("", f"{array.dtype} values, which are no {self.dtype}")
        with np.errstate(all="ignore"):
            converted = array.real.astype(dtype) if dtype.kind != "c" else array.astype(dtype)
        is_exact = dtype.kind in "biu" or array.dtype.kind == "c"
        if is_exact and not np.array_equal(converted, array, equal_nan=dtype.kind == "c"):
            raise CannotBeKept("", f"{array.dtype} values, some of which are no {self.dtype}")
        return converted

    def _get_stored_dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.dtype).newbyteorder("<")


class PlainCodec(Codec):
    """Converts plain data and dataclasses to compressed JSON with marks (see `marked_json`).

    Args:
        method: the method that is marked `@remembered`; data of early versions are read as its annotation says.
        override: the method of the stage's class, whose annotation may name further classes.
    """

    def __init__(self, method: Callable[..., Any], override: Callable[..., Any] | None = None) -> None:
        self.method = method
        self._json = MarkedJson(find_classes(method, override or method))

    def encode(self, value: Any) -> bytes:
        return _MARKED + zlib.compress(self._json.write(value), 1)

    def decode(self, data: bytes) -> Any:
        if data.startswith(_MARKED):
            return self._json.read(zlib.decompress(data[len(_MARKED) :]))
        return _make_adapter(self.method).validate_json(zlib.decompress(data))

    def split(self, rows: Any) -> list[Any]:
        try:
            return list(rows)
        except TypeError as error:
            raise CannotBeKept("", f"{type(rows).__name__} instead of a list") from error

    def join(self, rows: Sequence[Any]) -> Any:
        return list(rows)


@cache
def _make_adapter(method: Callable[..., Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(method)["return"])
