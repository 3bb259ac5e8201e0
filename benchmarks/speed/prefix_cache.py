"""What RAGBoost's deduplication saves beyond what an engine's prefix cache saves already.

Conversations of MTRAG are played with quotations as answers. The prompts then go to llama.cpp, which
keeps the prefix that a prompt has in common with the one before, and counts the tokens that it
evaluated. Only the first token of each reply is asked for.

    python benchmarks/speed/prefix_cache.py small.gguf --mtrag ../shared/data/mtrag

With --count, nothing is evaluated: the tokens that the engine would evaluate are those after the
longest prefix that a prompt shares with the one before, which takes seconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from convrag import Message, Pipeline, Prompt
from convrag.config.compose import compose_command, read_settings
from convrag.turn.wiring import Wiring
from convrag_llms.llama_cpp_llm import LlamaCpp

CONTEXTS = {
    "full": ("context=full",),
    "dedup": ("context=dedup",),
    "dedup, stable": ("context=dedup", "context.order=stable"),
}
"""Name in the table -> the overrides of a context."""

Messages = Sequence[Message]


@dataclass
class Tally:
    """Sums over the prompts of a context.

    Args:
        sent: tokens of the prompts.
        evaluated: tokens that the engine had to evaluate.
        seconds: to the first token of each reply.
    """

    sent: int
    evaluated: int
    seconds: list[float]


def main() -> None:
    """Print the table."""
    arguments = read_arguments()
    model = LlamaCpp(
        model=arguments.model,
        context_size=8192,
        threads=arguments.threads,
        max_tokens=1,
        repack=arguments.repack,
    )
    model.prepare()
    tallies = {}
    for name, overrides in CONTEXTS.items():
        prompts = list(play(arguments, overrides))
        tallies[name] = count(model, prompts) if arguments.count else send(model, prompts)
    print_table(tallies)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="a GGUF file")
    parser.add_argument("--mtrag", type=Path, required=True, help="the folder of MTRAG")
    parser.add_argument("--domain", default="clapnq")
    parser.add_argument("--conversations", type=int, default=10)
    parser.add_argument("--turns", type=int, default=8, help="the first turns of each")
    parser.add_argument("--passages", type=int, default=5, help="top_n")
    parser.add_argument("--generator", default="chat", choices=("chat", "direct"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repack", action="store_true", help="see llm.repack")
    parser.add_argument("--override", nargs="*", help="further overrides (rewriter=last_n)")
    parser.add_argument("--count", action="store_true", help="tokens only, without evaluating")
    return parser.parse_args()


def play(arguments: argparse.Namespace, overrides: Sequence[str]) -> Iterator[list[Messages]]:
    """Yield the prompts of each conversation."""
    config, command = compose_command(
        "dataset=mtrag",
        f"dataset.path={arguments.mtrag}",
        f"dataset.domain={arguments.domain}",
        "llm=extractive",
        f"generator={arguments.generator}",
        f"top_n={arguments.passages}",
        *overrides,
        *(arguments.override or ["rewriter=last_n"]),
    )
    wiring = Wiring(config, command)
    pipeline = Pipeline.from_wiring(wiring, read_settings(config))
    wiring.prepare()
    dataset = wiring.get("dataset")
    for conversation in islice(dataset.conversations(), arguments.conversations):
        prompts = []
        for turn in conversation.turns[: arguments.turns]:
            record = pipeline.turn(conversation.id, turn.question, domain=conversation.domain)
            prompts.append(record.prompt)
        yield prompts


def send(model: LlamaCpp, conversations: Sequence[Sequence[Messages]]) -> Tally:
    """Send the prompts of all conversations, one conversation after the other."""
    tally = Tally(0, 0, [])
    model._model().llama.reset()  # nothing is left of the context before
    for prompts in conversations:
        for messages in prompts:
            start = time.perf_counter()
            reply = model.complete(Prompt("answer", tuple(messages)))
            tally.seconds.append(time.perf_counter() - start)
            tally.sent += reply.prompt_tokens
            tally.evaluated += reply.prompt_tokens - reply.cached_tokens
    return tally


def count(model: LlamaCpp, conversations: Sequence[Sequence[Messages]]) -> Tally:
    """Count what `send` would send and evaluate."""
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

    llama = model._model().llama
    formatter = Jinja2ChatFormatter(
        template=llama.metadata["tokenizer.chat_template"],
        eos_token=llama._model.token_get_text(llama.token_eos()),
        bos_token=llama._model.token_get_text(llama.token_bos()),
    )
    tally = Tally(0, 0, [])
    last: list[int] = []
    for prompts in conversations:
        for messages in prompts:
            rows = [{"role": message.role, "content": message.content} for message in messages]
            text = formatter(messages=rows).prompt
            tokens = llama.tokenize(text.encode(), add_bos=False, special=True)
            shared = llama.longest_token_prefix(last, tokens)
            tally.sent += len(tokens)
            tally.evaluated += len(tokens) - shared
            last = tokens
    return tally


def print_table(tallies: dict[str, Tally]) -> None:
    """Print a row for each context, and its ratios to the first one."""
    print("| context | tokens sent | tokens evaluated | from the cache | first token, median |")
    print("| --- | --- | --- | --- | --- |")
    first, *_ = tallies.values()
    for name, tally in tallies.items():
        seconds = "not measured"
        if tally.seconds:
            ratio = sum(tally.seconds) / sum(first.seconds)
            seconds = f"{statistics.median(tally.seconds):.2f} s ({ratio:.2f})"
        print(
            f"| `{name}` | {tally.sent:,} ({tally.sent / first.sent:.2f}) "
            f"| {tally.evaluated:,} ({tally.evaluated / first.evaluated:.2f}) "
            f"| {1 - tally.evaluated / tally.sent:.0%} | {seconds} |"
        )


if __name__ == "__main__":
    main()
