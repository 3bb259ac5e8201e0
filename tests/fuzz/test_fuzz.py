"""Readers cope with whatever run.py found, and with mutations of valid inputs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.targets import TARGETS

FOUND = sorted(Path(__file__).with_name("found").glob("*"))
ODD = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"NaN", b"1e999", b"9" * 5000, b"null", b"true", b"-"]
ODD += [b"[", b"{", b'"', b"\n", b"\t", b"\\u0000", b"\\ud800"]


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name].check(seed)


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


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_ends_well(path: Path) -> None:
    TARGETS[path.name.partition("-")[0]].check(path.read_bytes())
