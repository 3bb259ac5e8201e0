"""MTRAG-UN and the synthetic part, in small files of exactly their form."""

import json
from pathlib import Path
from typing import Any

import pytest

from convrag.testing import DatasetContract
from convrag_datasets.mtrag import MtragDataset


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def make_task(talk: str, number: int, collection: str, **fields: Any) -> dict[str, Any]:
    messages = []
    for each in range(1, number + 1):
        messages += [
            {"speaker": "user", "text": f"{talk} {each}?"},
            {"speaker": "agent", "text": f"{talk} {each}."},
        ]
    return {
        "conversation_id": talk,
        "task_id": f"{talk}<::>{number}",
        "task_type": "rag",
        "turn": str(number),
        "dataset": "MT-RAG 2.0",
        "Collection": collection,
        "contexts": [
            {"document_id": f"{collection}-p1", "text": "text 1", "title": "T", "score": 1}
        ],
        "input": messages[:-1],
        "targets": [messages[-1]],
        **fields,
    }


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """MTRAG-UN has one task for each conversation, short names of collections, and qrels in one
    folder.
    """
    root = tmp_path / "mt-rag-benchmark"
    for domain in ("clapnq", "cloud", "govt"):
        rows = [
            {"_id": f"{domain}-p{n}", "title": "", "text": f"text {n}", "url": ""} for n in (1, 2)
        ]
        write(root / "corpora" / "passage_level" / f"{domain}.jsonl", rows)
    un = root / "mtragun-human"
    (un / "retrieval_tasks" / "qrels").mkdir(parents=True)
    for domain, turn in (("clapnq", "a<::>3"), ("cloud", "b<::>1")):
        text = f"query-id\tcorpus-id\tscore\n{turn}\t{domain}-p1\t1\n"
        (un / "retrieval_tasks" / "qrels" / f"{domain}.tsv").write_text(text)
    tasks = [
        make_task("a", 3, "clapnq", answerability=["ANSWERABLE"], question_type=["Factoid"]),
        make_task("b", 1, "ibmcloud", Answerability="UNDERSPECIFIED"),
        make_task("u", 2, "clapnq", contexts=[]),
        make_task("x", 2, "banking"),
    ]
    write(un / "generation_tasks" / "reference.jsonl", tasks)
    synthetic = [make_task("s", n, "mt-rag-govt-elser-512-100-20240611") for n in (1, 2)]
    write(root / "mtrag-synthetic" / "generation_tasks" / "synthetic.jsonl", synthetic)
    return root


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True, params=["un", "synthetic"])
    def _clone(self, clone: Path, request: pytest.FixtureRequest) -> None:
        self.clone, self.part = clone, request.param

    def make(self) -> MtragDataset:
        return MtragDataset(path=self.clone, part=self.part)


def test_mtrag_un(clone: Path) -> None:
    dataset = MtragDataset(path=clone, part="un")
    assert list(dataset.check()) == []
    assert dataset.domains() == ["clapnq", "cloud"]
    expected = [("a", "clapnq", 2, 1), ("b", "cloud", 0, 1), ("u", "clapnq", 1, 1)]
    assert [
        (each.id, each.domain, len(each.history), len(each.turns))
        for each in dataset.conversations()
    ] == expected
    assert dataset.qrels() == {"a<::>3": {"clapnq-p1": 1}, "b<::>1": {"cloud-p1": 1}}
    first = next(dataset.conversations())
    (asked,) = first.turns
    assert (asked.id, asked.labels) == (
        "a<::>3",
        {"answerability": "ANSWERABLE", "question_type": "Factoid"},
    )
    assert [(turn.question, turn.answer) for turn in first.history] == [
        ("a 1?", "a 1."),
        ("a 2?", "a 2."),
    ]
    assert [passage.id for passage in asked.passages] == ["clapnq-p1"]
    assert dataset.note() == ""
    (cloud,) = MtragDataset(path=clone, part="un", domain="cloud").conversations()
    assert cloud.turns[0].labels == {"answerability": "UNDERSPECIFIED"}


def test_the_synthetic_part(clone: Path) -> None:
    dataset = MtragDataset(path=clone, part="synthetic")
    assert list(dataset.check()) == []
    assert dataset.domains() == ["clapnq", "cloud", "govt"]
    assert dataset.qrels() == {}
    assert "no qrels" in dataset.note()
    (conversation,) = dataset.conversations()
    assert (conversation.domain, [turn.answer for turn in conversation.turns]) == (
        "govt",
        ["s 1.", "s 2."],
    )
    assert [passage.id for passage in dataset.corpus("govt")] == ["govt-p1", "govt-p2"]


def test_the_files_are_those_of_the_part(clone: Path) -> None:
    hashes = {
        part: MtragDataset(path=clone, part=part, domain="clapnq").content_hash()
        for part in ("un", "synthetic")
    }
    path = clone / "mtragun-human" / "retrieval_tasks" / "qrels" / "clapnq.tsv"
    path.write_text(path.read_text() + "u<::>2\tclapnq-p2\t1\n")
    assert MtragDataset(path=clone, part="un", domain="clapnq").content_hash() != hashes["un"]
    assert (
        MtragDataset(path=clone, part="synthetic", domain="clapnq").content_hash()
        == hashes["synthetic"]
    )


def test_the_first_names_of_the_folders(clone: Path) -> None:
    (clone / "mtrag-synthetic").rename(clone / "synthetic")
    assert len(list(MtragDataset(path=clone, part="synthetic").conversations())) == 1


@pytest.mark.parametrize("part", ["un", "synthetic"])
def test_what_is_missing_is_said(clone: Path, part: str) -> None:
    folder = {"un": "mtragun-human", "synthetic": "mtrag-synthetic"}[part]
    (clone / folder).rename(clone / "other")
    (problem,) = MtragDataset(path=clone, part=part).check()
    assert folder in problem
    (problem,) = MtragDataset(path=clone / "nowhere", part=part).check()
    assert "this folder does not exist" in problem
