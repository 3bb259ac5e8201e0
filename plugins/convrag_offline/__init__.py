"""What runs with no key, no model and no network."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("llm", "extractive", "convrag_offline.extractive:ExtractiveLLM")
    register("embedder", "lsa", "convrag_offline.embedders:LsaEmbedder")
    register("embedder", "words", "convrag_offline.embedders:WordsEmbedder")
