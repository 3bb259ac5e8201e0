"""Compares `rewriter=auto` without a language model with simpler rewriters, on many sets.

    python benchmarks/quality/auto_rewriter.py --data ../shared/data ~/auto [SET ...]

The folder keeps the indexes, the scores of each set, and the Debian packages of the documentation
sets, which the first run fetches (see answers_without_a_model.py). The table in Markdown is printed at the
end, from all scores in the folder: nDCG@5 of each rewriter, and p of a paired randomisation test,
by conversation, between auto and the best of the others.

Where a set has answers, they are the history. Elsewhere an answer is the beginning of the first
passage that was found, as a quotation is. CAsT's passages are not needed: the people's rewrites of
all its questions are the corpus, and the one of a question is to be found.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from answers_without_a_model import QUESTIONS, fetch  # noqa: E402
from convrag import Hit, Query, Question, Retriever, Rewriter, Turn  # noqa: E402
from convrag.config.compose import compose  # noqa: E402
from convrag.turn.wiring import Wiring  # noqa: E402
from convrag_compare.paired_differences import compute_sign_flip_p  # noqa: E402
from convrag_datasets.cast import CastDataset  # noqa: E402
from languages import write_dataset as write_language  # noqa: E402
from pages import make_table  # noqa: E402

REWRITERS = ("none", "last_n", "full_history", "auto")
RETRIEVERS = ("bm25", "hybrid")
DEPTH = 5
QUOTED_WORDS = 50
HANDBOOK = HERE.parent.parent / "tests" / "support" / "handbook" / "english.md"

Judge = Callable[[Sequence[Hit]], float]
"""Scores what was found for a question."""

Scores = dict[str, list[float]]
"""Conversation -> the scores of its turns."""


@dataclass(frozen=True)
class Asked:
    """A turn: the question, its recorded answer, and how its passages are scored, if they are."""

    turn_id: str
    question: str
    answer: str
    judge: Judge | None


@dataclass(frozen=True)
class Conversation:
    """A conversation about a domain of the corpus."""

    id: str
    domain: str
    turns: list[Asked]


@dataclass(frozen=True)
class QuerySet:
    """Conversations over a corpus, and the overrides that choose the corpus."""

    overrides: list[str]
    conversations: list[Conversation]
    has_answers: bool


def judge_by_qrels(grades: dict[str, int]) -> Judge:
    """Score by nDCG@5 with the grades of passages."""

    def judge(hits: Sequence[Hit]) -> float:
        gains = [grades.get(hit.passage.id, 0) for hit in hits]
        return _discount(gains) / _discount(sorted(grades.values(), reverse=True)[:DEPTH])

    return judge


def judge_by_pattern(pattern: str) -> Judge:
    """Score by nDCG@5 where the first passage with the gold phrase is the relevant one."""
    compiled = re.compile(pattern, re.DOTALL)

    def judge(hits: Sequence[Hit]) -> float:
        for place, hit in enumerate(hits):
            if compiled.search(hit.passage.content):
                return 1 / log2(place + 2)
        return 0.0

    return judge


def _discount(gains: Sequence[int]) -> float:
    return sum(gain / log2(place + 2) for place, gain in enumerate(gains))


def read_dataset(overrides: list[str]) -> QuerySet:
    """Read the conversations of a data set with qrels."""
    dataset = Wiring(compose(*overrides)).get("dataset")
    qrels = dataset.qrels()
    conversations = []
    for each in dataset.conversations():
        turns = []
        for turn in (*each.history, *each.turns):
            grades = dict(qrels.get(turn.id, {}))
            turns.append(
                Asked(
                    turn.id, turn.question, turn.answer, judge_by_qrels(grades) if grades else None
                )
            )
        conversations.append(Conversation(each.id, each.domain, turns))
    has_answers = any(turn.answer for each in conversations for turn in each.turns)
    return QuerySet(overrides, conversations, has_answers)


def write_dataset(
    folder: Path,
    corpus: dict[str, tuple[str, str]],
    conversations: dict[str, list[tuple[str, str]]],
) -> list[str]:
    """Write a data set with one relevant passage a turn; return the overrides that read it.

    Args:
        folder: is made if it is missing.
        corpus: id -> title and text.
        conversations: id -> the questions, each with the id of its passage.
    """
    folder.mkdir(parents=True, exist_ok=True)
    passages = [{"_id": id_, "title": title, "text": text} for id_, (title, text) in corpus.items()]
    rows = []
    qrels = ["query-id\tcorpus-id\tscore"]
    for name, turns in conversations.items():
        rows.append({"id": name, "turns": [{"question": question} for question, _ in turns]})
        qrels += [f"{name}<::>{number}\t{id_}\t1" for number, (_, id_) in enumerate(turns, 1)]
    for name, lines in (("corpus", passages), ("conversations", rows)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    files = {"corpus": "corpus.jsonl", "conversations": "conversations.jsonl", "qrels": "qrels.tsv"}
    return ["dataset=jsonl", *(f"dataset.{key}={folder / file}" for key, file in files.items())]


def write_handbook(folder: Path) -> list[str]:
    """Write the tests' handbook, and the conversations about it."""
    corpus = {}
    for section in HANDBOOK.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        corpus[title.strip()] = (title.strip(), text.strip())
    conversations: dict[str, list[tuple[str, str]]] = {}
    for line in (HERE / "conversations" / "handbook.tsv").read_text("utf-8").splitlines():
        name, question, section = line.split("\t")
        conversations.setdefault(name, []).append((question, section))
    return write_dataset(folder, corpus, conversations)


