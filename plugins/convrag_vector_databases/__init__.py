"""Search by vectors in a database that people have: Qdrant, and PostgreSQL with pgvector.

* retriever: what both share: a table of vectors and passages for each domain, its build, its
  resumption, its publishing
* qdrant; pgvector: how each database does it
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
