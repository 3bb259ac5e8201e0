"""Readers cope with whatever run.py found, and with mutations of valid inputs."""

import random
import re
from pathlib import Path

import pytest

from fuzz.document_readers import DOCUMENT_READERS
from fuzz.file_readers import FILE_READERS
from fuzz.published_readers import PUBLISHED_READERS
from fuzz.targets import TARGETS

FOUND = sorted(Path(__file__).with_name("found").glob("*"))
ODD = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"NaN", b"1e999", b"9" * 5000, b"null", b"true", b"-"]
ODD += [b"[", b"{", b'"', b"\n", b"\t", b"\\u0000", b"\\ud800"]


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name].read(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_end_well(name: str) -> None:
    chance = random.Random(name)
    for seed in TARGETS[name].seeds:
        for _ in range(60):
            data = bytearray(seed)
            for _ in range(chance.randint(1, 3)):
                start = chance.randrange(len(data) + 1)
                data[start : start + chance.choice([0, 0, 1, 3, 20])] = chance.choice([b"", *ODD])
            TARGETS[name].check(bytes(data))


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?|[A-Za-z_<>]+')
VALUES = [b"9" * 5000, b"-1" + b"0" * 400, b"1e400", b"1e-400", b"NaN", b"nan", b"-Infinity", b"inf", b"0x1f", b"1_0"]
VALUES += ["\u0661".encode(), b"null", b"true", b"[]", b"{}", b'""', b'"NaN"', b'"1e400"', b'"' + b"9" * 5000 + b'"']
VALUES += [b'"\\ud800"', b"-0", b"1.5", b"[[]]", b" ", b"\n", b'"', b"\x00", b"\xff"]
SLOW = {
    "preset": 2,
    "rubric": 60,
    "template": 60,
    **dict.fromkeys(DOCUMENT_READERS, 20),
}  # files that take milliseconds


@pytest.mark.parametrize("name", FILE_READERS | PUBLISHED_READERS | DOCUMENT_READERS)
def test_values_in_the_place_of_others_end_well(name: str) -> None:
    """Some thousands of files in which one or two ids, numbers or texts are others, of 5,000 digits for instance."""
    chance = random.Random(name)
    for seed in TARGETS[name].seeds:
        for _ in range(SLOW.get(name, 100)):
            data = seed
            for _ in range(chance.randint(1, 2)):
                if tokens := list(TOKEN.finditer(data)):
                    token = chance.choice(tokens)
                    data = data[: token.start()] + chance.choice(VALUES) + data[token.end() :]
            TARGETS[name].check(data)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_ends_well(path: Path) -> None:
    TARGETS[path.name.partition("-")[0]].check(path.read_bytes())
