"""Contracts of the stages that represent texts: embedders and clusterers."""

from __future__ import annotations

from typing import Any

from convrag.api.models import Embedder
from convrag.api.types import Question
from convrag.testing.calls import CallContract
from convrag.testing.conversations import questions, rotate_passages
from convrag.testing.samples import BLANK_TEXTS, ODD_TEXTS, TEXTS


class EmbedderContract(CallContract):
    """An embedder makes n unit vectors of n texts."""

    group = "embedder"
    method = "embed"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"texts": _list_texts(n, each), "query": each.number == 2} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"texts": [*ODD_TEXTS, *BLANK_TEXTS, *ODD_TEXTS]}]

    def test_rows_have_unit_length(self) -> None:
        import numpy as np

        rows = self.make().embed(list(TEXTS))
        lengths = np.linalg.norm(rows, axis=1)
        assert rows.dtype == np.float32
        assert rows.shape[0] == len(TEXTS)
        assert np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0))
        assert lengths.any(), "every row is zero"

    def test_any_number_of_texts(self) -> None:
        stage = self.make()
        width = stage.embed([TEXTS[0]]).shape[1]
        assert stage.embed([]).shape == (0, width)
        assert stage.embed([TEXTS[0], TEXTS[1]], query=True).shape == (2, width)

    def test_odd_texts_get_rows_too(self) -> None:
        import numpy as np

        rows = self.make().embed([*ODD_TEXTS, *BLANK_TEXTS])
        assert len(rows) == len(ODD_TEXTS) + len(BLANK_TEXTS)
        assert np.isfinite(rows).all(), "a row has a value that is no finite number"

    def test_a_row_does_not_depend_on_its_neighbours(self) -> None:
        import numpy as np

        stage = self.make()
        alone = np.concatenate([stage.embed([text]) for text in TEXTS])
        assert np.allclose(alone, stage.embed(list(TEXTS)), atol=1e-5)


class ClustererContract(CallContract):
    """A clusterer gives n texts n labels: 0, 1, ... and -1 for outliers."""

    group = "clusterer"
    method = "cluster"

    def embedder(self) -> Embedder:
        """Make the embedder for the clusterer; this one counts letters."""
        return LetterEmbedder()

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [
            [{"texts": _list_texts(n, each), "embedder": self.embedder()} for each in asked]
            for n, asked in enumerate(questions())
        ]

    def odd_inputs(self) -> list[dict[str, Any]]:
        return [{"texts": [*ODD_TEXTS, *BLANK_TEXTS, *ODD_TEXTS], "embedder": self.embedder()}]

    def test_any_number_of_texts(self) -> None:
        import numpy as np

        stage = self.make()
        for n in (0, 1, 2, 3, 4, 5, 10, 40):
            labels = stage.cluster([f"{TEXTS[i % 4]} {i}" for i in range(n)], self.embedder())
            assert labels.shape == (n,)
            assert np.issubdtype(labels.dtype, np.integer)

    def test_labels_count_from_0(self) -> None:
        """No label is left out; -1 is an outlier."""
        stage = self.make()
        for n in (1, 4, 12):
            labels = stage.cluster([f"{TEXTS[i % 4]} {i}" for i in range(n)], self.embedder()).tolist()
            clusters = set(labels) - {-1}
            assert clusters == set(range(len(clusters))), f"the labels are {sorted(set(labels))}"

    def test_identical_texts_do_no_harm(self) -> None:
        assert self.make().cluster([TEXTS[0]] * 6, self.embedder()).shape == (6,)

    def test_odd_texts_do_no_harm(self) -> None:
        texts = [*ODD_TEXTS, *BLANK_TEXTS]
        assert self.make().cluster(texts, self.embedder()).shape == (len(texts),)
        assert self.make().cluster(list(BLANK_TEXTS), self.embedder()).shape == (len(BLANK_TEXTS),)


class LetterEmbedder(Embedder):
    """An embedder for tests, which counts the letters of a text."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        """Embed texts as (n, 26) unit vectors; a text without letters from a to z gives zeros."""
        import numpy as np

        counts = [[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), 26)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _list_texts(number: int, asked: Question) -> list[str]:
    """List a question, the earlier questions and answers, and the sample texts in an order of their own."""
    said = [text for turn in asked.history for text in (turn.question, turn.answer)]
    return [asked.text, *said, *(passage.text for passage in rotate_passages(number + asked.number))]
