import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bm25s
import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.conversations import Conversation
from convrag.api.errors import ConfigError, DataError, UnknownName
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.stages import Dataset
from convrag.sdk.text.analysis import Analysis, stem_words
from convrag.store.fingerprint import collect_libraries
from convrag.store.store import Store
from convrag.testing import RetrieverContract, TinyDataset
from convrag_retrieval import bm25, bm25_index
from convrag_retrieval.bm25 import BM25Retriever


class Corpora(Dataset):
    """Passages by domain, and how many of them were read."""

    def __init__(self, **domains: Sequence[Passage]) -> None:
        self.passages = domains
        self.read = 0

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def domains(self) -> Sequence[str]:
        return tuple(self.passages)

    def corpus(self, domain: str) -> Iterator[Passage]:
        for passage in self.passages[domain]:
            self.read += 1
            yield passage


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = Store(tmp_path / "store")

    def make(self) -> BM25Retriever:
        return BM25Retriever(dataset=TinyDataset(), store=self.store)


def corpus_of(*texts: str) -> Corpora:
    return Corpora(default=[Passage(f"p{number}", text) for number, text in enumerate(texts)])


def ranking(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.passage.id, hit.score) for hit in hits]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


MOON = corpus_of(
    "The Moon orbits the Earth.",
    "Laika was the first dog in orbit around the Earth.",
    "Rockets burn kerosene and oxygen.",
    "The Moon has no air, the Moon has no water.",
)


# What the scores are
# ----------------------------------------------------------------------------------------------


def lucene_bm25(texts: Sequence[str], query: str, k1: float, b: float) -> list[float]:
    documents = [Counter(text.split()) for text in texts]
    average = sum(document.total() for document in documents) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query.split():
            frequency = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            score += (
                idf
                * document[word]
                / (document[word] + k1 * (1 - b + b * document.total() / average) or 1)
            )
        scores.append(score)
    return scores


TEXTS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "ee"]), max_size=8).map(" ".join)


