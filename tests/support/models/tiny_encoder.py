"""Saves a tiny encoder of random weights, of an architecture of transformers.

`python tests/support/models/tiny_encoder.py FOLDER bert` keeps the model for a look.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LENGTH = 64
"""Tokens that the model reads."""

_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": LENGTH + 8,  # some architectures begin to count at 2
    "initializer_range": 0.3,  # the usual .02 would leave all vectors nearly equal
}


def save(folder: Path, architecture: str, *, pairs: bool = False) -> None:
    """Save a model in the layout of the Hugging Face hub.

    Args:
        folder: is made.
        architecture: a `model_type` of transformers.
        pairs: whether the model scores pairs of texts; else it embeds texts.
    """
    torch.manual_seed(0)
    tokenizer = _make_tokenizer()
    config = AutoConfig.for_model(
        architecture, vocab_size=len(tokenizer), pad_token_id=0, num_labels=1, **_SIZES
    )
    kind = AutoModelForSequenceClassification if pairs else AutoModel
    kind.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _make_tokenizer() -> PreTrainedTokenizerFast:
    """One token for each byte, and the special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: index for index, word in enumerate([*SPECIAL, *alphabet])}
    letters = Tokenizer(models.BPE(vocabulary, merges=[], unk_token="[UNK]"))
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    special = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    letters.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=letters,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=LENGTH,
        model_input_names=["input_ids", "attention_mask"],
    )


if __name__ == "__main__":
    save(Path(sys.argv[1]), sys.argv[2])
