"""Chunkers: they cut documents into passages.

The lengths of passages are in tokens as `tokens` counts them, an estimate that needs no tokenizer.
The default of 200 leaves room for the title below the 256 tokens that most models for embeddings
read.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the chunkers."""
    register("chunker", "markdown", "convrag_chunkers.section_chunker:SectionChunker")
    register("chunker", "sentences", "convrag_chunkers.sentences:SentenceChunker")
    register("chunker", "tokens", "convrag_chunkers.tokens:TokenChunker")
    register("chunker", "pages", "convrag_chunkers.sentences:PageChunker")
    register("chunker", "none", "convrag_chunkers.sentences:NoChunker")
