"""The names and aliases of indexes, and the complete index that an alias stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from convrag_elasticsearch.cluster import Cluster

META = "convrag"
"""The key under `_meta` of a mapping where an index is described."""

_NO_INDEX: Mapping[str, Any] = {}
_FINGERPRINT_LENGTH = 16
_MAX_DOMAIN_LENGTH = 80


class CompleteIndex(NamedTuple):
    """An index that was completed: how many passages it had then, and how many it has now."""

    name: str
    passages: int
    current_passages: int

    @property
    def intact(self) -> bool:
        """Whether it has lost no passages since."""
        return self.passages == self.current_passages


def find_index(cluster: Cluster, alias: str) -> CompleteIndex | None:
    """Find the index that an alias stands for; None where there is none yet. Raises ClusterError."""
    states = cluster.request(lambda client: client.indices.get(index=alias), if_missing=_NO_INDEX)
    for index, state in states.items():
        about = state["mappings"].get("_meta", {}).get(META, {})
        count = int(cluster.request(lambda client: client.count(index=alias))["count"])
        return CompleteIndex(index, int(about.get("passages", -1)), count)
    return None


def build_alias(prefix: str, domain: str, kind: str, fingerprint: str) -> str:
    """Build the alias under which a complete index is searched: it stands for one corpus and one set of settings."""
    return f"{build_latest_alias(prefix, domain, kind)}-{fingerprint[:_FINGERPRINT_LENGTH]}"


def build_latest_alias(prefix: str, domain: str, kind: str) -> str:
    """Build the alias of the index of a kind that was completed last. It is for people; searches do not use it."""
    return f"{prefix}-{_sanitise_domain(domain)}-{kind}"


def build_index_name(alias: str, generation: int) -> str:
    """Build the name of an index. Generation 2 replaces generation 1 where that was damaged, and so on."""
    return f"{alias}-{generation}"


def parse_generation(index: str) -> int:
    """Read the generation, from 1 on, from the name of an index; 0 for a name that is not one of ours."""
    number = index.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _sanitise_domain(domain: str) -> str:
    """Keep lower-case ASCII letters, digits and underscores. Two domains may become one; their fingerprints differ."""
    return re.sub(r"[^a-z0-9_]+", "_", domain.lower())[:_MAX_DOMAIN_LENGTH] or "_"
