"""How far metrics=trust agrees with people, and how its three numbers were chosen.

    python benchmarks/quality/trust.py
    mtrag-human/evaluations/reference_subset_with_human_evaluations.json

Spearman's correlation with the mean mark of (two or) three people, over the answers of language
models that were given passages: 158, of 10 conversations about two corpora. The numbers of
convrag.sdk.text.support are chosen on one corpus, by faithfulness alone, and shown on the other;
then the other way round.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

from convrag import Answer, Conversation, Dataset, Evidence, EvidenceItem, TurnRecord
from convrag.sdk.data.inspectorraget import MarkedAnswer, read_marked_answers
from convrag.sdk.text import support
from convrag_judging.correlation import spearman, spearman_interval
from convrag_metrics.token_overlap import measure_overlap, tokenize_passage, tokenize_squad
from convrag_metrics.trust import TrustMetrics

CRITERIA = ("faithfulness", "completeness", "appropriateness")
GRID = list(product((1, 2, 3, 4), (0.0, 0.25, 0.5), (0.3, 0.4, 0.5)))
"""Window, pairs, supported."""
CLOUD = "ibmcld_"


class NoLabels(Dataset):
    """Has no conversations: what is measured is what is known of an answer by itself."""

    def conversations(self) -> Iterator[Conversation]:
        """Yield nothing."""
        return iter(())


def read(path: Path) -> tuple[list[MarkedAnswer], list[TurnRecord]]:
    """The answers of language models that were given passages, and records of them."""
    import json

    questions = {
        task["task_id"]: task["input"][-1]["text"]
        for task in json.loads(path.read_text("utf-8"))["tasks"]
    }
    answers = [
        each for each in read_marked_answers(path) if each.model != "reference" and each.passages
    ]
    return answers, [make_record(each, questions[each.turn_id]) for each in answers]


def make_record(answer: MarkedAnswer, question: str) -> TurnRecord:
    """A record of an answer as task=evaluate makes it."""
    items = tuple(
        EvidenceItem(n, passage, passage.text) for n, passage in enumerate(answer.passages, 1)
    )
    turn = f"{answer.turn_id} ({answer.model})"
    return TurnRecord(
        answer.turn_id, turn, "d", 1, question, evidence=Evidence(items), answer=Answer(answer.text)
    )


def measure(records: Sequence[TurnRecord]) -> dict[str, list[float]]:
    """The measures of metrics=trust, and K-precision, one value for each record."""
    found = TrustMetrics(dataset=NoLabels()).measure(records)
    columns = {
        name: [found[each.turn_id][f"trust_{name}"] for each in records] for name in CRITERIA
    }
    known = [
        [token for item in each.evidence.items for token in tokenize_passage(item.text)]
        for each in records
    ]
    columns["K-precision"] = [
        measure_overlap(tokenize_squad(each.answer.text), tokens).precision
        for each, tokens in zip(records, known, strict=True)
    ]
    return columns


def say(*parts: str) -> None:
    """Print a line."""
    sys.stdout.write(" ".join(parts) + "\n")


def choose(window: int, pairs: float, supported: float) -> None:
    """Set the three numbers."""
    support.WINDOW, support.PAIRS, support.SUPPORTED = window, pairs, supported
    support.split_windows.cache_clear()


def main(path: Path) -> None:
    """Print both tables."""
    answers, records = read(path)
    people = {
        name: [fmean(each.marks["human"][name].values()) for each in answers] for name in CRITERIA
    }
    published = {
        name: [fmean(each.marks["algorithm"][name].values()) for each in answers]
        for name in ("rl_f", "rb_agg", "rb_llm", "RougeL")
    }
    cloud = [any(passage.id.startswith(CLOUD) for passage in each.passages) for each in answers]
    sides = {"both": [True] * len(answers), "clapnq": [not each for each in cloud], "cloud": cloud}

    def correlate(values: Sequence[float], criterion: str, side: str) -> float:
        kept = [place for place, use in enumerate(sides[side]) if use]
        return spearman([values[n] for n in kept], [people[criterion][n] for n in kept]) or 0.0

    say(f"{len(answers)} answers")
    for name, values in (measure(records) | published).items():
        cells = []
        for criterion in CRITERIA:
            low, high = spearman_interval(
                values, people[criterion], [each.turn_id.split("<")[0] for each in answers]
            )
            both, *parts = (f"{correlate(values, criterion, side):.2f}" for side in sides)
            cells.append(f"{criterion} {both} [{low:.2f}, {high:.2f}] ({' / '.join(parts)})")
        say(f"  {name:16}", "; ".join(cells))
    scores = {}
    for numbers in GRID:
        choose(*numbers)
        found = measure(records)
        scores[numbers] = {
            (criterion, side): correlate(found[criterion], criterion, side)
            for criterion in CRITERIA
            for side in sides
        }
    for side, other in (("clapnq", "cloud"), ("cloud", "clapnq"), ("both", "both")):
        best = max(GRID, key=lambda numbers: scores[numbers]["faithfulness", side])
        shown = ", ".join(f"{name} {scores[best][name, other]:.2f}" for name in CRITERIA)
        own = f"{scores[best]['faithfulness', side]:.2f}"
        say(f"chosen on {side}: window, pairs, supported = {best}: {own}; on {other}: {shown}")
    worst, most = (
        pick(each["faithfulness", "both"] for each in scores.values()) for pick in (min, max)
    )
    say(f"all {len(GRID)} choices: faithfulness {worst:.2f} to {most:.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
