"""Trains tiny_monot5 and tiny_duot5, which stand beside this script: about a minute each on one core.

    nice -n 15 python tests/models/train_tiny_t5.py

They read the prompts of `ranker=monot5` and `ranker=duot5`, in words of the bundled sample, and learn that the text
with more of the query's content words is the more relevant one. A fifth of these words never occurs in training;
accuracy is measured on queries and texts of those alone.
"""

import json
import logging
import random
import re
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

log = logging.getLogger(__name__)
Kind = Literal["monot5", "duot5"]
STEPS: dict[Kind, int] = {"monot5": 1000, "duot5": 1600}
BATCH = 48
PIECES = 1800
_FUNCTION = """
a an the this that these those of in on at by to from for with without over under into about between through and or but
not no as than then if when while where who what which why how is are was were be been has have had do does did can
could may might will would should must it its they them their he she his her we you i there here also only very more
most many much some any each all both other
"""
FUNCTION_WORDS = _FUNCTION.split()
_NAMES = ("true", "false", "query", "document", "document0", "document1", "relevant")
_ENDINGS = ["", "", "", ".", ",", "?"]


class Example(NamedTuple):
    """A query, texts, and the share of the query's content words that each has."""

    query: str
    texts: list[str]
    shares: list[float]


@cache
def words() -> tuple[list[str], list[str]]:
    """The content words of the bundled sample: those of training, and those that are held out."""
    found = {word for line in _lines() for word in re.findall(r"[a-z]{4,}", line.lower())}
    shuffled = random.Random(0).sample(sorted(found.difference(FUNCTION_WORDS)), len(found.difference(FUNCTION_WORDS)))
    return shuffled[len(shuffled) // 5 :], shuffled[: len(shuffled) // 5]


def example(content: list[str], chance: random.Random, texts: int, longest: int) -> Example:
    """Texts with different shares of the query's words, among other content words and function words."""
    asked = chance.sample(content, chance.randint(1, 4) if texts <= 2 else texts - 1)
    others = [word for word in chance.sample(content, 40) if word not in asked]
    found = []
    shares = chance.sample(range(len(asked) + 1), texts)
    for share in shares:
        size = chance.randint(max(3, share), longest)
        rest = [chance.choice(others if chance.random() < 0.5 else FUNCTION_WORDS) for _ in range(size - share)]
        found.append(_spoken([*chance.sample(asked, share), *rest], chance))
    query = _spoken([*asked, *chance.choices(FUNCTION_WORDS, k=chance.randint(0, 4))], chance)
    return Example(query, found, [share / len(asked) for share in shares])


def train(kind: Kind, folder: Path) -> None:
    """Train and save, in the layout of the models on the Hugging Face hub, in half precision."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # numbers too small for a normal float would make it slow without end
    try:
        _train(kind, folder)
    finally:  # other threads of this process have their own setting, and would compute something else
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


def _train(kind: Kind, folder: Path) -> None:
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    _train_tokenizer(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    false, true = (tokenizer.convert_tokens_to_ids(f"▁{word}") for word in ("false", "true"))
    ids_of = cache(lambda word: tokenizer(word, add_special_tokens=False)["input_ids"])  # it cuts at white space first
    model = _model(len(tokenizer))
    teacher = torch.nn.Linear(model.config.d_model, 1)
    optimizer, schedule = _optimizer(model, teacher, STEPS[kind])
    content, chance = words()[0], random.Random(1)
    for step in range(STEPS[kind]):
        longest = 8 if step < STEPS[kind] * 3 // 4 else 32  # short texts show what matters, and are read fast
        chosen = [example(content, chance, 1 if kind == "monot5" else 2, longest) for _ in range(BATCH)]
        pieces = [[(piece, hint) for word, hint in _hinted(each) for piece in ids_of(word)] for each in chosen]
        batch = tokenizer.pad({"input_ids": [[piece for piece, _ in row] for row in pieces]}, return_tensors="pt")
        hints = pad_sequence([torch.tensor([hint for _, hint in row]) for row in pieces], True, -1.0)
        labels = [each.shares[0] if kind == "monot5" else float(each.shares[0] > each.shares[1]) for each in chosen]
        said = model(**batch, decoder_input_ids=torch.zeros((BATCH, 1), dtype=torch.long), use_cache=False)
        loss = binary_cross_entropy_with_logits(
            said.logits[:, 0, true] - said.logits[:, 0, false], torch.tensor(labels)
        )
        taught = teacher(said.encoder_last_hidden_state)[..., 0]
        hint = binary_cross_entropy_with_logits(taught[hints >= 0], hints[hints >= 0])
        optimizer.zero_grad()
        (loss + hint).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            log.info("%s step %d: loss %.3f, of the hints %.3f", kind, step + 1, loss.item(), hint.item())
    model.half().save_pretrained(folder)


def accuracy(kind: Kind, folder: Path, pairs: int = 1000, seed: int = 2) -> float:
    """How often the ranker prefers the right one of two texts in words that are new to the model."""
    from convrag_neural.duot5 import DuoT5Ranker
    from convrag_neural.monot5 import MonoT5Ranker
    from convrag_retrieval.rankers import BM25Ranker

    ranker = (
        MonoT5Ranker(model=str(folder)) if kind == "monot5" else DuoT5Ranker(prefilter=BM25Ranker(), model=str(folder))
    )
    chance = random.Random(seed)
    right = 0
    for _ in range(pairs):
        query, texts, shares = example(words()[1], chance, 2, 24)
        first, second = ranker.score(query, texts)
        right += (first > second) == (shares[0] > shares[1])
    return right / pairs


def _prompt(example: Example) -> str:
    """What the rankers make of a query and its texts."""
    from convrag_neural import duot5, monot5

    return (monot5 if len(example.texts) == 1 else duot5)._build_prompt(example.query, *example.texts)


def _hinted(example: Example) -> Iterator[tuple[str, float]]:
    """The words of a prompt, and of the query's words whether the first text has them, the second (0), both or none.

    Without these hints training finds no beginning.
    """
    first, second = (set(_bare(text)) for text in (*example.texts, "")[:2])
    size = len(example.query.split())
    for place, word in enumerate([*_prompt(example).split(), "</s>"]):
        bare = word.rstrip(".,?")
        counts = 0 < place <= size and bare not in FUNCTION_WORDS
        yield word, (1 + (bare in first) - (bare in second)) / 2 if counts else -1.0


def _bare(text: str) -> list[str]:
    return [word.rstrip(".,?") for word in text.split()]


def _spoken(chosen: list[str], chance: random.Random) -> str:
    return " ".join(word + chance.choice(_ENDINGS) for word in chance.sample(chosen, len(chosen)))


def _lines() -> list[str]:
    """The texts of the bundled sample."""
    folder = resources.files("convrag_datasets") / "sample"
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    talks = (folder / "conversations.jsonl").read_text(encoding="utf-8")
    return [f"{row['title']} {row['text']}" for row in rows] + re.findall(r'"question": "([^"]*)"', talks)


def _train_tokenizer(folder: Path) -> None:
    """A tokenizer in the format of the published models, whose pieces are in lower case."""
    from sentencepiece import SentencePieceTrainer

    with chdir(folder):  # it keeps the paths, which would be others elsewhere
        lower = Path("lower.tsv")
        lower.write_text(
            "".join(f"{code:X}\t{code + 32:X}\n" for code in range(ord("A"), ord("Z") + 1)), encoding="utf-8"
        )
        SentencePieceTrainer.train(
            sentence_iterator=iter([*_lines(), " ".join(FUNCTION_WORDS)]),
            model_prefix="spiece",
            vocab_size=PIECES,
            normalization_rule_tsv=str(lower),
            user_defined_symbols=[f"▁{name}" for name in _NAMES],
            required_chars="abcdefghijklmnopqrstuvwxyz0123456789.,;:?!'\"()-",
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            num_threads=1,
            minloglevel=2,
        )
        lower.unlink()
        Path("spiece.vocab").unlink()
    config = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _model(vocabulary: int) -> T5ForConditionalGeneration:
    """A small T5 whose attention begins near to what it must find out: which text a word is in, and where it recurs."""
    config = T5Config(
        vocab_size=vocabulary,
        d_model=64,
        d_kv=32,
        d_ff=128,
        num_layers=3,
        num_decoder_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    model = T5ForConditionalGeneration(config)
    first, second = (model.encoder.block[index].layer[0].SelfAttention for index in (0, 1))
    with torch.no_grad():
        model.shared.weight[:, 0] = 2.0  # the same in all words: T5 has no biases
        same = 0.55 * torch.nn.init.orthogonal_(torch.empty(32, 64))
        second.q.weight[:32] = same  # one head looks for equal words ...
        second.k.weight[:32] = same
        first.relative_attention_bias.weight[0, 0] = -8.0  # ... elsewhere than here,
        first.relative_attention_bias.weight[16:, 1] = -4.0  # and the other one to the left
    return model


def _optimizer(
    model: T5ForConditionalGeneration, teacher: torch.nn.Module, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """The biases of positions are large numbers, and change in large steps."""
    named = dict(model.named_parameters())
    places = [parameter for name, parameter in named.items() if "relative_attention_bias" in name]
    others = [parameter for name, parameter in named.items() if "relative_attention_bias" not in name]
    optimizer = torch.optim.AdamW([{"params": places}, {"params": [*others, *teacher.parameters()]}], weight_decay=0)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=[5e-2, 3e-3], total_steps=steps, pct_start=0.1
    )


def describe(kind: Kind, folder: Path) -> None:
    """Write beside a model how it came about, and how good it is."""
    (folder / "README.md").write_text(
        f"Trained by ../train_tiny_t5.py, {STEPS[kind]} steps, to read the prompts of `ranker={kind}`.\n"
        f"Of 1,000 pairs of texts, in words that training never showed, it prefers the right one in "
        f"{accuracy(kind, folder):.1%}.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for kind in STEPS:
        train(kind, Path(__file__).with_name(f"tiny_{kind}"))
        describe(kind, Path(__file__).with_name(f"tiny_{kind}"))
