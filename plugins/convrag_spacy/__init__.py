"""An embedder with the word vectors of a spaCy pipeline (extra `spacy`)."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `embedder=spacy`."""
    register("embedder", "spacy", "convrag_spacy.embedder:SpacyEmbedder")
