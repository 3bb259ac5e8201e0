"""How much text around the passages helps, at equal tokens of evidence.

    python benchmarks/quality/wider_contexts.py ~/sets chunker.tokens=60

Every fourth question of a set is asked. The questions and the documents are those of
answers_without_a_model.py, which fetches the documents. Each context is given the best passages of
the same ranking, as many as fit into the tokens. Counted are the questions and follow-ups whose
evidence has what the pattern of their line says, and those that `llm=extractive` answers rightly
from it, in at most 90 words. What follows the folder are overrides.
"""

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from answers_without_a_model import MOST_WORDS, QUESTIONS, Line, read_set
from convrag import Context, Evidence, Hit, Pipeline, Question
from convrag.api.session import to_turn
from convrag.sdk.text.citations import strip_citations

CONTEXTS = {
    "full": ("context=full",),
    "window 1": ("context=window",),
    "section 300": ("context=section", "context.tokens=300"),
    "document 1000": ("context=document",),
}
TOKENS = (1000,)
STEP = 4
"""Every fourth line of a set is measured."""
MOST_PASSAGES = 16


def list_questions(
    lines: Sequence[Line], pipeline: Pipeline
) -> Iterator[tuple[Line, Question, tuple[Hit, ...]]]:
    """Yield the last question of each answerable line, with its rewrite and its ranking."""
    for number, line in enumerate(lines[::STEP]):
        if line.kind == "none":
            continue
        name = str(number)
        history = [to_turn(pipeline.turn(name, text)) for text in line.questions[:-1]]
        record = pipeline.turn(name, line.questions[-1], top_k=MOST_PASSAGES, generate=False)
        question = Question(
            line.questions[-1],
            name,
            record.turn_id,
            number=record.number,
            history=tuple(history),
            standalone=record.rewritten_query,
            queries=record.queries,
        )
        yield line, question, record.hits


def fill(
    context: Context, question: Question, hits: Sequence[Hit], tokens: int, pipeline: Pipeline
) -> Evidence:
    """Make the evidence of as many of the best passages as fit; of one in any case."""
    count_tokens = pipeline.stages.generator.llm.count_tokens  # type: ignore[attr-defined]

    def assemble(count: int) -> Evidence:
        return context.assemble(question, hits[:count], [])

    def is_too_long(count: int) -> bool:
        return sum(count_tokens(item.text) for item in assemble(count).items) > tokens

    counts = range(2, len(hits) + 1)
    return assemble(1 + bisect_left(counts, True, key=is_too_long))


def measure(folder: Path, name: str, overrides: Sequence[str], counts: Counter[str]) -> None:
    """Add the counts of a set."""
    here = folder / name
    lines = read_set(name, here)
    given = [
        "dataset=documents",
        f"dataset.path={here}/documents",
        f"store.path={here}/store",
        "tracker=none",
        "generator=direct",
        *overrides,
    ]
    pipelines = {label: Pipeline.compose(*given, *chosen) for label, chosen in CONTEXTS.items()}
    for line, question, hits in list_questions(lines, pipelines["full"]):
        counts["questions"] += 1
        for label, pipeline in pipelines.items():
            for tokens in TOKENS:
                key = f"{label}, {tokens}"
                context = pipeline.stages.context
                evidence = fill(context, question, hits, tokens, pipeline)
                shown = "\n".join(item.text for item in evidence.items)
                answer = pipeline.stages.generator.generate(question, evidence)
                is_short = len(strip_citations(answer.text).split()) <= MOST_WORDS
                is_right = is_short and bool(re.search(line.pattern, answer.text, re.DOTALL))
                counts[f"{key}: found"] += bool(re.search(line.pattern, shown, re.DOTALL))
                counts[f"{key}: right"] += is_right
                counts[f"{key}: passages"] += len(evidence.items)


def main(folder: Path, overrides: Sequence[str]) -> None:
    """Measure all sets, and print a row for each context and number of tokens."""
    counts: Counter[str] = Counter()
    for path in sorted(QUESTIONS.glob("*.tsv")):
        measure(folder, path.stem, overrides, counts)
    questions = counts["questions"]
    rows = [f"{'context':16}{'tokens':>8}{'passages':>10}{'found':>8}{'right':>8} of {questions}"]
    for label in CONTEXTS:
        for tokens in TOKENS:
            key = f"{label}, {tokens}"
            passages = counts[f"{key}: passages"] / questions
            found = counts[f"{key}: found"]
            right = counts[f"{key}: right"]
            rows.append(f"{label:16}{tokens:>8}{passages:>10.1f}{found:>8}{right:>8}")
    sys.stdout.write("\n".join([*rows, ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1]).expanduser().resolve(), sys.argv[2:])
