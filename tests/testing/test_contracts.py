"""The contracts find what they are for: a sound stage of each kind passes, and each broken one
fails just one check.
"""

import math
import sys
import threading
from dataclasses import replace
from typing import Any
from unittest import SkipTest

import pytest

import broken
import heavy
import sound
from convrag import Hit, testing
from convrag.api.groups import GROUPS, options_group
from convrag.testing.libraries import block_network
from convrag.testing.threads import call_from_threads

CONTRACTS: dict[str, type[testing.StageContract]] = {
    contract.group: contract
    for name in vars(testing)
    if name.endswith("Contract") and hasattr(contract := getattr(testing, name), "group")
}


def make_contract(group: str, cls: type, name: str = "Under") -> type[testing.StageContract]:
    """Make a test class as a plugin's author would write it."""
    members = {"make": lambda self: cls(), "overrides": (), "__module__": __name__}
    return type(name, (CONTRACTS[group],), members)


BROKEN = [("ranker", heavy.Heavy, "test_its_module_is_light"), *broken.BROKEN]
SOUND = {
    group: next(c for n, c in vars(sound).items() if n.lower() == f"sound{group}")
    for group in CONTRACTS
}
IN_NEW_PROCESS: dict[type, type[testing.StageContract]] = {
    cls: make_contract(group, cls, f"Under{cls.__name__}")
    for group, cls in [
        *SOUND.items(),
        *(
            (group, cls)
            for group, cls, check in BROKEN
            if check == "test_a_new_process_gives_the_same"
        ),
    ]
}
globals().update(
    {contract.__name__: contract for contract in IN_NEW_PROCESS.values()}
)  # a new process looks here


def failing(group: str, cls: type) -> list[str]:
    """The checks of a group's contract that a class does not pass. A new process costs time, so few
    are asked there.
    """
    contract = IN_NEW_PROCESS.get(cls, make_contract(group, cls))
    failed = []
    for name in dir(contract):
        if name.startswith("test_"):
            try:
                getattr(contract(), name)()
            except SkipTest:
                continue
            except Exception:  # an assertion, or whatever the stage raised
                failed.append(name)
    return failed


def test_every_stage_has_a_contract() -> None:
    assert set(CONTRACTS) == {options_group(group) for group in GROUPS}


@pytest.mark.parametrize("group", sorted(CONTRACTS))
def test_a_sound_stage_passes(group: str) -> None:
    assert failing(group, SOUND[group]) == []


@pytest.mark.parametrize(
    ("group", "cls", "check"), BROKEN, ids=[cls.__name__ for _, cls, _ in BROKEN]
)
def test_a_broken_stage_fails_the_one_check(group: str, cls: type, check: str) -> None:
    assert failing(group, cls) == [check]


@pytest.mark.parametrize("group", sorted(CONTRACTS))
def test_each_check_is_there_for_a_reason(group: str) -> None:
    """There is a broken stage for each of them; for what all stages promise, one of any group."""
    common = {name for name in dir(testing.CallContract) if name.startswith("test_")}
    checks = {name for name in dir(CONTRACTS[group]) if name.startswith("test_")}
    assert common <= {check for _, _, check in BROKEN}
    assert checks - common == {check for of, _, check in BROKEN if of == group} - common


def test_this_machine_may_be_asked_where_it_is_the_business() -> None:
    import socket

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        block_network(allow_loopback=True) as asked,
    ):
        socket.create_connection(server.getsockname()).close()
        with pytest.raises(OSError, match="no network in this test"):
            socket.create_connection(("192.0.2.1", 80))
    assert asked == ["192.0.2.1", "192.0.2.1"][: len(asked)]


def test_make_must_make(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = sound.SoundRanker()
    contract: Any = type("Under", (testing.RankerContract,), {"make": lambda self: kept})()
    with pytest.raises(AssertionError, match="make\\(\\) must call SoundRanker"):
        contract.test_its_fingerprint_follows_its_parameters()


class Infinite(sound.SoundRetriever):
    """Has numbers and tuples that JSON has not."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        metadata = {"most": math.inf, "none": math.nan, "tags": ("tea", ("hot",))}
        found = super().retrieve(queries, k)
        return [
            Hit(replace(hit.passage, metadata=metadata), math.inf if n == 0 else hit.score)
            for n, hit in enumerate(found)
        ]


def test_infinities_and_tuples_come_back_from_the_store() -> None:
    assert failing("retriever", Infinite) == []


def test_threads_under_a_tracer_are_left_to_it() -> None:
    def trace(*_: object) -> None:
        return None

    threading.settrace(trace)  # as coverage does
    try:
        assert call_from_threads([sys.gettrace] * 2, {__name__}) == [trace] * 2
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
