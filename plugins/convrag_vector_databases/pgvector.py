"""`retriever=pgvector`: vectors and passages in PostgreSQL with the extension vector."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Interval

from convrag import ConfigError, Hit, Passage, operational
from convrag.sdk.search.filters import AllOf, AnyOf, Condition, Span, Terms, Without
from convrag.sdk.secrets import redact, redact_address
from convrag_vector_databases.retriever import VectorDatabaseRetriever
from convrag_vector_databases.vector_database import (
    VectorDatabase,
    describe_fields,
    describe_passage,
    read_bounds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_URL = "PGVECTOR_URL"


@dataclass(kw_only=True, eq=False)
class PgvectorRetriever(VectorDatabaseRetriever):
    """Search by meaning in PostgreSQL with the extension vector (pgvector), with any embedder.

    A passage counts with its title and text; its score is the cosine. PGVECTOR_URL is the
    database's address ("postgresql://user@host/database"), PGPASSWORD may have the password. A
    table for each domain is built at the first search, or by task=index, and searched by a view, so
    that a new one takes its place without a gap.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of passages and queries.
        store: whose locks keep two commands from building one table at the same time.
        vectors: "exact" compares all vectors, "hnsw" follows a graph: faster, and misses some
            passages.
        m: neighbours of a passage in the graph. Default: pgvector's.
        ef_construction: candidates while the graph is built, at least twice `m`. Default:
            pgvector's.
        ef_search: candidates of a search: more find more and take longer. Default: pgvector's.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
        prefix: the beginning of each table's name.
        batch_size: passages that are embedded and sent at once, and lost when the process is
            killed.
    """

    libraries = ("numpy", "pgvector", "psycopg")
    requires: ClassVar = {"pgvector": "convrag[pgvector]", "psycopg": "convrag[pgvector]"}
    env_vars = (_URL,)

    vectors: Literal["exact", "hnsw"] = "exact"
    m: Annotated[int, Interval(ge=2, le=100)] = 16
    ef_construction: Annotated[int, Interval(ge=4, le=1000)] = 64
    ef_search: Annotated[int, Interval(ge=1, le=1000)] = 40
    batch_size: Annotated[int, operational, Ge(1)] = 1024

    @property
    def index_settings(self) -> str:
        """Return the parameters of a graph, in SQL; empty without one."""
        if self.vectors == "exact":
            return ""
        return f"m = {self.m}, ef_construction = {self.ef_construction}"

    def check(self) -> Iterator[str]:
        if not os.environ.get(_URL):
            yield (
                f"retriever=pgvector: set {_URL} to a database of PostgreSQL: "
                "postgresql://user@host/database"
            )

    def endpoints(self) -> Sequence[str]:
        url = os.environ.get(_URL)
        return [redact_address(url)] if url else []

    def open_database(self) -> VectorDatabase:
        return Pgvector(os.environ.get(_URL, ""), self.index_settings, self.ef_search)


_ADVICE = (
    ("is not available", "Install pgvector on the server (Debian: postgresql-16-pgvector)"),
    (
        "permission denied to create extension",
        "Let an administrator run CREATE EXTENSION vector in this database",
    ),
    ("password", "Set PGPASSWORD"),
    ("permission denied", "Its user must be allowed to create tables there"),
    ("does not exist", "Make it there, or correct the address"),
    (
        "dimensions",
        "The embedder's vectors must be as long as those of the table, and at most 2,000 long for "
        "hnsw",
    ),
)
"""Parts of PostgreSQL's messages, and what to do."""

_UNREACHABLE = "See that the server runs, and can be reached from this machine"

_MAX_CANDIDATES = 1000
"""The most candidates that pgvector takes."""


