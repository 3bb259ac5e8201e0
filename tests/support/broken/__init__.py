"""Stages that break one promise each: the name of the check that must find it stands beside it.

* `stages`: stages that break what every stage promises: a docstring, types, a key, a seed, no
  state, a fingerprint.
* `calls`: stages that break what the calls of every stage promise: threads, order, unchanged
  arguments and results.
* `processes`: stages whose results another process, or the store, does not give again.
* `fingerprints`: stages whose fingerprint does not cover what they depend on.
* `rewriters`: rewriters that break a promise of theirs.
* `choosing`: memories, searches and selectors that break a promise of theirs.
* `searching`: retrievers and rankers that break a promise of theirs.
* `vectors`: embedders and clusterers that break a promise of theirs.
* `chunking`: chunkers that break a promise of theirs.
* `answering`: contexts and generators that break a promise of theirs.
* `nuggets`: detectors and summarizers that break a promise of theirs.
* `models`: language models that break a promise of theirs.
* `runs`: data sets, metrics, trackers and tasks that break a promise of theirs.
* `noting`: notes each of them.
"""

from broken import (
    answering,
    calls,
    choosing,
    chunking,
    fingerprints,
    models,
    nuggets,
    processes,
    rewriters,
    runs,
    searching,
    stages,
    vectors,
)
from broken.noting import BROKEN

__all__ = [
    "BROKEN",
    "answering",
    "calls",
    "choosing",
    "chunking",
    "fingerprints",
    "models",
    "nuggets",
    "processes",
    "rewriters",
    "runs",
    "searching",
    "stages",
    "vectors",
]
