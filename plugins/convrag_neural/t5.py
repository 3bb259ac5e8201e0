"""T5 models that were trained to say "true" or "false" of a prompt: what monoT5 and its relatives have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from convrag import ConvragError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TrueFalseT5:
    """A model with its tokenizer. Not thread-safe: see `LocalModel`.

    Args:
        model: folder or name.
        tokenizer: folder or name.
        device: where the model runs.
        max_length: tokens that are read of a prompt.
        batch_size: prompts that are read at once.

    Raises ConvragError where "true" or "false" are no tokens; else whatever the library raises.
    """

    def __init__(self, model: str, tokenizer: str, *, device: str, max_length: int, batch_size: int) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(tokenizer)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(model).float().to(device).eval()
        self.max_length = max_length
        self.batch_size = batch_size
        self._true, self._false = (self._token(word) for word in ("true", "false"))

    def probabilities(self, prompts: Sequence[str]) -> NDArray[np.float64]:
        """Prompts -> the probability of "true" against "false" as the first token of the reply, in the same order.

        Prompts of similar length go together, so that little is computed for padding.
        """
        ids = [self.tokenizer(prompt, truncation=True, max_length=self.max_length)["input_ids"] for prompt in prompts]
        order = sorted(range(len(ids)), key=lambda index: -len(ids[index]))
        found = np.zeros(len(ids), dtype=np.float64)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            found[batch] = self._read([ids[index] for index in batch])
        return found

    def fit(self, text: str, tokens: int) -> str:
        """As much of a text, from its beginning, as so many tokens hold."""
        read = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ends = [end for _, end in read["offset_mapping"]]
        return text if len(ends) <= tokens else text[: ends[tokens - 1]] if tokens > 0 else ""

    def length(self, text: str) -> int:
        """The number of tokens of a prompt, with the one that ends it."""
        return len(self.tokenizer(text)["input_ids"])

    def _read(self, ids: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        batch = self.tokenizer.pad({"input_ids": list(ids)}, return_tensors="pt").to(self.model.device)
        start = torch.full((len(ids), 1), self.model.config.decoder_start_token_id, device=self.model.device)
        with torch.inference_mode():
            logits = self.model(**batch, decoder_input_ids=start, use_cache=False).logits[:, 0]
            # In double precision: float32 rounds the probabilities of the best texts to 1, and they would be equal.
            pair = logits[:, [self._false, self._true]].double()
            shares: NDArray[np.float64] = torch.softmax(pair, dim=1)[:, 1].cpu().numpy()
        return shares

    def _token(self, word: str) -> int:
        """The token by which the model says a word: the first of those that it is made of."""
        ids = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        if not ids or ids[0] == self.tokenizer.unk_token_id:
            raise ConvragError(f"the tokenizer does not know the word {word!r}: is it that of a T5 model?")
        return int(ids[0])
