"""Which exchanges rewriter=dhrag should keep whatever their score, on all conversations.

Run with -s to see the figures; takes some minutes. A return is made up: a conversation's first
turns, four turns of the next conversation, and the next question of the first.

* "words": of the content words that a rewrite by people (CAsT) or by a model (MTRAG) adds to the
  question, and that the history has, the share that stands in the selected exchanges. No rewriter
  of ours bears on it.
* "last": the share of turns whose last exchange is selected.
* "left": the share of selected exchanges that are of the topic in between.
* "nDCG@5": BM25 with llm=extractive, which is no model.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from convrag import Embedder, Turn
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.sdk.data.utterances import get_last_utterance
from convrag.sdk.text.analysis import find_stems
from convrag.turn.wiring import Wiring
from convrag_dhrag.database import HistoryDatabase
from convrag_dhrag.selection import TierSizes, Weights, select_exchanges
from fixtures import SHARED

DOMAINS = ("clapnq", "cloud")
CAST = SHARED / "data" / "cast"
KEPT = {
    "score alone": (False, False),
    "last": (True, False),
    "matched": (False, True),
    "both": (True, True),
}
BETWEEN = 4

Conversations = list[list[Turn]]


class Case(NamedTuple):
    """A question with its history, the words of its rewrite, and the turns in between."""

    question: str
    history: tuple[Turn, ...]
    needed: frozenset[str]
    between: frozenset[str] = frozenset()


def find_needed_words(question: str, rewrite: str, history: Sequence[Turn]) -> frozenset[str]:
    said = find_stems(" ".join(f"{turn.question} {turn.answer}" for turn in history))
    return frozenset((find_stems(rewrite) - find_stems(question)) & said)


def list_cases(conversations: Conversations, rewrites: Mapping[str, str]) -> list[Case]:
    """List follow-ups whose rewrite adds words of the history.

    The branches of CAsT 2022 share their beginnings.
    """
    cases = {}
    for turns in conversations:
        for number, turn in enumerate(turns):
            history = tuple(turns[:number])
            if needed := find_needed_words(turn.question, rewrites.get(turn.id, ""), history):
                cases[turn.id, tuple(earlier.id for earlier in history)] = Case(
                    turn.question, history, needed
                )
    return list(cases.values())


def make_returns(conversations: Conversations) -> Iterator[tuple[int, tuple[Turn, ...], Turn]]:
    """Make returns to a topic: its number of turns, the history, and the question.

    Questions count from the third turn of a topic on.
    """
    long = [turns for turns in conversations if len(turns) > BETWEEN]
    for turns, others in zip(long, [*long[1:], *long[:1]], strict=True):
        for number in range(2, len(turns)):
            yield number, (*turns[:number], *others[:BETWEEN]), turns[number]


def list_returns(conversations: Conversations, rewrites: Mapping[str, str]) -> list[Case]:
    cases = {}
    for number, history, asked in make_returns(conversations):
        if needed := find_needed_words(
            asked.question, rewrites.get(asked.id, ""), history[:number]
        ):
            between = frozenset(turn.id for turn in history[number:])
            key = asked.id, tuple(turn.id for turn in history[:number])
            cases[key] = Case(asked.question, history, needed, between)
    return list(cases.values())


def read_cast() -> Iterator[tuple[str, Conversations, dict[str, str]]]:
    """CAsT's rewrites are by people; only that of 2022 has the system's answers."""
    path = CAST / "2019/evaluation_topics_annotated_resolved_v1.0.tsv"
    resolved = dict(line.split("\t") for line in path.read_text("utf-8").splitlines())
    files = {
        "2019": ("2019/evaluation_topics_v1.0.json", "raw_utterance"),
        "2020": ("2020/2020_manual_evaluation_topics_v1.0.json", "raw_utterance"),
        "2022": ("2022/2022_evaluation_topics_flattened_duplicated_v1.0.json", "utterance"),
    }
    for year, (name, key) in files.items():
        conversations, rewrites = [], {}
        for topic in json.loads((CAST / name).read_text("utf-8")):
            rows = {f"{topic['number']}_{turn['number']}": turn for turn in topic["turn"]}
            conversations.append(
                [Turn(id_, row[key], row.get("response") or "") for id_, row in rows.items()]
            )
            for id_, row in rows.items():
                rewrites[id_] = row.get("manual_rewritten_utterance") or resolved.get(id_, "")
        yield f"CAsT {year}", conversations, rewrites


def read_rewrites(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["_id"]: get_last_utterance(row["text"]) for row in rows}


def select(case: Case, embedder: Embedder, top_k: int, *, last: bool, matched: bool) -> list[Turn]:
    database = HistoryDatabase(embedder, 0.4)
    database.update(case.history)
    selection = select_exchanges(
        case.question,
        embedder.embed([case.question], query=True)[0],
        database,
        top_k=top_k,
        weights=Weights(0.6, 0.1, 0.05, 0.05),
        sizes=TierSizes(5, 5, 2),
        last_exchange=last,
        matched_exchange=matched,
    )
    return selection.turns


def measure_words(cases: Sequence[Case], embedder: Embedder, top_k: int, **kept: bool) -> str:
    words, last, left = [], [], []
    for case in cases:
        turns = select(case, embedder, top_k, **kept)
        shown = find_stems(" ".join(f"{turn.question} {turn.answer}" for turn in turns))
        words.append(len(case.needed & shown) / len(case.needed))
        last.append(case.history[-1] in turns)
        left.append(sum(turn.id in case.between for turn in turns) / len(turns))
    figures = {"words": words, "left": left} if cases[0].between else {"words": words, "last": last}
    return ", ".join(f"{name} {sum(values) / len(values):.3f}" for name, values in figures.items())


def measure_ranking(folder: Path, *overrides: str) -> str:
    config = compose(
        "generator=none", "history=gold", "tracker=none", "store.path=store", *overrides
    )
    return f"{run_experiment(config, folder)[1].overall['nDCG@5']:.4f}"


def write_returns(
    folder: Path, mtrag: Path, domain: str, conversations: Conversations
) -> list[str]:
    """Files of dataset=jsonl: only the question at the end has judgements."""
    rows, asked_ids = [], set()
    for number, (_, history, asked) in enumerate(make_returns(conversations)):
        turns = [
            {"id": f"{number}-{n}", "question": t.question, "answer": t.answer}
            for n, t in enumerate(history)
        ]
        turns.append({"id": asked.id, "question": asked.question, "answer": asked.answer})
        rows.append(json.dumps({"id": f"return-{number}", "turns": turns}))
        asked_ids.add(asked.id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conversations.jsonl").write_text("\n".join(rows), encoding="utf-8")
    head, *lines = (
        (mtrag / f"mtrag-human/retrieval_tasks/{domain}/qrels/dev.tsv")
        .read_text("utf-8")
        .splitlines()
    )
    kept = [line for line in lines if line.split("\t")[0] in asked_ids]
    (folder / "qrels.tsv").write_text("\n".join([head, *kept]), encoding="utf-8")
    corpus = mtrag / f"corpora/passage_level/{domain}.jsonl.zip"
    files = {
        "conversations": folder / "conversations.jsonl",
        "qrels": folder / "qrels.tsv",
        "corpus": corpus,
    }
    return ["dataset=jsonl", *(f"dataset.{name}={path}" for name, path in files.items())]


def test_what_is_kept_whatever_its_score(mtrag_path: Path, here: Path) -> None:
    if not CAST.is_dir():
        pytest.skip("the CAsT topics are not here")
    sources: dict[str, tuple[list[Case], Embedder]] = {}
    ranked: dict[str, list[str]] = {}
    cast = list(read_cast())
    for domain in DOMAINS:
        mtrag = ["dataset=mtrag", f"dataset.path={mtrag_path}", f"dataset.domain={domain}"]
        wiring = Wiring(compose(*mtrag, "store.path=store"))
        embedder, dataset = wiring.get("embedder"), wiring.get("dataset")
        embedder.prepare()
        rewrites = read_rewrites(
            mtrag_path / f"mtrag-human/retrieval_tasks/{domain}/{domain}_rewrite.jsonl"
        )
        own = [list(each.turns) for each in dataset.conversations()]
        near = (
            cast if domain == "clapnq" else []
        )  # Wikipedia is the corpus that is nearest to CAsT's
        for name, conversations, texts in [(domain, own, rewrites), *near]:
            sources[name] = list_cases(conversations, texts), embedder
            sources[f"{name}, returns"] = list_returns(conversations, texts), embedder
        ranked[domain] = mtrag
        ranked[f"{domain}, returns"] = write_returns(
            here / f"returns-{domain}", mtrag_path, domain, own
        )
    for top_k in (1, 3):
        print(f"\ntop_k={top_k}")
        for name, (cases, embedder) in sources.items():
            figures = {
                kept: measure_words(cases, embedder, top_k, last=last, matched=matched)
                for kept, (last, matched) in KEPT.items()
            }
            print(f"{name} ({len(cases)} turns): {figures}")
        for name, overrides in ranked.items():
            chosen = {
                kept: [f"rewriter.last_exchange={last}", f"rewriter.matched_exchange={matched}"]
                for kept, (last, matched) in KEPT.items()
            }
            common = [*overrides, "rewriter=dhrag", f"rewriter.top_k={top_k}"]
            figures = {
                kept: measure_ranking(here / "run", *common, *own) for kept, own in chosen.items()
            }
            print(f"{name}: nDCG@5 {figures}")
