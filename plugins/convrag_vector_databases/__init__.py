"""Search by vectors in a database that people have: Qdrant, and PostgreSQL with pgvector.

* `retriever`: the base of both: builds a table for each domain, and searches it.
* `vector_database`: the interface of a database.
* `qdrant`: the option for Qdrant.
* `pgvector`: the option for PostgreSQL with pgvector.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register(
        "retriever",
        "pgvector",
        "convrag_vector_databases.pgvector:PgvectorRetriever",
        "Search by meaning in PostgreSQL with the extension vector (pgvector), with any embedder.",
    )
    register(
        "retriever",
        "qdrant",
        "convrag_vector_databases.qdrant:QdrantRetriever",
        "Search by meaning in Qdrant, with any embedder: in a folder of the store, or on a server.",
    )
