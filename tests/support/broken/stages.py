"""Stages that break what every stage promises: a docstring, types, a key, a seed, no state, a
fingerprint.
"""

import itertools
import random
import socket
import time
from collections.abc import Iterator
from typing import Any

from broken.noting import breaks
from convrag import Rewrite, Rewriter
from convrag.api.stage import Stage
from sound import SoundRanker, SoundRewriter


@breaks("test_it_is_a_stage_of_its_group")
class OfNoGroup(Stage):
    """Rewrites, and is no rewriter."""

    libraries = ("sound",)  # a module of its own, as it were

    def rewrite(self, question: Any) -> Rewrite:
        return SoundRewriter().rewrite(question)


@breaks("test_it_says_what_it_is")
class Silent(Rewriter):
    libraries = ("sound",)  # a module of its own, as it were

    def rewrite(self, question: Any) -> Rewrite:
        return SoundRewriter().rewrite(question)


@breaks("test_it_says_what_it_is")
class Rambling(SoundRanker):
    """Begins a sentence that
    goes on in the second line.
    """


@breaks("test_it_explains_its_parameters")
class Unexplained(SoundRanker):
    """Has a parameter.

    Args:
        other: is another one.
    """

    def __init__(self, *, strength: int = 1) -> None:
        self.strength = strength


@breaks("test_it_becomes_an_option")
class Untyped(SoundRanker):
    """Has a parameter of no type.

    Args:
        strength: how much.
    """

    def __init__(self, *, strength=1) -> None:  # type: ignore[no-untyped-def]
        self.strength = strength


@breaks("test_it_becomes_an_option")
class Anything(SoundRanker):
    """Takes whatever it is given."""

    def __init__(self, **options: int) -> None:
        self.options = options


@breaks("test_nothing_is_missing")
class Keyless(SoundRanker):
    """Lacks a key."""

    def check(self) -> Iterator[str]:
        yield "ACME_KEY is not set: export it"


@breaks("test_it_is_deterministic")
class Counting(SoundRanker):
    """Scores higher each time."""

    def __init__(self) -> None:
        self.calls = itertools.count()

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) + next(self.calls)


@breaks("test_it_is_deterministic")
class Seedless(SoundRanker):
    """Draws its weights anew for each object."""

    def __init__(self) -> None:
        self.weight = random.random()

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) * self.weight


@breaks("test_threads_may_share_it")
class Forgetful(SoundRanker):
    """Keeps what belongs to a call in itself."""

    def score(self, query: str, texts: Any) -> Any:
        self.left = list(texts)
        scores = []
        while self.left:
            time.sleep(0.0005)
            scores.append(float(super().score(query, [self.left.pop(0)] if self.left else [""])[0]))
        return (
            SoundRanker().score("", texts) + scores
            if len(scores) == len(texts)
            else SoundRanker().score("", [])
        )


@breaks("test_it_stays_offline")
class Calling(SoundRanker):
    """Asks a server, and does not mind that there is none."""

    def score(self, query: str, texts: Any) -> Any:
        with socket.socket() as asking:
            asking.connect_ex(("127.0.0.1", 9))
        return super().score(query, texts)


@breaks("test_its_fingerprint_follows_its_parameters")
class Nameless(SoundRanker):
    """Says each time that it has read something else."""

    def content_hash(self) -> str:
        return str(time.perf_counter_ns())
