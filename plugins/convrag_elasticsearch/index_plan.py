"""The index to build: its name, mapping, settings and ingest pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag_elasticsearch.documents import VECTOR_FIELDS, base_mapping_properties
from convrag_elasticsearch.subquery import Subquery


@dataclass(frozen=True)
class IndexPlan:
    """The index to build.

    Args:
        domain: of the corpus, for messages.
        alias: under which the complete index is searched.
        latest_alias: of the index that was completed last, for people.
        mapping: of the index.
        settings: of the index.
        processors: of the ingest pipeline that each document passes.
        about: a description of the index for people, kept in its mapping.
    """

    domain: str
    alias: str
    latest_alias: str
    mapping: Mapping[str, Any]
    settings: Mapping[str, Any]
    processors: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]


def make_mapping(subqueries: Sequence[Subquery]) -> dict[str, Any]:
    """Make the mapping of an index that these subqueries search."""
    properties = base_mapping_properties()
    for subquery in subqueries:
        properties |= subquery.mapping_properties()
    return {
        "dynamic": "false",
        "_source": {"excludes": VECTOR_FIELDS},
        "properties": properties,
    }


def make_settings(subqueries: Sequence[Subquery], shards: int, replicas: str) -> dict[str, Any]:
    """Make the settings of an index that these subqueries search."""
    settings: dict[str, Any] = {"refresh_interval": "-1", "auto_expand_replicas": replicas}
    if shards != 1:
        settings["number_of_shards"] = shards
    for subquery in subqueries:
        settings |= subquery.index_settings()
    return settings


def list_processors(subqueries: Sequence[Subquery]) -> list[dict[str, Any]]:
    """List the processors that documents pass before they are indexed."""
    return [each for subquery in subqueries for each in subquery.ingest_processors()]
