import json
from collections import Counter
from pathlib import Path

import pytest

from convrag import ConfigError, DataError, Passage
from convrag.testing import DatasetContract
from convrag_datasets.cast import CastDataset
from convrag_replay.rewriter import ReplayRewriter
from places import ROOT
from published_sets import write_json, write_lines

SHARED = ROOT.parent / "shared" / "data" / "cast"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the files of CAsT")

TOPICS_2021 = [
    {
        "number": 106,
        "turn": [
            {
                "number": 1,
                "raw_utterance": "Which kinds are common?",
                "passage": "There are two kinds.",
                "manual_rewritten_utterance": "Which kinds of breast cancer are common?",
                "canonical_result_id": "MARCO_D59865",
                "passage_id": 7,
                "automatic_rewritten_utterance": "Which kinds of cancer are common?",
            },
            {
                "number": 2,
                "raw_utterance": "Which of them spreads?",
                "passage": "The second spreads.",
                "manual_rewritten_utterance": "Which kind of breast cancer spreads?",
                "canonical_result_id": "KILT_684514",
                "passage_id": 0,
                "automatic_rewritten_utterance": "Which of the kinds spreads?",
            },
        ],
    }
]


def user(number: str, text: str, parent: str = "") -> dict:
    turn = {
        "number": number,
        "participant": "User",
        "utterance": text,
        "manual_rewritten_utterance": f"{text} (m)",
    }
    return turn | ({"parent": parent} if parent else {})


def system(number: str, parent: str, text: str, *provenance: str) -> dict:
    return {
        "number": number,
        "parent": parent,
        "participant": "System",
        "response": text,
        "provenance": list(provenance),
    }


TREE = [
    user("1-1", "A phone?"),
    system("1-2", "1-1", "Consider its battery.", "MARCO_1-1", "KILT_2-1"),
    user("1-3", "Which lasts longest?", "1-2"),
    system("1-4", "1-3", "A big one.", "MARCO_1-2"),
    user("2-1", "And its weight?", "1-2"),
    system("2-2", "2-1", "It is light.", "MARCO_1-3"),
    system("3-1", "1-1", "What for?"),
    user("3-2", "For work.", "3-1"),
    system("3-3", "3-2", "Take this one.", "MARCO_1-4"),
    system("3-4", "3-3", "Or that one.", "MARCO_1-5"),
    system("4-1", "2-1", "It is heavy.", "MARCO_1-6"),
]


def write_2021(folder: Path) -> Path:
    write_json(folder / "2021" / "2021_manual_evaluation_topics_v1.0.json", TOPICS_2021)
    write_json(folder / "2021" / "2021_automatic_evaluation_topics_v1.0.json", TOPICS_2021)
    write_lines(
        folder / "2021" / "trec-cast-qrels-docs.2021.qrel",
        "106_1 0 MARCO_D59865 4",
        "106_1 0 KILT_1 0",
    )
    return folder


def write_tree(folder: Path, turns: list[dict], qrels: bool = False) -> Path:
    write_json(
        folder / "2022" / "2022_evaluation_topics_tree_v1.0.json", [{"number": 132, "turn": turns}]
    )
    if qrels:
        write_lines(
            folder / "2022" / "cast2022.qrel", "132_1-1 0 MARCO_1-1 3", "132_3-2 0 MARCO_1-4 1"
        )
    return folder


@pytest.fixture
def year_2021(tmp_path) -> Path:
    return write_2021(tmp_path)


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.path = write_tree(write_2021(tmp_path), TREE, qrels=True)

    def make(self) -> CastDataset:
        return CastDataset(path=self.path, year=2022)


class TestContract2021(TestContract):
    def make(self) -> CastDataset:
        return CastDataset(path=self.path, year=2021)


def test_2021_has_canonical_passages_as_answers(year_2021):
    dataset = CastDataset(path=year_2021, year=2021)
    assert list(dataset.check()) == []
    (conversation,) = dataset.conversations()
    first, second = conversation.turns
    assert (conversation.id, first.id, second.id) == ("106", "106_1", "106_2")
    assert first.answer == "There are two kinds."
    assert first.passages == (
        Passage("MARCO_D59865-7", "There are two kinds.", metadata={"result": "MARCO_D59865"}),
    )
    assert second.labels == {"provenance": ["KILT_684514-0"]}
    assert dataset.qrels() == {"106_1": {"MARCO_D59865": 4, "KILT_1": 0}}
    assert dataset.rewrites()["manual"]["106_2"] == "Which kind of breast cancer spreads?"
    assert dataset.rewrites()["automatic"]["106_2"] == "Which of the kinds spreads?"


def test_rewrites_of_the_data_set_are_replayed(year_2021):
    dataset = CastDataset(path=year_2021, year=2021)
    rewriter = ReplayRewriter(dataset=dataset, kind="automatic")
    assert list(rewriter.check()) == []
    assert dict(rewriter._rewrites())["106_1"][0].text == "Which kinds of cancer are common?"
    (several,) = ReplayRewriter(dataset=dataset).check()
    assert "rewriter.kind=manual or automatic" in several
    (unknown,) = ReplayRewriter(dataset=dataset, kind="resolved").check()
    assert "'resolved' does not exist" in unknown
    with pytest.raises(ConfigError, match="keep one of them"):
        ReplayRewriter(dataset=dataset, kind="manual", path=Path("rewrites.jsonl"))


