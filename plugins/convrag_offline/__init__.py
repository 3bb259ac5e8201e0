"""Options that need no key, no model and no network.

* `extractive`: `llm=extractive`: quotes sentences and copies words in place of a language model.
* `quoting`: its task "answer": windows of the passages, each with its citation.
* `rewriting`: its task "rewrite": the question and words of the history.
* `nuggets`: its tasks "nuggets" and "summarize": sentences with the query's words.
* `embedders`: `embedder=lsa` and `embedder=words`: LSA of the corpus, and hashed words.
* `lsa_model`: the model of `embedder=lsa`.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register(
        "llm",
        "extractive",
        "convrag_offline.extractive:ExtractiveLLM",
        "Quote passages, and rewrite with words of the history: no language model, no "
        "key, no cost.",
    )
    register(
        "embedder",
        "lsa",
        "convrag_offline.embedders:LsaEmbedder",
        "Embed texts by latent semantic analysis of the run's corpus: no model to download.",
    )
    register(
        "embedder",
        "words",
        "convrag_offline.embedders:WordsEmbedder",
        "Embed texts by their content words: the more words two texts share, the nearer they are.",
    )
