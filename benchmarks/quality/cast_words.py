"""Counts how many of the words that people's rewrites add to a question of CAsT our rewriter adds.

    python benchmarks/quality/cast_words.py ../shared/data/cast

All words weigh the same: CAsT's passages are not needed. CAsT 2019 and 2020 have no answers here,
2022 has. A short question has at most one content word.
"""

import sys
from pathlib import Path

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import find_content_words, find_words
from convrag_datasets.cast import CastDataset
from convrag_offline.rewriting import find_missing_words

KINDS = {2019: "resolved", 2020: "manual", 2022: "manual"}


def measure(path: Path, year: int) -> dict[str, tuple[int, float, float]]:
    """Group of questions -> how many, the share of people's words that is added, and of the added
    that is theirs.
    """
    dataset = CastDataset(path=path, year=year)
    written = dataset.rewrites()[KINDS[year]]
    counts: dict[str, list[int]] = {}
    for conversation in dataset.conversations():
        history: list[dict[str, str]] = []
        for number, turn in enumerate(conversation.turns, 1):
            wanted = {word.stem for word in find_content_words(written.get(turn.id, ""))}
            wanted -= {word.stem for word in find_words(turn.question)}
            added = find_missing_words(turn.question, history, DocumentFrequencies(), 1.0)
            found = {word.stem for text in added for word in find_content_words(text)}
            short = len(find_content_words(turn.question)) < 2
            groups = ["all", *["short"] * short, *["turn 5 and later"] * (number > 4)]
            for group in groups if history and turn.id in written else ():
                sums = counts.setdefault(group, [0, 0, 0, 0])
                row = (1, len(wanted), len(found), len(wanted & found))
                counts[group] = [one + other for one, other in zip(sums, row, strict=True)]
            history.append({"user": turn.question, "assistant": turn.answer})
    return {
        group: (n, both / wanted, both / found)
        for group, (n, wanted, found, both) in counts.items()
    }


if __name__ == "__main__":
    for each in KINDS:
        for group, (n, recall, precision) in measure(Path(sys.argv[1]), each).items():
            sys.stdout.write(
                f"CAsT {each}, {group} ({n}): recall {recall:.2f}, precision {precision:.2f}\n"
            )