def write_cast(folder: Path, path: Path, year: int) -> list[str]:
    """Write CAsT's questions over the corpus of the people's rewrites of them."""
    dataset = CastDataset(path=path, year=year)
    rewrites = dataset.rewrites()["resolved" if year == 2019 else "manual"]
    corpus = {}
    conversations: dict[str, list[tuple[str, str]]] = {}
    for each in dataset.conversations():
        for turn in each.turns:
            if turn.id in rewrites:
                corpus[turn.id] = ("", rewrites[turn.id])
                conversations.setdefault(each.id, []).append((turn.question, turn.id))
    return write_dataset(folder, corpus, conversations)


def read_documentation(folder: Path, name: str) -> QuerySet:
    """Read a set of answers_without_a_model.py: its follow-ups, each before two other questions."""
    rows = [
        line.split("\t") for line in (QUESTIONS / f"{name}.tsv").read_text("utf-8").splitlines()
    ]
    for package, pattern in (row[1:] for row in rows if row[0] == "documents"):
        fetch(package, pattern, folder)
    phrases = {row[1]: row[2] for row in rows if row[0] == "question"}
    follow_ups = [row[1:] for row in rows if row[0] == "follow-up"]
    openings = {opening for opening, _, _ in follow_ups}
    others = iter([question for question in phrases if question not in openings])
    conversations = []
    for number, (opening, follow_up, phrase) in enumerate(follow_ups):
        asked = [(opening, phrases.get(opening, "")), (follow_up, phrase)]
        asked += [(question, phrases[question]) for question in islice(others, 2)]
        turns = [
            Asked(f"{number}-{place}", text, "", judge_by_pattern(gold) if gold else None)
            for place, (text, gold) in enumerate(asked)
        ]
        conversations.append(Conversation(f"{name}-{number}", "default", turns))
    overrides = ["dataset=documents", f"dataset.path={folder}/documents"]
    return QuerySet(overrides, conversations, has_answers=False)


def list_sets(folder: Path, data: Path) -> dict[str, Callable[[], QuerySet]]:
    """Name the sets, and how each is read."""

    def read_mtrag(part: str, domain: str) -> QuerySet:
        chosen = {"path": data / "mtrag", "domain": domain, "part": part}
        return read_dataset(
            ["dataset=mtrag", *(f"dataset.{key}={value}" for key, value in chosen.items())]
        )

    def read_language(language: str) -> QuerySet:
        (folder / language).mkdir(parents=True, exist_ok=True)
        return read_dataset(write_language(language, folder / language))

    def read_cast(year: int) -> QuerySet:
        return read_dataset(write_cast(folder / f"cast{year}", data / "cast", year))

    return {
        "sample": lambda: read_dataset(["dataset=sample"]),
        "MTRAG clapnq": lambda: read_mtrag("human", "clapnq"),
        "MTRAG cloud": lambda: read_mtrag("human", "cloud"),
        "MTRAG-UN clapnq": lambda: read_mtrag("un", "clapnq"),
        "MTRAG-UN cloud": lambda: read_mtrag("un", "cloud"),
        "CAsT 2019": lambda: read_cast(2019),
        "CAsT 2020": lambda: read_cast(2020),
        "handbook": lambda: read_dataset(write_handbook(folder / "handbook")),
        **{
            f"{name.capitalize()} handbook": lambda name=name: read_language(name)
            for name in ("german", "chinese", "arabic")
        },
        **{
            f"Debian {name}": lambda name=name: read_documentation(folder / name, name)
            for name in ("handbooks", "installation", "manuals", "packages")
        },
    }


