"""What becomes of a valid file: odd bytes among its own, other values in the place of its own,
another kind of file.
"""

import random
import re
from collections.abc import Iterator

ODD = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"NaN",
    b"1e999",
    b"9" * 5000,
    b"null",
    b"true",
    b"-",
]
ODD += [b"[", b"{", b'"', b"\n", b"\t", b"\\u0000", b"\\ud800"]
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?|[A-Za-z_<>]+')
VALUES = [
    b"9" * 5000,
    b"-1" + b"0" * 400,
    b"1e400",
    b"1e-400",
    b"NaN",
    b"nan",
    b"-Infinity",
    b"inf",
    b"0x1f",
    b"1_0",
]
VALUES += [
    "\u0661".encode(),
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b'"NaN"',
    b'"1e400"',
    b'"' + b"9" * 5000 + b'"',
]
VALUES += [
    b'"\\ud800"',
    b"-0",
    b"1.5",
    b"[[]]",
    b" ",
    b"\n",
    b'"',
    b"\x00",
    b"\xff",
    b'"../../../ESC"',
]


def insert_bytes(data: bytes, chance: random.Random) -> bytes:
    """Odd bytes in up to three places, or in the place of what stands there."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(changed) + 1)
        changed[start : start + chance.choice([0, 0, 1, 3, 20])] = chance.choice([b"", *ODD])
    return bytes(changed)


def replace_values(data: bytes, chance: random.Random) -> bytes:
    """One or two ids, keys, numbers or texts are others."""
    for _ in range(chance.randint(1, 2)):
        if tokens := list(TOKEN.finditer(data)):
            token = chance.choice(tokens)
            data = data[: token.start()] + chance.choice(VALUES) + data[token.end() :]
    return data


def damage_whole(data: bytes) -> Iterator[bytes]:
    """What a text editor, a merge, a full disk or another tool makes of a text file."""
    middle = len(data) // 2
    yield from (
        b"",
        b"\n \n\t\n",
        data[:middle],
        data[middle:],
        data + data,
        data.replace(b"\n", b"\r"),
    )
    yield from (
        data.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + data,
        b"<<<<<<< HEAD\n" + data,
        bytes(range(256)),
    )
    yield from (b"[" * 100_000, b'{"a": ' * 50_000)
