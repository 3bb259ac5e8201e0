"""Readers cope with whatever run.py found, and with mutations of valid inputs."""

import random
from pathlib import Path

import pytest

from fuzz.document_readers import DOCUMENT_READERS
from fuzz.file_readers import FILE_READERS
from fuzz.mutations import insert_bytes, replace_values
from fuzz.published_readers import PUBLISHED_READERS
from fuzz.targets import TARGETS

FOUND = sorted(Path(__file__).with_name("found").glob("*"))
TRIES = {"preset": 10, "rubric": 60, "template": 60, **dict.fromkeys(DOCUMENT_READERS, 20)}
"""How often those are tried that take milliseconds."""


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name].read(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_end_well(name: str) -> None:
    chance = random.Random(name)
    for seed in TARGETS[name].seeds:
        for _ in range(TRIES.get(name, 60)):
            TARGETS[name].check(insert_bytes(seed, chance))


@pytest.mark.parametrize("name", FILE_READERS | PUBLISHED_READERS | DOCUMENT_READERS)
def test_values_in_the_place_of_others_end_well(name: str) -> None:
    """Some thousands of files in which one or two ids, numbers or texts are others, of 5,000 digits
    for instance.
    """
    chance = random.Random(name)
    for seed in TARGETS[name].seeds:
        for _ in range(TRIES.get(name, 100)):
            TARGETS[name].check(replace_values(seed, chance))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_ends_well(path: Path) -> None:
    TARGETS[path.name.partition("-")[0]].check(path.read_bytes())