def score(queries: QuerySet, rewriter: Rewriter, retriever: Retriever) -> Scores:
    """Search for each turn in its conversation, and score what is found."""
    scores: Scores = {}
    for conversation in queries.conversations:
        history: tuple[Turn, ...] = ()
        state: dict[object, dict[str, Any]] = {}
        for number, turn in enumerate(conversation.turns, 1):
            question = Question(
                turn.question,
                conversation.id,
                turn.turn_id,
                conversation.domain,
                number,
                history,
                stage_state=state,
            )
            answer = turn.answer
            if turn.judge or not queries.has_answers:
                hits = retriever.retrieve(
                    _place(question, rewriter.rewrite(question).queries), DEPTH
                )
                if turn.judge:
                    scores.setdefault(conversation.id, []).append(turn.judge(hits))
                if hits and not queries.has_answers:
                    answer = " ".join(hits[0].passage.text.split()[:QUOTED_WORDS])
            history = (*history, Turn(turn.turn_id, turn.question, answer))
    return scores


def _place(question: Question, queries: Sequence[Query]) -> list[Query]:
    placed = {"turn_id": question.turn_id, "domain": question.domain}
    return [replace(query, **placed) for query in queries]


def measure(queries: QuerySet, store: Path) -> dict[str, dict[str, Scores]]:
    """Score every rewriter with every retriever: retriever -> rewriter -> scores."""
    base = [*queries.overrides, "tracker=none", "generator=none", f"store.path={store}"]
    measured: dict[str, dict[str, Scores]] = {}
    for retriever in RETRIEVERS:
        wiring = Wiring(compose(*base, f"retriever={retriever}"))
        by_rewriter = measured.setdefault(retriever, {})
        for name in REWRITERS:
            rewriter = Wiring(compose(*base, f"rewriter={name}")).get("rewriter")
            by_rewriter[name] = score(queries, rewriter, wiring.get("retriever"))
    return measured


def compute_mean(scores: Scores) -> float:
    """Compute the mean over turns."""
    return fmean(value for values in scores.values() for value in values)


def compute_p(one: Scores, other: Scores) -> float:
    """Compute p of a paired randomisation test whose unit is the conversation."""
    differences = [sum(values) - sum(other[name]) for name, values in one.items()]
    return compute_sign_flip_p(np.array(differences).reshape(-1, 1))[0]


def list_rows(name: str, measured: dict[str, dict[str, Scores]]) -> Iterator[list[str]]:
    """Yield a row of the table for each retriever."""
    for retriever, by_rewriter in measured.items():
        means = {rewriter: compute_mean(scores) for rewriter, scores in by_rewriter.items()}
        best = max((each for each in REWRITERS if each != "auto"), key=lambda each: means[each])
        p = compute_p(by_rewriter["auto"], by_rewriter[best])
        turns = sum(map(len, by_rewriter["auto"].values()))
        figures = (f"{means[rewriter]:.3f}".lstrip("0") for rewriter in REWRITERS)
        difference = f"{means['auto'] - means[best]:+.3f}".replace("0.", ".")
        yield [name, str(turns), retriever, *figures, f"{difference} to `{best}`", f"{p:.3f}"]


def main() -> None:
    """Measure the sets that the folder has no scores of, and print the table of all."""
    parser = argparse.ArgumentParser(description="rewriter=auto without a model on many sets")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder of mtrag/ and cast/")
    parser.add_argument("sets", nargs="*", help="the sets to measure; all by default")
    options = parser.parse_args()
    folder = options.folder.expanduser().resolve()
    sets = list_sets(folder, options.data.resolve())
    for name in options.sets or sets:
        path = folder / "scores" / f"{name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(measure(sets[name](), folder / "store")), encoding="utf-8")
    rows = []
    for name in sets:
        path = folder / "scores" / f"{name}.json"
        if path.exists():
            rows += list_rows(name, json.loads(path.read_text(encoding="utf-8")))
    heading = ["set", "turns", "retriever", *(f"`{name}`" for name in REWRITERS), "auto", "p"]
    print(make_table(heading, rows))


if __name__ == "__main__":
    main()
