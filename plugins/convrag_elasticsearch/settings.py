"""What can be set about every retriever on a cluster, and what of it makes sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from convrag import ConfigError

Fusion = Literal["auto", "server", "client"]
OnFailure = Literal["go_on", "stop"]

_FORBIDDEN = '\\/*?"<>| ,#:'


@dataclass(frozen=True)
class Fusing:
    """How several rankings become one; see ElasticsearchRetriever for the parameters."""

    rrf_k: int
    depth: int
    fusion: Fusion = "client"


@dataclass(frozen=True)
class Operation:
    """What concerns operation alone; see ElasticsearchRetriever for the parameters."""

    prefix: str
    shards: int
    replicas: str
    timeout: float
    retries: int
    retry_seconds: float
    window: float
    batch: int
    on_failure: OnFailure
    threads: int
    chunk: int
    chunk_bytes: int
    index_timeout: float


def check_ranges(option: str, **numbers: tuple[float, float]) -> None:
    """Raise ConfigError for a number below its least: name=(value, least)."""
    for name, (value, least) in numbers.items():
        if value < least:
            raise ConfigError(f"retriever={option}: {name}={value} makes no sense; it must be at least {least:g}.")


def check_settings(option: str, fusing: Fusing, operation: Operation) -> None:
    """Raise ConfigError for what makes no sense."""
    check_ranges(
        option,
        rrf_k=(fusing.rrf_k, 0),
        depth=(fusing.depth, 1),
        shards=(operation.shards, 1),
        timeout=(operation.timeout, 0.001),
        retries=(operation.retries, 0),
        retry_seconds=(operation.retry_seconds, 0),
        window=(operation.window, 0),
        batch=(operation.batch, 1),
        threads=(operation.threads, 1),
        chunk=(operation.chunk, 1),
        chunk_bytes=(operation.chunk_bytes, 1),
        index_timeout=(operation.index_timeout, 0.001),
    )
    prefix = operation.prefix
    if not prefix or prefix != prefix.lower() or prefix[0] in "-_+." or any(sign in _FORBIDDEN for sign in prefix):
        raise ConfigError(
            f"retriever={option}: prefix={prefix!r} cannot begin an index's name: take lower-case letters and digits."
        )
