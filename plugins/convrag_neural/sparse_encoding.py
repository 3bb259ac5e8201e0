"""Texts as weighted tokens: by a learned sparse model, or by a file of token weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import ConvragError, DataError, Turn
from convrag_neural.local_model import LocalModelStage, find_device

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SparseEncoder


class Tokens(NamedTuple):
    """The weighted tokens of texts.

    Args:
        rows: (p,) the place of the text, rising.
        numbers: (p,) the number of the token in the model's vocabulary.
        weights: (p,) its weight in the text, above 0.
    """

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    weights: NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class SparseModelStage(LocalModelStage["SparseEncoder"]):
    """A stage with a model of sentence-transformers' SparseEncoder.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: where the model runs.
    """

    def _load_model(self, source: str) -> SparseEncoder:
        from sentence_transformers import SparseEncoder

        return SparseEncoder(source, revision=self.revision, device=find_device(self.device))

    def encode_tokens(self, texts: Sequence[str], batch_size: int, *, is_query: bool) -> Tokens:
        """Encode texts as queries, or as documents."""
        with self._locked_model() as model:
            encode = model.encode_query if is_query else model.encode_document
            encoded = encode(
                list(texts), batch_size=batch_size, show_progress_bar=False, save_to_cpu=True
            )
            matrix = encoded.coalesce()
        rows, numbers = matrix.indices().numpy()
        weights = matrix.values().float().numpy()
        counts = weights > 0
        return Tokens(rows[counts], numbers[counts], weights[counts])

    def split_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Split texts into the numbers of their tokens, without special tokens ([CLS], [SEP])."""
        with self._locked_model() as model:
            tokenizer: Any = model.tokenizer
            split = tokenizer(list(texts), add_special_tokens=False, truncation=True)["input_ids"]
            special = set(tokenizer.all_special_ids)
        return [[number for number in numbers if number not in special] for numbers in split]

    def read_vocabulary(self) -> dict[str, int]:
        """Return the number of each token."""
        with self._locked_model() as model:
            tokenizer: Any = model.tokenizer
            vocabulary: dict[str, int] = tokenizer.get_vocab()
        return vocabulary


def check_vocabularies(documents: SparseModelStage, queries: SparseModelStage) -> None:
    """Raise ConvragError unless both models have the same tokens under the same numbers."""
    if documents.read_vocabulary() != queries.read_vocabulary():
        raise ConvragError(
            f"the models {documents.model!r} and {queries.model!r} have different vocabularies, so "
            "that a token of a query has no place in the passages: choose a query_model that was "
            "trained for the model of the passages (its card names it)"
        )


class TokenWeights:
    """The weight of each token of a query, for models that encode documents alone.

    A query's token counts once, with its weight, and special tokens do not count, as in
    OpenSearch's document-only models, which bring such a file.

    Args:
        path: `idf.json`, an object {"kettle": 9.1}, or `query_token_weights.txt`, with a token, a
            tab and its weight in each line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._by_number: dict[int, float] | None = None

    def read(self) -> dict[str, float]:
        """Read the file. Raises DataError where it is missing or has another format."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"the file cannot be read ({error})", path=self.path) from error
        if self.path.suffix == ".json":
            return self._parse_json(text)
        return self._parse_lines(text)

    def encode(self, model: SparseModelStage, texts: Sequence[str]) -> Tokens:
        """Encode queries with the tokenizer of a model, without running the model."""
        import numpy as np

        weights = self._find_numbers(model)
        found = [
            (row, number, weights[number])
            for row, numbers in enumerate(model.split_texts(texts))
            for number in sorted(set(numbers))
            if number in weights
        ]
        rows, tokens, values = np.array(found, dtype=np.float64).reshape(-1, 3).T
        return Tokens(rows.astype(np.int64), tokens.astype(np.int64), values.astype(np.float32))

    def _find_numbers(self, model: SparseModelStage) -> dict[int, float]:
        """Find the number of each token that has a weight. Raises DataError where none is known."""
        if self._by_number is None:
            vocabulary = model.read_vocabulary()
            known = {
                vocabulary[token]: weight
                for token, weight in self.read().items()
                if token in vocabulary and weight > 0
            }
            if not known:
                raise DataError(
                    f"the model {model.model!r} has none of these tokens: take the file that "
                    "belongs to the model",
                    path=self.path,
                )
            self._by_number = known
        return self._by_number

    def _parse_json(self, text: str) -> dict[str, float]:
        try:
            given = json.loads(text)
        except ValueError as error:
            raise DataError(f"this is not JSON ({error})", path=self.path) from error
        if not isinstance(given, Mapping):
            raise DataError('an object is expected: {"kettle": 9.1}', path=self.path)
        return {token: self._parse_weight(token, weight) for token, weight in given.items()}

    def _parse_lines(self, text: str) -> dict[str, float]:
        weights = {}
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            token, tab, weight = line.partition("\t")  # a token may contain spaces
            if not tab:
                problem = "a line is a token, a tab and its weight"
                raise DataError(problem, path=self.path, line=number)
            weights[token] = self._parse_weight(token, weight, number)
        return weights

    def _parse_weight(self, token: str, weight: object, line: int | None = None) -> float:
        try:
            value = float(weight)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            problem = f"the weight of {token!r} is no number: {weight!r}"
            raise DataError(problem, path=self.path, line=line)
        return value


def keep_heaviest(tokens: Tokens, most: int | None) -> Tokens:
    """Keep the heaviest tokens of each text; of equal ones, those with the lowest numbers."""
    import numpy as np

    if most is None or not len(tokens.rows):
        return tokens
    order = np.lexsort((tokens.numbers, -tokens.weights, tokens.rows))
    rows = tokens.rows[order]
    starts = np.searchsorted(rows, rows, side="left")
    ranks = np.arange(len(rows)) - starts
    kept = np.sort(order[ranks < most])
    return Tokens(tokens.rows[kept], tokens.numbers[kept], tokens.weights[kept])


def flatten_conversation(
    history: Sequence[Turn], question: str, *, newest_first: bool, separator: str
) -> str:
    """Write a conversation as one text, for an encoder that reads it whole.

    Newest first it is the question, the last answer, the last question, and so on, so that an
    encoder that reads so many tokens leaves out the oldest.
    """
    texts = [text for turn in history for text in (turn.question, turn.answer)]
    texts.append(question)
    if newest_first:
        texts.reverse()
    return separator.join(text for text in texts if text)
