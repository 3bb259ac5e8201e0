"""The base of monoT5 and duoT5: a T5 that answers a prompt with "true" or "false"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from convrag import ConvragError, Ranker
from convrag.sdk.model_files import find_local_folder, identify_model
from convrag_neural.batches import make_batches
from convrag_neural.local_model import LocalModelStage, find_device
from convrag_neural.model_problems import find_revision, find_tokenizer_problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class T5Ranker(LocalModelStage["TrueFalseT5"], Ranker):
    """A ranker with a T5 that says "true" or "false" of a prompt.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        tokenizer: likewise; None takes the model's own.
        device: where the model runs: auto, cpu, cuda, cuda:1, mps, xpu.
        max_length: tokens of a prompt that are read.
        batch_size: the most prompts that are read at once.
        batch_tokens: the most tokens that are read at once, padding included; None does not limit
            them.
    """

    requires: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("torch", "transformers", "sentencepiece", "google.protobuf"), "convrag[neural]"
    )

    def __init__(
        self,
        *,
        model: str,
        tokenizer: str | None,
        device: str,
        max_length: int,
        batch_size: int,
        batch_tokens: int | None = None,
    ) -> None:
        super().__init__(model=model, device=device)
        self.tokenizer = tokenizer or model
        self.max_length = max_length
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens

    def check(self) -> Iterator[str]:
        """Say what is wrong where the model or its tokenizer is missing, or cannot be read."""
        yield from super().check()
        problem = find_tokenizer_problem(self.tokenizer, self.model)
        if problem:
            yield problem

    def content_hash(self) -> str:
        """Hash the files of model and tokenizer, or name their commits."""
        return super().content_hash() + (self.tokenizer_revision or identify_model(self.tokenizer))

    @cached_property
    def tokenizer_revision(self) -> str | None:
        """Return the commit of a tokenizer on the hub; None for a folder."""
        return self.revision if self.tokenizer == self.model else find_revision(self.tokenizer)

    def _load_model(self, source: str) -> TrueFalseT5:
        return TrueFalseT5(source, self)


class TrueFalseT5:
    """A model with its tokenizer. Not thread-safe: see `LocalModelStage`.

    Args:
        source: folder or name of the model.
        ranker: says where the tokenizer is and the model runs, and how much is read at once.

    Raises:
        ConvragError: "true" or "false" is not in the tokenizer's vocabulary. The libraries raise
            errors of their own.
    """

    def __init__(self, source: str, ranker: T5Ranker) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        tokenizer = str(find_local_folder(ranker.tokenizer) or ranker.tokenizer)
        self.tokenizer = AutoTokenizer.from_pretrained(
            tokenizer, revision=ranker.tokenizer_revision
        )
        model = AutoModelForSeq2SeqLM.from_pretrained(source, revision=ranker.revision)
        self.model = model.float().to(find_device(ranker.device)).eval()
        self.max_length = ranker.max_length
        self.batch_size = ranker.batch_size
        self.batch_tokens = ranker.batch_tokens
        self._true = self._first_token("true")
        self._false = self._first_token("false")

    def predict_probabilities(self, prompts: Sequence[str]) -> NDArray[np.float64]:
        """Read prompts: (n,) probabilities that a reply begins with "true" rather than "false".

        Prompts of similar length are batched together, so that little is computed for padding.
        """
        import numpy as np

        ids = [
            self.tokenizer(prompt, truncation=True, max_length=self.max_length)["input_ids"]
            for prompt in prompts
        ]
        found = np.zeros(len(ids), dtype=np.float64)
        for batch in make_batches([len(each) for each in ids], self.batch_size, self.batch_tokens):
            found[batch] = self._read_batch([ids[index] for index in batch])
        return found

    def truncate(self, text: str, tokens: int) -> str:
        """Cut a text after its first `tokens` tokens."""
        read = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ends = [end for _, end in read["offset_mapping"]]
        if len(ends) <= tokens:
            return text
        if tokens <= 0:
            return ""
        return text[: ends[tokens - 1]]

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a prompt, the end-of-sequence token included."""
        return len(self.tokenizer(text)["input_ids"])

    def _read_batch(self, ids: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        import torch

        batch = self.tokenizer.pad({"input_ids": list(ids)}, return_tensors="pt").to(
            self.model.device
        )
        start = torch.full(
            (len(ids), 1), self.model.config.decoder_start_token_id, device=self.model.device
        )
        with torch.inference_mode():
            logits = self.model(**batch, decoder_input_ids=start, use_cache=False).logits[:, 0]
            # In double precision: float32 would round the probabilities of the best texts to 1.
            pair = logits[:, [self._false, self._true]].double()
            shares: NDArray[np.float64] = torch.softmax(pair, dim=1)[:, 1].cpu().numpy()
        return shares

    def _first_token(self, word: str) -> int:
        """Find the first token of a word, which stands for the word in the reply."""
        ids = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        if not ids or ids[0] == self.tokenizer.unk_token_id:
            raise ConvragError(
                f"the tokenizer does not know the word {word!r}: is it a T5 model's?"
            )
        return int(ids[0])
