"""Whether a text entails a sentence, by a cross-encoder."""

import threading
from collections.abc import Iterable, Sequence

import torch
from transformers import AutoModelForSequenceClassification

from convrag import ConvragError
from convrag_metrics.pretrained import find_max_length, load_pretrained


class EntailmentModel:
    """A cross-encoder with a class for entailment. May be used by several threads.

    Args:
        folder: the model's files.
        device: where it runs: cpu, cuda, mps.

    Raises:
        ConvragError: it cannot be loaded, or none of its classes is called entailment.
    """

    def __init__(self, folder: str, device: str) -> None:
        self.tokenizer, self.model = load_pretrained(folder, AutoModelForSequenceClassification, device)
        labels = {str(name).lower(): int(number) for number, name in self.model.config.id2label.items()}
        if "entailment" not in labels:
            raise ConvragError(f"the model {folder!r} knows no entailment ({', '.join(labels)}): choose an NLI model")
        self.entailment = labels["entailment"]
        self.device = device
        self._max_length = find_max_length(self.tokenizer, self.model.config)
        self._lock = threading.Lock()

    def is_supported(self, case: tuple[str, Sequence[str]]) -> bool:
        """Whether entailment is the likeliest class of a sentence for one of the texts, or for all of them in a row.

        A text that is too long for the model is truncated, the sentence never.
        """
        sentence, texts = case
        return any(self._entails(premise, sentence) for premise in _list_premises(texts))

    def _entails(self, premise: str, hypothesis: str) -> bool:
        with self._lock, torch.inference_mode():
            encoded = self.tokenizer(
                premise, hypothesis, truncation="only_first", max_length=self._max_length, return_tensors="pt"
            )
            logits = self.model(**encoded.to(self.device)).logits[0]
        return int(logits.argmax()) == self.entailment


def _list_premises(texts: Sequence[str]) -> Iterable[str]:
    yield from texts
    if len(texts) > 1:
        yield "\n".join(texts)
