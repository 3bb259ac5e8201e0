"""Results as bytes: numpy arrays, plain data and dataclasses, as the store keeps them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    import numpy as np
    from pydantic import TypeAdapter


class Codec:
    """Converts results to bytes and back."""

    def encode(self, value: Any) -> bytes:
        """Convert a result to bytes."""
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """Convert bytes back to the result."""
        raise NotImplementedError


class ArrayCodec(Codec):
    """Converts numpy arrays: their raw bytes in little-endian order, after the shape if the array is no vector.

    A shape takes an odd number of bytes, so its presence shows in the length of the data: numbers take two, four or
    eight bytes each. Vectors of one-byte numbers are therefore kept with their shape, too.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def encode(self, value: Any) -> bytes:
        import numpy as np

        array = np.asarray(value, dtype=self._get_stored_dtype())
        is_plain_vector = array.ndim == 1 and array.itemsize > 1
        return (b"" if is_plain_vector else struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)) + array.tobytes()

    def decode(self, data: bytes) -> Any:
        import numpy as np

        stored = self._get_stored_dtype()
        if stored.itemsize > 1 and len(data) % stored.itemsize == 0:
            return np.frombuffer(data, dtype=stored).astype(self.dtype)
        shape = struct.unpack_from(f"<{data[0]}I", data, offset=1)
        return np.frombuffer(data, dtype=stored, offset=1 + 4 * data[0]).astype(self.dtype).reshape(shape)

    def _get_stored_dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.dtype).newbyteorder("<")


class PlainCodec(Codec):
    """Converts plain data and dataclasses to compressed JSON, and back as the method's return annotation says."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def encode(self, value: Any) -> bytes:
        return zlib.compress(_make_adapter(self.method).dump_json(value), 1)

    def decode(self, data: bytes) -> Any:
        return _make_adapter(self.method).validate_json(zlib.decompress(data))


@cache
def _make_adapter(method: Callable[..., Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(method)["return"])
