"""Chunkers: they cut documents into passages.

* `section_chunker`: the sections of a document.
* `sentences`: whole sentences, pages, or whole documents.
* `tokens`: windows of a fixed length, and the measure of length that all chunkers use.
* `table_rows`: finds rows of tables, which stay whole.

The lengths of passages are in tokens as `tokens` counts them, an estimate that needs no tokenizer.
The default of 200 leaves room for the title below the 256 tokens that most models for embeddings
read.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the chunkers."""
    register(
        "chunker",
        "markdown",
        "convrag_chunkers.section_chunker:SectionChunker",
        "Make a passage of each section, with the path of its headings as title.",
    )
    register(
        "chunker",
        "sentences",
        "convrag_chunkers.sentences:SentenceChunker",
        "Fill each passage with whole sentences, wherever headings and pages begin.",
    )
    register(
        "chunker",
        "tokens",
        "convrag_chunkers.tokens:TokenChunker",
        "Cut windows of a fixed number of tokens, between two words: the baseline of many papers.",
    )
    register(
        "chunker",
        "pages",
        "convrag_chunkers.sentences:PageChunker",
        "Make a passage of each page or slide, so that a citation is a page; a blank one "
        "is left out.",
    )
    register(
        "chunker",
        "none",
        "convrag_chunkers.sentences:NoChunker",
        "Keep each document whole, as one passage: for short documents, such as FAQs.",
    )
