"""The base of monoT5 and duoT5: a T5 model whose tokenizer may be kept apart from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from convrag import Ranker
from convrag.sdk.model_files import find_local_folder, identify_model
from convrag_neural.devices import find_device
from convrag_neural.local_model import LocalModelStage
from convrag_neural.model_files import find_revision, find_tokenizer_problem

if TYPE_CHECKING:
    from convrag_neural.t5 import TrueFalseT5


class T5Ranker(LocalModelStage["TrueFalseT5"], Ranker):
    """A ranker with a T5 that says "true" or "false" of a prompt.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        tokenizer: likewise; None takes the model's own.
        device: where the model runs: auto, cpu, cuda, cuda:1, mps, xpu.
        max_length: tokens of a prompt that are read.
        batch_size: the most prompts that are read at once.
        batch_tokens: the most tokens that are read at once, padding included; None does not limit them.
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
        super().__init__(model, device)
        self.tokenizer = tokenizer or model
        self.max_length = max_length
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens

    def check(self) -> Iterator[str]:
        """Say what is wrong where the model or its tokenizer is missing, or cannot be read."""
        yield from super().check()
        if problem := find_tokenizer_problem(self.tokenizer, self.model):
            yield problem

    def content_hash(self) -> str:
        """Hash the files of model and tokenizer, or name their commits: with others in their place it is another."""
        return super().content_hash() + (self.tokenizer_revision or identify_model(self.tokenizer))

    @cached_property
    def tokenizer_revision(self) -> str | None:
        """The commit of a tokenizer on the hub; None for a folder."""
        return self.revision if self.tokenizer == self.model else find_revision(self.tokenizer)

    def _load_model(self, source: str) -> TrueFalseT5:
        from convrag_neural.t5 import TrueFalseT5

        return TrueFalseT5(
            source,
            str(find_local_folder(self.tokenizer) or self.tokenizer),
            revision=self.revision,
            tokenizer_revision=self.tokenizer_revision,
            device=find_device(self.device),
            max_length=self.max_length,
            batch_size=self.batch_size,
            batch_tokens=self.batch_tokens,
        )
