"""The settings that all retrievers on a cluster share, and their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from convrag import ConfigError

OnFailure = Literal["go_on", "stop"]

_FORBIDDEN_CHARACTERS = '\\/*?"<>| ,#:'


@dataclass(frozen=True)
class FusionSettings:
    """How rankings are fused; see ElasticsearchRetriever for the parameters."""

    rrf_k: int
    depth: int


@dataclass(frozen=True)
class OperationSettings:
    """How indexes are kept, and how requests are sent; see ElasticsearchRetriever for the parameters."""

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

    @classmethod
    def pick(cls, parameters: Mapping[str, Any]) -> OperationSettings:
        """Pick the settings from among all parameters of a retriever, by their names."""
        return cls(**{each.name: parameters[each.name] for each in fields(cls)})


def check_ranges(option: str, **numbers: tuple[float, float]) -> None:
    """Raise ConfigError for a number below its minimum: name=(value, minimum)."""
    for name, (value, minimum) in numbers.items():
        if value < minimum:
            raise ConfigError(f"retriever={option}: {name}={value} makes no sense; it must be at least {minimum:g}.")


def check_settings(option: str, fusion: FusionSettings, operation: OperationSettings) -> None:
    """Raise ConfigError for a number out of its range, and for a prefix that no index's name may have."""
    check_ranges(
        option,
        rrf_k=(fusion.rrf_k, 0),
        depth=(fusion.depth, 1),
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
    if (
        not prefix
        or prefix != prefix.lower()
        or prefix[0] in "-_+."
        or any(character in _FORBIDDEN_CHARACTERS for character in prefix)
    ):
        raise ConfigError(
            f"retriever={option}: prefix={prefix!r} cannot begin an index's name: take lower-case letters and digits."
        )
