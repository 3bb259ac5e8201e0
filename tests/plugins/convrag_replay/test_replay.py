import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    Conversation,
    DataError,
    Dataset,
    Hit,
    Passage,
    Query,
    Question,
    Store,
    UnknownName,
)
from convrag.api.filter_parser import parse_filter
from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from convrag.testing import RetrieverContract, RewriterContract, TinyDataset, passages, question
from convrag_replay.retriever import RunRetriever
from convrag_replay.rewriter import ReplayRewriter


class Corpora(Dataset):
    """Passages by domain; reading them can be forbidden."""

    def __init__(self, *, forbidden: bool = False, **domains: Sequence[Passage]) -> None:
        self.passages = domains
        self.forbidden = forbidden

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def domains(self) -> Sequence[str]:
        return tuple(self.passages)

    def corpus(self, domain: str) -> Iterator[Passage]:
        assert not self.forbidden, "the corpus must not be read"
        return iter(self.passages[domain])


CORPUS = Corpora(
    default=[Passage(id_, f"text of {id_}", f"title of {id_}", f"http://{id_}") for id_ in "abcdef"]
)
NONE = Corpora(default=[], forbidden=True)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def write(path: Path, *rows: object) -> Path:
    """Rows as lines: text as it is, everything else as JSON."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


class TestRewriterContract(RewriterContract):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        rows = [
            {"_id": question(turns=turns).turn_id, "text": f"rewrite {turns}"} for turns in range(3)
        ]
        self.path = write(tmp_path / "rewrites.jsonl", *rows)

    def make(self) -> ReplayRewriter:
        return ReplayRewriter(dataset=TinyDataset(), path=self.path)


class TestRetrieverContract(RetrieverContract):
    """A recorded ranking has the same passages whatever is asked, but none for nothing."""

    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path, store: Store) -> None:
        rows = [
            f"tea<::>1 Q0 {passage.id} {n} {1 / n} run" for n, passage in enumerate(passages(), 1)
        ]
        self.path, self.store = write(tmp_path / "run.trec", *rows), store

    def make(self) -> RunRetriever:
        return RunRetriever(path=self.path, dataset=TinyDataset(), store=self.store)


def rewrite_of(path: Path, turn_id: str, text: str = "and then?") -> tuple[str, str]:
    rewrite = ReplayRewriter(dataset=TinyDataset(), path=path).rewrite(
        Question(text, turn_id=turn_id)
    )
    assert len(rewrite.queries) == 1
    return rewrite.text, rewrite.fallback


# rewriter=replay
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("|user|: Who was Laika?", "Who was Laika?"),
        ("|user|:Who was Laika?", "Who was Laika?"),
        ("Who was Laika?", "Who was Laika?"),
        ("|user|: first\n|user|: second\n|user|: Who was Laika?\n", "Who was Laika?"),
        ("|user|: two\nlines", "two\nlines"),
        ("What does |user|: mean?", "What does |user|: mean?"),
        ("|user|: Где была Лайка? 🐕", "Где была Лайка? 🐕"),
    ],
)
def test_a_recorded_rewrite_without_its_prefix(
    tmp_path: Path, recorded: str, expected: str
) -> None:
    path = write(
        tmp_path / "r.jsonl",
        {"_id": "c<::>1", "text": recorded},
        "",
        {"_id": "c<::>2", "text": "other"},
    )
    assert list(ReplayRewriter(dataset=TinyDataset(), path=path).check()) == []
    assert rewrite_of(path, "c<::>1") == (expected, "")


def test_a_turn_that_the_file_lacks_keeps_its_question(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl", {"_id": "c<::>1", "text": "x"}, {"_id": "c<::>2", "text": "|user|:  "}
    )
    text, fallback = rewrite_of(path, "c<::>9")
    assert text == "and then?"
    assert "c<::>9" in fallback
    assert "missing" in fallback
    text, fallback = rewrite_of(path, "c<::>2")
    assert text == "and then?"
    assert "empty" in fallback


def test_a_folder_is_read_as_one(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"_id": "1", "text": "one"})
    write(tmp_path / "b.jsonl", {"_id": "2", "text": "two", "agent_response": "kept out"})
    write(tmp_path / "notes.txt", "not read")
    assert [rewrite_of(tmp_path, turn_id)[0] for turn_id in "12"] == ["one", "two"]


BROKEN_REWRITES = [
    (["{broken"], "line 1", "JSON"),
    ([{"_id": "1", "text": "ok"}, "", "[1]"], "line 3", "object"),
    ([{"_id": "1"}], "line 1", "text"),
    ([{"_id": 1, "text": "x"}], "line 1", "_id"),
    ([{"_id": "1", "text": "x"}, {"_id": "1", "text": "y"}], "line 2", "line 1"),
    ([], "r.jsonl", "no rewrite"),
    ([{"_id": "1", "text": "x", "queries": "x"}], "line 1", "queries"),
    ([{"_id": "1", "text": "x", "queries": ["x"]}], "line 1", "queries.0"),
    ([{"_id": "1", "text": "x", "queries": [{"text": "x", "weight": "much"}]}], "line 1", "weight"),
]


@pytest.mark.parametrize(("rows", "place", "what"), BROKEN_REWRITES)
def test_a_broken_file_of_rewrites_is_found_before_the_run(
    tmp_path: Path, rows: list[Any], place: str, what: str
) -> None:
    rewriter = ReplayRewriter(dataset=TinyDataset(), path=write(tmp_path / "r.jsonl", *rows))
    (message,) = rewriter.check()
    assert place in message
    assert "r.jsonl" in message
    assert what in message
    with pytest.raises(DataError):
        rewriter.rewrite(Question("?", turn_id="1"))


def test_recorded_weights_are_searched_with(tmp_path: Path) -> None:
    """A line of MTRAG's has a text alone; one of a run has every query, whose texts may hold
    anything.
    """
    queries = [
        {"text": "two\nlines |user|: x", "weight": 1.0},
        {"text": "asked", "weight": 0.25},
        {"text": "by default"},
    ]
    several = {"_id": "1", "text": "|user|: two", "queries": queries}
    alone = [
        {"_id": "2", "text": "|user|: alone", "queries": []},
        {"_id": "3", "text": "alone", "queries": None},
    ]
    path = write(tmp_path / "r.jsonl", several, *alone)
    replay = ReplayRewriter(dataset=TinyDataset(), path=path)
    found = replay.rewrite(Question("?", turn_id="1")).queries
    assert [(query.text, query.weight) for query in found] == [
        ("two\nlines |user|: x", 1.0), ("asked", 0.25), ("by default", 1.0),
    ]  # fmt: skip
    assert [replay.rewrite(Question("?", turn_id=turn)).text for turn in "23"] == ["alone", "alone"]


@pytest.mark.parametrize("rewriter", ["mmr", "blend", "last_n"])
def test_a_run_is_replayed_from_its_datasets(rewriter: str, here: Path) -> None:
    """Every query with its weight: the same rankings, turn for turn."""
    settings = ["generator=none", "history=gold", "tracker=none", "limit=4", "task=run"]
    first, _ = run_experiment(compose(f"rewriter={rewriter}", *settings), here / "first")
    again, _ = run_experiment(
        compose("rewriter=replay", f"rewriter.path={here / 'first/datasets'}", *settings),
        here / "again",
    )
    ranked = [(folder / "run.trec").read_text("utf-8") for folder in (first.folder, again.folder)]
    assert ranked[0] == ranked[1] != ""


def test_one_turn_in_two_files_is_an_error_that_names_both(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, {"_id": "1", "text": "x"})
    (message,) = ReplayRewriter(dataset=TinyDataset(), path=tmp_path).check()
    assert "b.jsonl, line 1" in message
    assert "a.jsonl" in message


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    (message,) = ReplayRewriter(dataset=TinyDataset(), path=tmp_path / "absent.jsonl").check()
    assert "absent.jsonl" in message
    (message,) = ReplayRewriter(dataset=TinyDataset(), path=tmp_path).check()
    assert "*.jsonl" in message
    (tmp_path / "latin.jsonl").write_bytes(
        b'{"_id": "1", "text": "ok"}\n{"_id": "2", "text": "caf\xe9"}\n'
    )
    (message,) = ReplayRewriter(dataset=TinyDataset(), path=tmp_path / "latin.jsonl").check()
    assert "line 2" in message
    assert "UTF-8" in message


def test_the_identity_of_rewrites_follows_the_content(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"_id": "1", "text": "x"})
    before = ReplayRewriter(dataset=TinyDataset(), path=path).content_hash()
    assert before == ReplayRewriter(dataset=TinyDataset(), path=path).content_hash()
    write(path, {"_id": "1", "text": "y"})
    assert ReplayRewriter(dataset=TinyDataset(), path=path).content_hash() not in ("", before)
    assert ReplayRewriter(dataset=TinyDataset(), path=tmp_path / "absent").content_hash() == ""


# retriever=run
# ----------------------------------------------------------------------------------------------------


def retrieve(
    retriever: RunRetriever, turn_id: str, k: int = 10, domain: str = "default"
) -> list[Hit]:
    return retriever.retrieve(
        [Query("ignored", turn_id=turn_id, domain=domain), Query("too", 0.5, turn_id, domain)], k
    )


def ranking(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.passage.id, hit.score) for hit in hits]


def test_a_trec_run_in_the_order_of_its_scores(tmp_path: Path, store: Store) -> None:
    lines = [
        "t1 Q0 b 1 1.5 sys",
        "t2 Q0 c 1 9 sys",
        "t1\tQ0\ta\t2\t2.5\tsys",
        "",
        "t1 Q0 d 3 -1e-3 sys",
    ]
    retriever = RunRetriever(path=write(tmp_path / "x.trec", *lines), dataset=CORPUS, store=store)
    assert list(retriever.check()) == []
    retriever.prepare()
    assert ranking(retrieve(retriever, "t1")) == [("a", 2.5), ("b", 1.5), ("d", -0.001)]
    assert retrieve(retriever, "t1", k=1)[0].passage == CORPUS.passages["default"][0]
    assert ranking(retrieve(retriever, "t2")) == [("c", 9.0)]
    assert retrieve(retriever, "t3") == []
    assert retrieve(retriever, "t1", k=0) == []
    assert retriever.retrieve([], 5) == []


def test_equal_scores_follow_the_rank_and_then_the_id(tmp_path: Path, store: Store) -> None:
    lines = ["t Q0 f 2 1 s", "t Q0 e 3 1 s", "t Q0 d 1 1 s", "t Q0 c 3 1 s", "t Q0 b 0 0 s"]
    retriever = RunRetriever(path=write(tmp_path / "x.trec", *lines), dataset=CORPUS, store=store)
    assert [id_ for id_, _ in ranking(retrieve(retriever, "t"))] == ["d", "f", "c", "e", "b"]


def test_recorded_texts_need_no_corpus(tmp_path: Path, store: Store) -> None:
    context = {"id": "ø", "title": "T", "text": "Größe", "score": 2, "url": "u"}
    rows = [
        {
            "turn_id": "t1",
            "contexts": [{"id": "q", "text": "lower", "score": 1.0}, context],
            "answer": "not read",
        },
        {"turn_id": "t2", "contexts": []},
        {"turn_id": "t3", "contexts": [{"id": "ø", "score": 7}]},
    ]
    retriever = RunRetriever(path=write(tmp_path / "x.jsonl", *rows), dataset=NONE, store=store)
    assert list(retriever.check()) == []
    retriever.prepare()
    passage = Passage("ø", "Größe", "T", "u")
    assert retrieve(retriever, "t1") == [Hit(passage, 2.0), Hit(Passage("q", "lower"), 1.0)]
    assert retrieve(retriever, "t2") == []
    assert retrieve(retriever, "t3") == [Hit(passage, 7.0)]


def test_texts_that_were_not_recorded_come_from_the_corpus_or_stay_empty(
    tmp_path: Path, store: Store
) -> None:
    contexts = [
        {"id": "a", "score": 3},
        {"id": "gone", "score": 2},
        {"id": "b", "text": "as recorded", "score": 1},
    ]
    path = write(tmp_path / "x.jsonl", {"turn_id": "t", "contexts": contexts})
    expected = [CORPUS.passages["default"][0], Passage("gone", ""), Passage("b", "as recorded")]
    for dataset, first in [(CORPUS, expected[0]), (Corpora(default=[]), Passage("a", ""))]:
        retriever = RunRetriever(path=path, dataset=dataset, store=store)
        assert list(retriever.check()) == []
        retriever.prepare()
        assert [hit.passage for hit in retrieve(retriever, "t")] == [first, *expected[1:]]


def test_a_run_about_another_corpus_is_found_before_the_run(tmp_path: Path, store: Store) -> None:
    path = write(tmp_path / "x.trec", "t Q0 foreign 1 2.0 s", "t Q0 alien 2 1.0 s")
    for dataset in (CORPUS, Corpora(default=[])):
        (message,) = RunRetriever(path=path, dataset=dataset, store=store).check()
        assert "x.trec" in message
        assert "default" in message
    write(path, "t Q0 foreign 1 2.0 s", "t Q0 f 2 1.0 s")
    assert list(RunRetriever(path=path, dataset=CORPUS, store=store).check()) == []


def test_a_folder_of_runs_serves_several_domains(tmp_path: Path, store: Store) -> None:
    write(tmp_path / "runs" / "moon.trec", "m Q0 same 1 1.0 s")
    write(
        tmp_path / "runs" / "sea.jsonl", {"turn_id": "s", "contexts": [{"id": "same", "score": 1}]}
    )
    dataset = Corpora(moon=[Passage("same", "dust")], sea=[Passage("same", "salt")])
    retriever = RunRetriever(path=tmp_path / "runs", dataset=dataset, store=store)
    assert list(retriever.check()) == []
    assert [hit.passage.text for hit in retrieve(retriever, "m", domain="moon")] == ["dust"]
    assert [hit.passage.text for hit in retrieve(retriever, "s", domain="sea")] == ["salt"]
    with pytest.raises(UnknownName, match="mars"):
        retrieve(retriever, "m", domain="mars")


BROKEN_RUNS = [
    ("x.trec", ["t Q0 a 1 2.0 s", "t Q0 a 2.0 s"], "line 2", "six columns"),
    ("x.trec", ["t Q0 a 1 high s"], "line 1", "'high'"),
    ("x.trec", ["t Q0 a first 1 s"], "line 1", "'first'"),
    ("x.trec", ["t Q0 a 1 nan s"], "line 1", "nan"),
    ("x.trec", ["t Q0 a 1 2 s", "t Q0 a 2 1 s"], "line 2", "twice"),
    ("x.trec", [""], "x.trec", "no ranking"),
    ("x.jsonl", ["{"], "line 1", "JSON"),
    ("x.jsonl", [{"turn_id": "t"}], "line 1", "contexts"),
    ("x.jsonl", [{"contexts": []}], "line 1", "turn_id"),
    (
        "x.jsonl",
        [{"turn_id": "t", "contexts": []}, {"turn_id": "t", "contexts": []}],
        "line 2",
        "already",
    ),
    ("x.jsonl", [{"turn_id": "t", "contexts": ["a"]}], "line 1", "contexts.0"),
    ("x.jsonl", [{"turn_id": "t", "contexts": [{"id": "a"}]}], "line 1", "score"),
    ("x.jsonl", [{"turn_id": "t", "contexts": [{"id": "a", "score": "1"}]}], "line 1", "score"),
    (
        "x.jsonl",
        ['{"turn_id": "t", "contexts": [{"id": "a", "score": Infinity}]}'],
        "line 1",
        "Infinity",
    ),
    (
        "x.jsonl",
        [{"turn_id": "t", "contexts": [{"id": "a", "score": 10**400}]}],
        "line 1",
        "this is not JSON: the ",
    ),
    ("x.jsonl", [{"turn_id": "t", "contexts": [{"id": "a", "score": 1}] * 2}], "line 1", "twice"),
]


@pytest.mark.parametrize(("name", "rows", "place", "what"), BROKEN_RUNS)
def test_a_broken_run_is_found_before_the_run(
    tmp_path: Path, store: Store, name: str, rows: list[Any], place: str, what: str
) -> None:
    retriever = RunRetriever(path=write(tmp_path / name, *rows), dataset=CORPUS, store=store)
    (message,) = retriever.check()
    assert place in message
    assert name in message
    assert what in message
    with pytest.raises(DataError):
        retrieve(retriever, "t")


def test_two_runs_for_one_turn_do_not_blend(tmp_path: Path, store: Store) -> None:
    write(tmp_path / "runs" / "a.trec", "t Q0 a 1 2.0 bm25")
    write(tmp_path / "runs" / "b.trec", "t Q0 b 1 1.0 elser")
    (message,) = RunRetriever(path=tmp_path / "runs", dataset=CORPUS, store=store).check()
    assert "b.trec, line 1" in message
    assert "a.trec" in message
    (message,) = RunRetriever(path=tmp_path / "absent", dataset=CORPUS, store=store).check()
    assert "absent" in message


class NoPassages(TinyDataset):
    """Topics and judgements without a corpus, as TREC publishes them."""

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter(())

    def explain_missing_corpus(self, domain: str) -> str:
        return "They are licensed."


def test_a_run_over_a_data_set_without_passages_is_scored(tmp_path):
    path = write(tmp_path / "run.trec", "tea<::>3 Q0 MARCO_1 1 2.5 tag")
    retriever = RunRetriever(path=path, dataset=NoPassages(), store=Store(tmp_path / "store"))
    assert list(retriever.check()) == []
    hits = retriever.retrieve([Query("Is copper better?", turn_id="tea<::>3")], 5)
    assert [(hit.passage.id, hit.passage.text) for hit in hits] == [("MARCO_1", "")]
    (message,) = RunRetriever(
        path=path, dataset=TinyDataset(), store=Store(tmp_path / "store")
    ).check()
    assert "none of the passages" in message


def test_recorded_filters_are_queries_filters_again(tmp_path: Path) -> None:
    kettles = parse_filter("product=kettle")
    recorded = {"text": "steam", "weight": 1.0, "filter": str(kettles)}
    path = write(tmp_path / "r.jsonl", {"_id": "a<::>1", "text": "steam", "queries": [recorded]})
    asked = replace(question(), turn_id="a<::>1")
    rewrite = ReplayRewriter(dataset=TinyDataset(), path=path).rewrite(asked)
    assert rewrite.queries == (Query("steam", filter=kettles),)
    write(path, {"_id": "a<::>1", "text": "x", "queries": [{**recorded, "filter": "product="}]})
    (problem,) = ReplayRewriter(dataset=TinyDataset(), path=path).check()
    assert "line 1: a query's filter: this filter cannot be read at character 9" in problem