class Pgvector(VectorDatabase):
    """Tables of a PostgreSQL server, over one connection, which is opened anew where it was lost.

    Args:
        url: the address of the database.
        graph: the parameters of HNSW in SQL; empty for an exact search.
        ef_search: candidates of a search in the graph.
    """

    def __init__(self, url: str, graph: str, ef_search: int) -> None:
        # store.url has SQLAlchemy's form of an address.
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._graph = graph
        self._ef_search = ef_search
        self._lock = threading.Lock()
        self._connection: Any = None

    def find(self, alias: str) -> str:
        (row,) = self._run("SELECT obj_description(to_regclass(%s), 'pg_class')", alias)
        return row[0] or ""

    def create(self, table: str, width: int) -> None:
        columns = f"id text PRIMARY KEY, passage jsonb NOT NULL, vector vector({width})"
        self._run(f"CREATE TABLE IF NOT EXISTS {table} ({columns}, fields jsonb)")
        # A table of an interrupted build may be older than fields
        self._run(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS fields jsonb")

    def fetch(self, table: str, ids: Sequence[str]) -> list[Passage]:
        rows = self._run(f"SELECT passage FROM {table} WHERE id = ANY(%s)", list(ids))
        return [Passage(**fields) for (fields,) in rows]

    def add(self, table: str, passages: Sequence[Passage], rows: NDArray[np.float32]) -> None:
        from psycopg.types.json import Jsonb

        values = [
            (passage.id, Jsonb(describe_passage(passage)), row, Jsonb(describe_fields(passage)))
            for passage, row in zip(passages, rows, strict=True)
        ]
        with self._open() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {table} VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", values
            )

    def count(self, table: str) -> int:
        ((count,),) = self._run(f"SELECT count(*) FROM {table}")
        return int(count)

    def publish(self, alias: str, table: str) -> None:
        if self._graph:
            self._run(
                f"CREATE INDEX IF NOT EXISTS {table[-40:]}_i ON {table} "
                f"USING hnsw (vector vector_ip_ops) WITH ({self._graph})"
            )
        rows = self._run(
            "SELECT tablename FROM pg_tables "
            "WHERE schemaname = current_schema() AND starts_with(tablename, %s)",
            f"{alias}_",
        )
        old = [name for (name,) in rows if name != table]
        with self._open() as connection, connection.transaction():
            connection.execute(f"DROP VIEW IF EXISTS {alias}")
            connection.execute(f"CREATE VIEW {alias} AS SELECT * FROM {table}")
            connection.execute(f"COMMENT ON VIEW {alias} IS '{table}'")
            for name in old:
                connection.execute(f"DROP TABLE {name}")

    def has_fields(self, alias: str) -> bool:
        columns = self._run(
            "SELECT 1 FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = %s AND column_name = 'fields'",
            alias,
        )
        return bool(columns) and bool(
            self._run(f"SELECT 1 FROM {alias} WHERE fields ? 'terms' LIMIT 1")
        )

    def search(
        self, alias: str, vector: NDArray[np.float32], k: int, condition: Condition | None = None
    ) -> list[Hit]:
        where = "true"
        values: list[Any] = []
        if condition is not None:
            where, values = write_condition(condition)
        # A search in the graph finds no more passages than it has candidates.
        candidates = min(max(self._ef_search, k), _MAX_CANDIDATES)
        with self._open() as connection, connection.transaction():
            connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(candidates)])
            if condition is not None:
                # The graph would give its candidates first, of which the filter leaves too few
                connection.execute("SET LOCAL enable_indexscan = off")
            rows = connection.execute(
                f"SELECT passage, -(vector <#> %s) FROM {alias} "
                f"WHERE {where} ORDER BY vector <#> %s LIMIT %s",
                [vector, *values, vector, k],
            ).fetchall()
        return [Hit(Passage(**fields), float(score)) for fields, score in rows]

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._open() as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Give the connection to one thread. Raises ConfigError that says what to do."""
        import psycopg

        try:
            with self._lock:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connect()
                yield self._connection
        except psycopg.Error as error:
            raise self._explain(error) from None

    def _connect(self) -> Any:
        """Open a connection, with the extension in its database. Raises psycopg.Error."""
        import psycopg
        from pgvector.psycopg import register_vector

        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
        weakref.finalize(self, connection.close)
        found = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone()
        if not found:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        return connection

    def _explain(self, error: Any) -> ConfigError:
        """Make a ConfigError of a database's, without the password, that says what to do."""
        import psycopg

        reason = " ".join(str(error).split()).rstrip(".")
        tip = _find_advice(reason)
        if not tip and isinstance(error, psycopg.OperationalError):
            tip = _UNREACHABLE
        password = psycopg.conninfo.conninfo_to_dict(self._url).get("password")
        reason = redact(reason, str(password)) if password else redact(reason)
        place = f"{_URL}={redact_address(self._url)}"
        message = f"retriever=pgvector: {place} cannot be used: {reason}."
        return ConfigError(f"{message} {tip}." if tip else message)


def write_condition(condition: Condition) -> tuple[str, list[Any]]:
    """Write a condition on the column `fields` in SQL, with its parameters. It is never null."""
    match condition:
        case Terms(name, keys):
            terms = [f"{name}={key}" for key in keys]
            return "coalesce(fields->'terms' ?| %s, false)", [terms]
        case Span():
            return _write_span(condition)
        case Without(part):
            where, values = write_condition(part)
            return f"NOT {where}", values
        case AllOf(parts) | AnyOf(parts):
            written = [write_condition(part) for part in parts]
            word = " AND " if isinstance(condition, AllOf) else " OR "
            where = word.join(text for text, _ in written)
            return f"({where})", [value for _, values in written for value in values]


def _write_span(span: Span) -> tuple[str, list[Any]]:
    place, low, high = read_bounds(span)
    bounds = []
    values: list[Any] = [place, span.field]
    if low is not None:
        bounds.append(f"value::float8 {'>=' if span.includes_low else '>'} %s")
        values.append(low)
    if high is not None:
        bounds.append(f"value::float8 {'<=' if span.includes_high else '<'} %s")
        values.append(high)
    rows = "jsonb_array_elements_text(fields->%s::text->%s::text) AS value"
    return f"EXISTS (SELECT 1 FROM {rows} WHERE {' AND '.join(bounds)})", values


def _find_advice(reason: str) -> str:
    """Find what to do about one of PostgreSQL's messages; empty for an unknown one."""
    for part, advice in _ADVICE:
        if part in reason:
            return advice
    return ""
