"""Mutations of documents: what a disk, a network, a program or an attacker makes of a sound file."""

import io
import random
import re
import zipfile
from collections.abc import Callable, Sequence

_LONGEST = 1_000_000
"""Bytes that a mutated document has at most."""

_NUMBER = re.compile(rb"\d+")
_ELEMENT = re.compile(rb"<([\w:.-]+)[^<>]*?(?:/>|>(?:[^<]*|.{0,2000}?)</\1>)", re.DOTALL)
_ATTRIBUTE = re.compile(rb'([\w:-]+)="([^"]*)"')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[A-Za-z_]+|-?\d+')
_ODD_NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"2147483647",
    b"99999999999",
    b"1e999",
    b"9" * 400,
)
_ODD_BYTES = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"<",
    b">",
    b"&",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
)
_ODD_BYTES += (
    b"\\",
    b"|",
    b"\t",
    b"---\n",
    b"<!--",
    b"]]>",
    b"%",
    b"(",
    b")",
    b"/",
    b"=?",
    b"\n\n",
    b"\x1b",
)

Mutation = Callable[[bytes, random.Random], bytes]


def mutate(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Change a document in one to four ways; of an archive, mostly one of its members.

    Args:
        content: a sound document.
        others: sound documents, of which pieces are put into it.
        chance: decides.
    """
    if content.startswith(b"PK") and chance.random() < 0.75:
        return _mutate_member(content, others, chance)[:_LONGEST]
    return _mutate_bytes(content, others, chance)[:_LONGEST]


def _mutate_bytes(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        way = chance.random()
        if way < 0.1:
            content = _splice(content, chance.choice(others), chance)
        elif way < 0.7 and content.lstrip().startswith(b"<"):
            content = chance.choice(_MARKUP_MUTATIONS)(content, chance)[:_LONGEST]
        else:
            content = chance.choice(_MUTATIONS)(content, chance)[:_LONGEST]
    return content


def _mutate_member(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Change a member of an archive, its name, or leave it out, and pack the archive again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    number = chance.randrange(len(members))
    name, member = members[number]
    way = chance.random()
    if way < 0.8:
        members[number] = (name, _mutate_bytes(member, others, chance))
    elif way < 0.87:
        del members[number]
    elif way < 0.94:
        members[number] = (chance.choice(members)[0] + "x", member)
    else:
        members.append((name + "2", member))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in members:
            info = zipfile.ZipInfo(each)  # of no certain time: a seed has the same bytes each day
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return packed.getvalue()


def _flip_bits(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 3, 30])):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut_end(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _cut_piece(content: bytes, chance: random.Random) -> bytes:
    start, end = _choose_piece(content, chance)
    return content[:start] + content[end:]


def _double_piece(content: bytes, chance: random.Random) -> bytes:
    """Repeat a piece, sometimes thousands of times."""
    start, end = _choose_piece(content, chance)
    times = chance.choice([2, 2, 2, 10, 1_000, 30_000])
    piece = content[start:end]
    most = _LONGEST // max(1, len(piece))
    return content[:start] + piece * min(times, most) + content[end:]


def _move_piece(content: bytes, chance: random.Random) -> bytes:
    start, end = _choose_piece(content, chance)
    piece = content[start:end]
    rest = content[:start] + content[end:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + piece + rest[place:]


def _insert_odd_bytes(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    odd = chance.choice(_ODD_BYTES) * chance.choice([1, 1, 1, 5, 5_000])
    return content[:place] + odd + content[place:]


def _change_number(content: bytes, chance: random.Random) -> bytes:
    """Put another number in the place of one: a length, a span, an offset."""
    numbers = list(_NUMBER.finditer(content))
    if not numbers:
        return content
    number = chance.choice(numbers)
    return content[: number.start()] + chance.choice(_ODD_NUMBERS) + content[number.end() :]


def _change_encoding(content: bytes, chance: random.Random) -> bytes:
    text = content.decode("latin-1")
    encoding = chance.choice(["utf-16", "utf-8", "utf-7", "cp037", "utf-32-be"])
    return text.encode(encoding, "replace")


def _exchange_tokens(content: bytes, chance: random.Random) -> bytes:
    """Put one word, text or number in the place of another."""
    tokens = list(_TOKEN.finditer(content[:100_000]))
    if not tokens:
        return content
    place, taken = chance.choice(tokens), chance.choice(tokens)
    return content[: place.start()] + taken[0] + content[place.end() :]


def _delete_element(content: bytes, chance: random.Random) -> bytes:
    found = _choose(_ELEMENT, content, chance)
    return content[: found.start()] + content[found.end() :] if found else content


def _double_element(content: bytes, chance: random.Random) -> bytes:
    """Repeat an element, sometimes thousands of times."""
    found = _choose(_ELEMENT, content, chance)
    if not found:
        return content
    times = min(chance.choice([2, 2, 10, 3_000]), _LONGEST // len(found[0]))
    return content[: found.start()] + found[0] * times + content[found.end() :]


def _nest_element(content: bytes, chance: random.Random) -> bytes:
    """Put an element into elements of its own name, or of another, sometimes thousands deep."""
    found = _choose(_ELEMENT, content, chance)
    other = _choose(_ELEMENT, content, chance)
    if not found or not other:
        return content
    times = chance.choice([1, 1, 5, 200, 5_000])
    inner = b"<" + other[1] + b">"
    nested = inner * times + found[0] + inner.replace(b"<", b"</") * times
    return content[: found.start()] + nested + content[found.end() :]


def _move_element(content: bytes, chance: random.Random) -> bytes:
    """Put a copy of an element before another one."""
    found = _choose(_ELEMENT, content, chance)
    other = _choose(_ELEMENT, content, chance)
    if not found or not other:
        return content
    return content[: other.start()] + found[0] + content[other.start() :]


def _change_attribute(content: bytes, chance: random.Random) -> bytes:
    found = _choose(_ATTRIBUTE, content, chance)
    if not found:
        return content
    value = chance.choice([*_ODD_NUMBERS, b"", b"x", b"x" * 5_000, b"#REF", b"../../x"])
    return content[: found.start(2)] + value + content[found.end(2) :]


def _choose(
    pattern: re.Pattern[bytes], content: bytes, chance: random.Random
) -> re.Match[bytes] | None:
    """Choose a match at or after a place by chance."""
    return pattern.search(content, chance.randrange(len(content) + 1))


def _splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Put a piece of another document into this one."""
    start, end = _choose_piece(other, chance)
    place = chance.randrange(len(content) + 1)
    return content[:place] + other[start:end] + content[place:]


def _choose_piece(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    length = chance.choice([1, 4, 20, 100, len(content)])
    return start, min(len(content), start + length)


_MUTATIONS: tuple[Mutation, ...] = (
    _flip_bits,
    _cut_end,
    _cut_piece,
    _double_piece,
    _double_piece,
    _move_piece,
    _insert_odd_bytes,
    _change_number,
    _change_number,
    _change_encoding,
    _exchange_tokens,
    _exchange_tokens,
)
_MARKUP_MUTATIONS: tuple[Mutation, ...] = (
    _delete_element,
    _double_element,
    _double_element,
    _nest_element,
    _move_element,
    _change_attribute,
    _change_attribute,
)
"""Mutations that leave XML mostly well-formed."""
