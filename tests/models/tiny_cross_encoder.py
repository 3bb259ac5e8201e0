"""Trains a cross-encoder of some 300 kB, in seconds, to prefer the passage that is about what the query is about.

Queries and passages are filler words with the name of a subject among them; a passage is relevant where it is the same.
`python tests/models/tiny_cross_encoder.py FOLDER` keeps the model for a look.
"""

import random
import sys
from collections import deque
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

SUBJECTS = ["kettle", "copper", "comet", "harbour", "violin", "glacier", "pepper", "tunnel", "orchid", "turbine"]
FILLERS = [
    "the",
    "a",
    "of",
    "in",
    "and",
    "is",
    "was",
    "with",
    "for",
    "from",
    "made",
    "old",
    "new",
    "large",
    "small",
    "often",
    "near",
    "seen",
    "said",
    "found",
    "kept",
    "under",
    "over",
    "some",
    "many",
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = 6
"""Length of a passage."""
STEPS, SHORT_STEPS = 2000, 100


def passage(subject: str, chance: random.Random, words: int = WORDS) -> str:
    """Fillers in a random order, with the subject somewhere among them."""
    chosen = chance.sample(FILLERS, words)
    chosen[chance.randrange(words)] = subject
    return " ".join(chosen)


def query(subject: str, chance: random.Random) -> str:
    """The subject and a filler, in either order."""
    return passage(subject, chance, 2)


def train(folder: Path, seed: int = 0, loss_wanted: float = 0.005) -> None:
    """Train and save, in the layout of the Hugging Face hub. Short passages come first: the longer ones are easy then.

    Numbers that are too small for a normal float (denormal) would make training slow without end, so they become 0.

    Raises:
        RuntimeError: it does not learn.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(seed)
    try:
        tokenizer = _tokenizer()
        model = BertForSequenceClassification(_config(len(tokenizer)))
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0)
        chance = random.Random(seed)
        lately: deque[float] = deque([1.0], maxlen=10)
        for step in range(STEPS):
            pairs, labels = _batch(chance, 64, WORDS if step > SHORT_STEPS else 1)
            logits = model(**tokenizer(*pairs, padding=True, return_tensors="pt")).logits[:, 0]
            loss = binary_cross_entropy_with_logits(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            lately.append(loss.item())
            if step > 2 * SHORT_STEPS and max(lately) < loss_wanted:
                break
        else:
            raise RuntimeError(f"after {STEPS} steps the loss is {max(lately)}")
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _batch(chance: random.Random, size: int, words: int) -> tuple[tuple[list[str], list[str]], torch.Tensor]:
    """As many relevant passages as others, in turn."""
    queries, passages = [], []
    for index in range(size):
        asked, other = chance.sample(SUBJECTS, 2)
        queries.append(query(asked, chance))
        passages.append(passage(asked if index % 2 else other, chance, words))
    return (queries, passages), torch.tensor([float(index % 2) for index in range(size)])


def _tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {word: index for index, word in enumerate([*SPECIAL, *SUBJECTS, *FILLERS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _config(vocabulary: int) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=0.1,  # the usual 0.02 is for models a hundred times as wide
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )


if __name__ == "__main__":
    train(Path(sys.argv[1]))