@settings(max_examples=60)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=8).filter(any),
    query=TEXTS,
    k=st.integers(1, 10),
    k1=st.sampled_from([0.5, 1.5, 3.0]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
)
def test_scores_are_those_of_a_brute_force_bm25(
    shared_store: Store, texts: list[str], query: str, k: int, k1: float, b: float
) -> None:
    expected = lucene_bm25(texts, query, k1, b)
    hits = BM25Retriever(dataset=corpus_of(*texts), store=shared_store, k1=k1, b=b).retrieve(
        [Query(query)], k
    )
    assert len(hits) == min(k, sum(score > 0 for score in expected))
    assert len(set(ids(hits))) == len(hits)
    assert [hit.score for hit in hits] == pytest.approx(
        sorted(expected, reverse=True)[: len(hits)], rel=1e-4
    )
    for hit in hits:
        assert hit.score == pytest.approx(expected[int(hit.passage.id[1:])], rel=1e-4)


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.4, 0.0), (3.0, 1.0)])
def test_weights_are_those_of_bm25s(store: Store, k1: float, b: float) -> None:
    rng = np.random.default_rng(7)
    texts = [
        " ".join(f"word{int(n)}" for n in rng.zipf(1.5, size=rng.integers(1, 40)) % 200)
        for _ in range(300)
    ]
    index = bm25s.BM25(k1=k1, b=b)
    index.index([text.split() for text in texts], show_progress=False)
    retriever = BM25Retriever(dataset=corpus_of(*texts), store=store, k1=k1, b=b)
    for number in range(10):
        scores = retriever.scores([Query(f"word{number}")], [f"p{n}" for n in range(300)])
        assert list(scores.values()) == pytest.approx(
            index.get_scores([f"word{number}"]), rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("stopwords", ["english", "none"])
@pytest.mark.parametrize("stemmer", ["english", "none"])
def test_words_are_those_of_bm25s(stopwords: Any, stemmer: Any) -> None:
    texts = [
        "The Moon's AIR, and it's burning: x 42 foo_bar naïve ŁÓDŹ",
        "",
        "a I",
        "don't stop-words, İstanbul \ud83d ok",
    ]
    expected = bm25s.tokenize(
        texts,
        stopwords="english" if stopwords == "english" else [],
        stemmer=stem_words if stemmer == "english" else None,
        return_ids=False,
        show_progress=False,
    )
    analysis = Analysis.choose("plain", stop_words=stopwords, stemmer=stemmer)
    assert [analysis.split(text) for text in texts] == expected


def test_weighted_queries_add_up(store: Store) -> None:
    retriever = BM25Retriever(dataset=MOON, store=store)
    moon = dict(ranking(retriever.retrieve([Query("Moon air")], 10)))
    orbit = dict(ranking(retriever.retrieve([Query("dog orbit Earth")], 10)))
    both = retriever.retrieve(
        [Query("Moon air", weight=0.5), Query("dog orbit Earth", weight=2.0)], 10
    )
    expected = {id_: 0.5 * moon.get(id_, 0) + 2 * orbit.get(id_, 0) for id_ in moon | orbit}
    assert dict(ranking(both)) == pytest.approx(expected)
    assert [hit.score for hit in both] == sorted(expected.values(), reverse=True)


def test_a_query_of_weight_zero_adds_nothing(store: Store) -> None:
    retriever = BM25Retriever(dataset=MOON, store=store)
    alone = retriever.retrieve([Query("Moon")], 10)
    assert retriever.retrieve([Query("Moon"), Query("rockets", weight=0.0)], 10) == alone
    assert retriever.retrieve([Query("rockets", weight=0.0)], 10) == []


def test_equal_scores_keep_the_order_of_the_corpus_at_every_cutoff(store: Store) -> None:
    dataset = corpus_of("moon dust", "sun", "moon rock", "moon soil", "moon moon moon", "moon sand")
    retriever = BM25Retriever(dataset=dataset, store=store)
    for k in range(1, 8):
        assert ids(retriever.retrieve([Query("moon")], k)) == ["p4", "p0", "p2", "p3", "p5"][:k]


def test_a_passage_counts_with_its_title(store: Store) -> None:
    kerosene, hydrogen = (
        Passage("a", "It burns.", title="Kerosene"),
        Passage("b", "It burns.", title="Hydrogen"),
    )
    retriever = BM25Retriever(dataset=Corpora(default=[kerosene, hydrogen]), store=store)
    assert [hit.passage for hit in retriever.retrieve([Query("hydrogen")], 5)] == [hydrogen]


# Edges
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   ", "?!", "a", "the of and", "zeppelin"])
def test_a_query_without_known_words_finds_nothing(store: Store, text: str) -> None:
    assert BM25Retriever(dataset=MOON, store=store).retrieve([Query(text)], 5) == []


def test_no_queries_and_no_room_find_nothing(store: Store) -> None:
    retriever = BM25Retriever(dataset=MOON, store=store)
    assert retriever.retrieve([], 5) == []
    assert retriever.retrieve([Query("Moon")], 0) == []


def test_other_scripts(store: Store) -> None:
    retriever = BM25Retriever(
        dataset=corpus_of("Łódź leży w Polsce", "月球 围绕 地球", "Ο ΗΛΙΟΣ λάμπει"), store=store
    )
    assert ids(retriever.retrieve([Query("ŁÓDŹ")], 3)) == ["p0"]
    assert ids(retriever.retrieve([Query("地球")], 3)) == ["p1"]
    assert ids(retriever.retrieve([Query("Λάμπει")], 3)) == ["p2"]


def test_a_passage_of_stop_words_only_is_indexed_beside_others(store: Store) -> None:
    retriever = BM25Retriever(dataset=corpus_of("", "the", "the moon"), store=store)
    assert ids(retriever.retrieve([Query("the moon")], 3)) == ["p2"]


def test_stop_words_and_stemming_are_options(store: Store) -> None:
    plain = BM25Retriever(dataset=MOON, store=store, words="plain")
    everything = BM25Retriever(dataset=MOON, store=store, stopwords="none")
    stemmed = BM25Retriever(dataset=MOON, store=store)
    assert plain.retrieve([Query("the")], 5) == []
    assert sorted(ids(everything.retrieve([Query("the")], 5))) == ["p0", "p1", "p3"]
    assert plain.retrieve([Query("burning rocket")], 5) == []
    assert ids(stemmed.retrieve([Query("burning rocket")], 5)) == ["p2"]
    assert sorted(ids(stemmed.retrieve([Query("orbiting")], 5))) == ["p0", "p1"]


def test_an_unknown_domain_is_an_error_that_names_the_choices(store: Store) -> None:
    with pytest.raises(UnknownName, match=r"mars.*default"):
        BM25Retriever(dataset=MOON, store=store).retrieve([Query("moon", domain="mars")], 5)


def test_domains_have_indexes_of_their_own(store: Store) -> None:
    dataset = Corpora(moon=[Passage("m", "dust and rock")], sea=[Passage("s", "salt and rock")])
    retriever = BM25Retriever(dataset=dataset, store=store)
    retriever.prepare()
    assert ids(retriever.retrieve([Query("rock", domain="moon")], 5)) == ["m"]
    assert ids(retriever.retrieve([Query("rock", domain="sea")], 5)) == ["s"]


@pytest.mark.parametrize("texts", [[], [""], ["the", "?!"]])
def test_a_corpus_without_words_is_an_error_and_leaves_no_index(
    tmp_path: Path, texts: list[str]
) -> None:
    with pytest.raises(ConfigError, match="default"):
        BM25Retriever(dataset=corpus_of(*texts), store=Store(tmp_path)).prepare()
    assert [path for path in tmp_path.glob("indexes/*") if path.suffix != ".unfinished"] == []


def test_check_names_the_domain_without_passages_and_reads_no_more_than_it_must(
    store: Store,
) -> None:
    dataset = Corpora(moon=MOON.passages["default"], void=[])
    messages = list(BM25Retriever(dataset=dataset, store=store).check())
    assert len(messages) == 1
    assert "'void'" in messages[0]
    assert dataset.read == 1


def test_check_reports_a_broken_corpus(store: Store) -> None:
    class Broken(Corpora):
        def corpus(self, domain: str) -> Iterator[Passage]:
            raise DataError("no JSON", path="corpus.jsonl", line=3)

    messages = list(BM25Retriever(dataset=Broken(default=[]), store=store).check())
    assert len(messages) == 1
    assert "corpus.jsonl, line 3" in messages[0]


# The index
# --------------------------------------------------------------------------------------------------------


def test_a_second_instance_loads_the_index_and_neither_rebuilds_nor_unpickles(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [Query("first dog around the Moon")]
    first = BM25Retriever(dataset=MOON, store=store).retrieve(queries, 5)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("must not be called")

    monkeypatch.setattr(bm25_index, "build_index", refuse)
    monkeypatch.setattr("pickle.load", refuse)
    again = BM25Retriever(dataset=MOON, store=store)
    again.prepare()
    assert again.retrieve(queries, 5) == first
    index = again._open("default").rows
    assert isinstance(index.postings._weights.base, np.memmap)
    with pytest.raises(AssertionError, match="must not be called"):
        BM25Retriever(
            dataset=MOON, store=store, k1=0.9
        ).prepare()  # other settings are another index
    with pytest.raises(AssertionError, match="must not be called"):
        BM25Retriever(dataset=corpus_of("moon"), store=store).prepare()  # and so is another corpus


def test_the_identity_covers_the_libraries(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity of the stage, and that of its index."""
    assert {"numpy", "PyStemmer"} <= {*collect_libraries(BM25Retriever)}
    BM25Retriever(dataset=MOON, store=store).prepare()
    monkeypatch.setattr(bm25, "find_version", lambda name: f"{name} 99")
    BM25Retriever(dataset=MOON, store=store).prepare()
    assert len(list((store.path / "indexes").iterdir())) == 2


# Real data
# --------------------------------------------------------------------------------------------------------


class Mtrag(Dataset):
    """The passages of MTRAG's domains as they lie on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def domains(self) -> Sequence[str]:
        return ("clapnq", "cloud")

    def corpus(self, domain: str) -> Iterator[Passage]:
        path = self.path / f"corpora/passage_level/{domain}.jsonl.zip"
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
            for row in map(json.loads, file):
                yield Passage(row["_id"], row["text"], row["title"], row["url"])


@pytest.mark.parametrize(
    ("domain", "kind", "recall", "ndcg"),
    [
        ("clapnq", "lastturn", 0.204, 0.180),
        ("clapnq", "rewrite", 0.236, 0.213),
        ("cloud", "lastturn", 0.241, 0.212),
        ("cloud", "rewrite", 0.258, 0.227),
    ],
)
def test_the_reference_figures_on_mtrag(
    shared_store: Store, mtrag_path: Path, domain: str, kind: str, recall: float, ndcg: float
) -> None:
    retriever = BM25Retriever(dataset=Mtrag(mtrag_path), store=shared_store, words="plain")
    tasks = mtrag_path / "mtrag-human/retrieval_tasks" / domain
    qrels: dict[str, dict[str, int]] = {}
    for line in (tasks / "qrels/dev.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        turn_id, passage_id, grade = line.split("\t")
        qrels.setdefault(turn_id, {})[passage_id] = int(grade)
    run = {}
    for line in (tasks / f"{domain}_{kind}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        hits = retriever.retrieve([Query(row["text"].replace("|user|: ", ""), domain=domain)], 10)
        run[row["_id"]] = {hit.passage.id: -float(rank) for rank, hit in enumerate(hits)}
    measures = [ir_measures.R @ 5, ir_measures.nDCG @ 5]
    found = ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run)
    assert [found[measure] for measure in measures] == pytest.approx([recall, ndcg], abs=0.01)
