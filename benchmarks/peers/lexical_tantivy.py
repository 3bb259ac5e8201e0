"""tantivy in memory, one thread, lower-case words without English stop words.

Its k1=1.2 and b=.75 are fixed.
"""

import tantivy

from searching import FOUND, measure

_BUDGET = 512 * 2**20
"""Bytes that the writer may fill before it writes a segment."""


def build(texts: list[str]) -> tuple[tantivy.Index, tantivy.Searcher]:
    """Index texts, and wait for the writer."""
    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("place", stored=True)
    schema.add_text_field("text", tokenizer_name="words")
    index = tantivy.Index(schema.build())
    analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    analyser = analyser.filter(tantivy.Filter.lowercase()).filter(
        tantivy.Filter.stopword("english")
    )
    index.register_tokenizer("words", analyser.build())
    writer = index.writer(_BUDGET, 1)
    for place, text in enumerate(texts):
        writer.add_document(tantivy.Document(place=place, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index, index.searcher()


def search(opened: tuple[tantivy.Index, tantivy.Searcher], query: str) -> list[int]:
    """The best passages. What its grammar cannot read is left out of the query."""
    index, searcher = opened
    parsed, _ = index.parse_query_lenient(query, ["text"])
    hits = searcher.search(parsed, FOUND).hits
    return [searcher.doc(address)["place"][0] for _, address in hits]


if __name__ == "__main__":
    measure(build, search)
