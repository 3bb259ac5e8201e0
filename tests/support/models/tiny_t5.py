"""A T5 of random weights, with a tokenizer of T5's own kind: small enough to check its numbers by
brute force.
"""

import string
from pathlib import Path

import torch
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

PIECES = ["▁true", "▁false", "▁Query", "▁Document", "▁Relevant", "▁kettle", "▁copper", "▁water"]


def save(folder: Path, seed: int = 0) -> None:
    """Save the model and its tokenizer, in the layout of the Hugging Face hub."""
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.0)]
    vocabulary += [(piece, -1.0) for piece in PIECES]
    vocabulary += [
        (character, -5.0) for character in string.ascii_letters + string.digits + ":.,?!"
    ]
    tokenizer = T5Tokenizer(vocab=vocabulary, extra_ids=0)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(vocabulary),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        initializer_factor=2.0,  # so that the probabilities are not all close to one half
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
