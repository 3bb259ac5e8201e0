"""Natural language inference: whether a premise entails a hypothesis."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from convrag import ConvragError
from convrag_metrics.bert import limit, quietly


class Nli:
    """A cross-encoder with a class for entailment.

    Args:
        folder: the model's files.
        device: where it runs.

    Raises:
        ConvragError: it cannot be loaded, or none of its classes is called entailment.
    """

    def __init__(self, folder: str, device: str) -> None:
        try:
            with quietly():
                self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
                model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True)
        except Exception as error:  # the libraries below raise whatever they like
            raise ConvragError(f"the model {folder!r} cannot be loaded: {error}") from error
        labels = {str(name).lower(): int(number) for number, name in model.config.id2label.items()}
        if "entailment" not in labels:
            raise ConvragError(f"the model {folder!r} knows no entailment ({', '.join(labels)}): choose an NLI model")
        self.entailment = labels["entailment"]
        self.model = model.to(device).eval()
        self.device = device
        self._limit = limit(self.tokenizer, model.config)
        self._lock = threading.Lock()

    def supports(self, case: tuple[str, Sequence[str]]) -> bool:
        """Whether entailment is the likeliest class for one of the texts, or for all of them in a row.

        A text that is too long for the model is cut, never the sentence.
        """
        sentence, texts = case
        return any(self._entails(premise, sentence) for premise in _premises(texts))

    def _entails(self, premise: str, hypothesis: str) -> bool:
        with self._lock, torch.inference_mode():
            encoded = self.tokenizer(
                premise, hypothesis, truncation="only_first", max_length=self._limit, return_tensors="pt"
            )
            logits = self.model(**encoded.to(self.device)).logits[0]
        return int(logits.argmax()) == self.entailment


def _premises(texts: Sequence[str]) -> Iterable[str]:
    yield from texts
    if len(texts) > 1:
        yield "\n".join(texts)
