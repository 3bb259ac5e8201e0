"""What differs between search engines: their clients, and how they index and search vectors and weighted tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.errors import Failure

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

Body = dict[str, Any]
"""The body of a search request: `query` or `knn`, with what belongs to it."""

VectorIndexType = Literal["hnsw", "int8_hnsw", "flat"]


class Engine(ABC):
    """A search engine: its own client sends the requests, which are the same for all but for what is here."""

    name: ClassVar[str]
    """As its makers write it."""
    option: ClassVar[str]
    """The retriever that searches with it."""
    prefix: ClassVar[str]
    """How its environment variables begin."""
    variables: ClassVar[Sequence[str]]
    """The rest of their names."""
    example: ClassVar[str]
    """How to set the address, for messages."""
    has_endpoints: ClassVar[bool] = False
    """Whether it makes tokens of texts itself, by inference endpoints."""

    def read_connection(self) -> Connection:
        """Read the environment variables."""
        return Connection.from_environment(self.prefix, self.variables, self.example)

    def list_variables(self) -> tuple[str, ...]:
        """List its environment variables."""
        return tuple(f"{self.prefix}_{name}" for name in self.variables)

    @abstractmethod
    def connect(self, connection: Connection, timeout: float) -> Any:
        """Create a client for all threads; it sends nothing yet.

        Where a connection fails, it tries the other nodes at once. All other retries are the caller's.
        """

    @abstractmethod
    def send(self, client: Any, method: str, path: str, body: bytes | None, media: str) -> Any:
        """Send one request by the client; return the reply as plain data. Raises what the client raises."""

    @abstractmethod
    def read_failure(self, error: Exception) -> Failure | None:
        """Read an error that the client raised; None where it is none of the client's."""

    @abstractmethod
    def find_other_engine(self, about: Mapping[str, Any]) -> str:
        """Say what to choose instead, where the reply to `GET /` is another engine's; empty where it is this one's."""

    @abstractmethod
    def build_vector_field(self, dimensions: int, kind: VectorIndexType) -> dict[str, Any]:
        """Build the mapping of the field with a passage's vector."""

    def build_vector_settings(self, kind: VectorIndexType) -> dict[str, Any]:
        """Build the settings of an index with vectors."""
        return {}

    @abstractmethod
    def build_vector_search(self, vector: Sequence[float], size: int, candidates: int, kind: VectorIndexType) -> Body:
        """Build the search for the nearest neighbours of a vector."""

    token_field: ClassVar[Mapping[str, str]]
    """The mapping of the field with a passage's tokens."""

    @abstractmethod
    def build_token_query(self, tokens: Mapping[str, float], *, prune: bool, plugins: frozenset[str]) -> Body:
        """Build the query that scores passages by the dot product of their tokens' weights with these."""

    def list_plugins(self, cluster: Cluster) -> frozenset[str]:
        """List the plugins of the cluster that bear on queries."""
        return frozenset()
