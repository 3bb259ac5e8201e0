"""Contracts of the stages that work on texts: chunkers, embedders and clusterers."""

from typing import Any

from convrag.api.conversations import Question
from convrag.api.documents import Document, Heading
from convrag.api.stage import Embedder
from convrag.testing.call_contract import CallContract
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, TEXTS, rotate_passages


class ChunkerContract(CallContract):
    """A chunker cuts documents into passages that know their place in it."""

    group = "chunker"
    method = "chunk"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"document": _make_document(steps - 1)}

    def odd_inputs(self) -> list[dict[str, Any]]:
        long = [
            "é" * 5_000,
            "茶は八十度で入れる。" * 300,
            "👩‍👩‍👧 " * 500,
            "\n" * 2_000 + "tea",
            "one. " * 2_000,
        ]
        odd_headings = tuple(Heading(place, 6 - place, "") for place in (0, 0, 1, 2))
        inputs = []
        for number, text in enumerate([*ODD_TEXTS, *BLANK_TEXTS, *long]):
            for headings in ((), odd_headings):
                document = Document(f"odd-{number}.txt", text, headings=headings)
                inputs.append({"document": document})
        return inputs

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Each passage is a span of the document with a text; they are in its order.

        A blank document has no passages.
        """
        document = arguments["document"]
        has_words = any(map(str.isalpha, document.text))
        assert result or not has_words, "a document with words has passages"
        for passage in result:
            metadata = passage.metadata
            assert metadata.get("document") == document.id, (
                "metadata['document'] is its id: use convrag.sdk.data.document_passages"
            )
            span = document.text[metadata.get("start") : metadata.get("end")]
            assert passage.text == span, "metadata has the place of the text in the document"
            assert passage.text.strip(), "a passage has a text"
        starts = [passage.metadata["start"] for passage in result]
        assert starts == sorted(starts), "passages come in the order of the document"

    def test_passages_have_ids_of_their_own(self) -> None:
        documents = [_make_document(0), _make_document(1)]
        ids = [passage.id for document in documents for passage in self.make().chunk(document)]
        is_unique = len(ids) == len(set(ids))
        assert is_unique, "two documents of a corpus need passages with different ids"


class EmbedderContract(CallContract):
    """An embedder makes n unit vectors of n texts."""

    group = "embedder"
    method = "embed"

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"texts": _list_texts(asked, steps), "query": asked.number == 2}

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [
            {"texts": [*ODD_TEXTS, *BLANK_TEXTS, *ODD_TEXTS]},
            {"texts": []},
            {"texts": [TEXTS[0]]},
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """One row for each text, of unit length or zero."""
        import numpy as np

        lengths = np.linalg.norm(result, axis=1)
        is_unit = np.isclose(lengths, 1, atol=1e-4)
        assert result.dtype == np.float32
        assert result.ndim == 2
        assert len(result) == len(arguments["texts"]), "each text gets a row"
        assert np.all(is_unit | (lengths == 0)), "rows have unit length"

    def test_a_row_does_not_depend_on_its_neighbours(self) -> None:
        import numpy as np

        stage = self.make()
        alone = np.concatenate([stage.embed([text]) for text in TEXTS])
        assert alone.any(), "every row is zero"
        assert np.allclose(alone, stage.embed(list(TEXTS)), atol=1e-5)


class ClustererContract(CallContract):
    """A clusterer gives n texts n labels: 0, 1, ... and -1 for outliers."""

    group = "clusterer"
    method = "cluster"

    def embedder(self) -> Embedder:
        """Make the embedder for the clusterer; this one counts letters."""
        return LetterEmbedder()

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        return {"texts": _list_texts(asked, steps), "embedder": self.embedder()}

    def odd_inputs(self) -> list[dict[str, Any]]:
        numbered = [[f"{TEXTS[i % 4]} {i}" for i in range(n)] for n in (0, 1, 2, 3, 4, 5, 10, 40)]
        odd = [[*ODD_TEXTS, *BLANK_TEXTS, *ODD_TEXTS], list(BLANK_TEXTS), [TEXTS[0]] * 6]
        return [{"texts": texts, "embedder": self.embedder()} for texts in (*numbered, *odd)]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """One label for each text; none is left out, and -1 is an outlier."""
        import numpy as np

        assert result.shape == (len(arguments["texts"]),), "each text gets a label"
        assert np.issubdtype(result.dtype, np.integer)
        clusters = set(result.tolist()) - {-1}
        assert clusters == set(range(len(clusters))), f"the labels are {sorted(clusters)}"


class LetterEmbedder(Embedder):
    """An embedder for tests, which counts the letters of a text."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        """Embed texts as (n, 26) unit vectors; a text without letters from a to z gives zeros."""
        import numpy as np

        counts = [[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _list_texts(asked: Question, steps: int) -> list[str]:
    """List a question, the earlier questions and answers, and the sample texts in another order."""
    history = [text for turn in asked.history for text in (turn.question, turn.answer)]
    samples = [passage.text for passage in rotate_passages(steps)]
    return [asked.text, *history, *samples]


def _make_document(number: int) -> Document:
    """Make one of many different documents about tea, with headings and pages."""
    steps = number % len(TEXTS)
    text = ""
    headings = []
    pages = []
    for place, paragraph in enumerate([*TEXTS[steps:], *TEXTS[:steps]]):
        title = f"Part {number + place}"
        filling = "It is said of tea. " * (number * place)
        headings.append(Heading(len(text), 1 + min(place, 2), title))
        pages.append(len(text))
        text += f"# {title}\n\n{paragraph} {filling}\n\n"
    return Document(f"tea/{number}.md", text, "Tea", headings=tuple(headings), pages=tuple(pages))