def test_each_branch_of_a_tree_is_a_conversation_and_each_turn_is_asked_once(tmp_path):
    dataset = CastDataset(path=write_tree(tmp_path, TREE, qrels=True), year=2022)
    assert list(dataset.check()) == []
    first, second, third = dataset.conversations()
    assert [each.id for each in (first, second, third)] == ["132_1-4", "132_2-2", "132_3-4"]
    assert [turn.id for turn in first.turns] == ["132_1-1", "132_1-3"]
    assert [turn.answer for turn in second.history] == ["Consider its battery."]
    assert [turn.id for turn in second.turns] == ["132_2-1"]
    assert [(turn.id, turn.answer, turn.labels["grounded"]) for turn in third.history] == [
        ("132_1-1", "What for?", "no")
    ]
    assert third.turns[0].answer == "Take this one.\nOr that one."
    assert third.turns[0].labels == {"provenance": ["MARCO_1-4", "MARCO_1-5"], "grounded": "yes"}
    assert dataset.rewrites()["manual"]["132_3-2"] == "For work. (m)"


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        (
            [user("1-1", "A?", "9-9")],
            r"\[0\]\.turn\[0\]: the parent '9-9' of the turn '1-1' is no turn of this topic",
        ),
        (
            [user("1-1", "A?"), user("1-1", "B?")],
            r"\[0\]\.turn\[1\]: the turn id '1-1' occurs twice \(first in \[0\]\.turn\[0\]",
        ),
        ([system("1-1", "", "Hello!") | {"parent": None}], r"no user speaks in the topic '132'"),
        ([user("1-1", " ")], r"\[0\]\.turn\[0\]\.utterance: the text is empty"),
        (
            [user("1-1", "A?") | {"participant": "Dog"}],
            r"'participant' must be User or System, not 'dog'",
        ),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path, turns, message):
    dataset = CastDataset(path=write_tree(tmp_path, turns), year=2022)
    with pytest.raises(DataError, match=message):
        list(dataset.conversations())


def test_the_path_of_a_wrong_value_is_named(year_2021):
    broken = json.loads(json.dumps(TOPICS_2021))
    broken[0]["turn"][1]["raw_utterance"] = 5
    write_json(year_2021 / "2021" / "2021_manual_evaluation_topics_v1.0.json", broken)
    (message,) = CastDataset(path=year_2021, year=2021).check()
    assert "2021_manual_evaluation_topics_v1.0.json: " in message
    assert "[0].turn[1].raw_utterance: this must be a string, not a number" in message


def test_judgements_of_other_turns_are_refused(year_2021):
    write_lines(year_2021 / "2021" / "trec-cast-qrels-docs.2021.qrel", "106_9 0 MARCO_D59865 4")
    (message,) = CastDataset(path=year_2021, year=2021).check()
    assert (
        "2021.qrel, line 1: 1 of 1 judged turns are in no conversation, for instance '106_9'"
        in message
    )


def test_a_folder_without_the_year_and_an_unknown_year(tmp_path):
    (message,) = CastDataset(path=tmp_path, year=2020).check()
    assert "it holds no 2020_manual_evaluation_topics_v1.0.json" in message
    assert "treccastweb" in message
    (message,) = CastDataset(path=tmp_path / "absent", year=2020).check()
    assert "does not exist" in message
    with pytest.raises(ConfigError, match="dataset.year=2018"):
        CastDataset(path=tmp_path, year=2018)


def test_texts_come_from_a_corpus_that_is_given(tmp_path):
    corpus = write_lines(
        tmp_path / "c.jsonl", {"_id": "MARCO_1-2", "text": "Big ones."}, {"_id": "x", "text": "X."}
    )
    dataset = CastDataset(path=write_tree(tmp_path, TREE), year=2022, corpus=corpus)
    assert [passage.id for passage in dataset.corpus("default")] == ["MARCO_1-2", "x"]
    first = next(dataset.conversations())
    assert [turn.passages for turn in first.turns] == [(), (Passage("MARCO_1-2", "Big ones."),)]
    without = CastDataset(path=tmp_path, year=2022)
    assert list(without.corpus("default")) == []
    assert "dataset.corpus=FILE.jsonl" in without.explain_missing_corpus("default")
    assert "without judgements" in without.note()


@needs_shared
@pytest.mark.parametrize(
    ("year", "topics", "turns", "judged"), [(2019, 50, 479, 173), (2020, 25, 216, 208)]
)
def test_published_topics(year, topics, turns, judged):
    dataset = CastDataset(path=SHARED, year=year)
    assert list(dataset.check()) == []
    conversations = list(dataset.conversations())
    assert len(conversations) == topics
    assert sum(len(each.turns) for each in conversations) == turns
    assert len(dataset.qrels()) == judged
    assert {len(texts) for texts in dataset.rewrites().values()} == {turns}


@needs_shared
def test_published_trees_ask_each_turn_once_and_have_the_published_branches():
    dataset = CastDataset(path=SHARED, year=2022)
    assert list(dataset.check()) == []
    conversations = list(dataset.conversations())
    counts = Counter(turn.id for each in conversations for turn in each.turns)
    published = json.loads((SHARED / "2022" / "2022_evaluation_topics_turn_ids.json").read_text())
    assert set(counts) == {
        f"{topic}_{number}" for topic, numbers in published.items() for number in numbers
    }
    assert set(counts.values()) == {1}
    flattened = json.loads(
        (SHARED / "2022" / "2022_evaluation_topics_flattened_duplicated_v1.0.json").read_text()
    )
    branches = {
        tuple(f"{topic['number']}_{turn['number']}" for turn in topic["turn"])
        for topic in flattened
    }
    read = {tuple(turn.id for turn in (*each.history, *each.turns)) for each in conversations}
    assert read == branches
