import json
from pathlib import Path

import pytest

from convrag.api.errors import DataError, UnknownName
from convrag_datasets.doc2dial import Doc2dialDataset, Multidoc2dialDataset
from published_sets import PublishedContract, write_json

TEXT = "Change Of Address\n\nBy law, you must report a change.\nCan you do that online?\nYou can, with your ID."
NAME = "Top 5 DMV#3_0"


def span(name: str, text: str, title: str, *parents: str) -> dict:
    start = TEXT.index(text)
    return {
        "id_sp": name,
        "tag": "u",
        "start_sp": start,
        "end_sp": start + len(text),
        "text_sp": text,
        "title": title,
        "parent_titles": {"id_sp": [], "text": list(parents), "level": []},
        "id_sec": f"t_{name}",
        "start_sec": TEXT.index(title),
        "text_sec": text,
        "end_sec": start + len(text),
    }


SPANS = {
    "2": span("2", "By law, you must report a change.", "Change Of Address"),
    "1": span("1", "Change Of Address", "Change Of Address"),
    "3": span("3", "You can, with your ID.", "Can you do that online?", "Change Of Address"),
}
DOCUMENTS = {
    "doc_data": {
        "dmv": {
            NAME: {
                "doc_id": NAME,
                "title": "Top 5 DMV#3",
                "domain": "dmv",
                "doc_text": TEXT,
                "spans": SPANS,
                "doc_html_ts": "<main></main>",
                "doc_html_raw": "<main></main>",
            }
        },
        "ssa": {
            "Benefits#1_0": {
                "doc_id": "Benefits#1_0",
                "title": "Benefits",
                "doc_text": "None.",
                "spans": {},
            }
        },
    }
}


def spoken(number: int, role: str, act: str, text: str, *references: dict) -> dict:
    return {
        "turn_id": number,
        "role": role,
        "da": act,
        "references": list(references),
        "utterance": text,
    }


def dialogue(name: str, key: str, **fields) -> dict:
    reference = {key: "3", "label": "solution", **fields}
    return {
        "dial_id": name,
        "doc_id": NAME,
        "domain": "dmv",
        "turns": [
            spoken(1, "agent", "greet", "Hello!"),
            spoken(
                2,
                "user",
                "query_condition",
                "I moved. Online?",
                {key: "2", "label": "precondition", **fields},
            ),
            spoken(3, "agent", "respond_solution", "Yes.", reference, reference),
            spoken(4, "agent", "query_condition", "Do you have an ID?"),
            spoken(5, "user", "query_solution", "And by mail?"),
            spoken(6, "agent", "respond_no_solution", "I do not know."),
        ],
    }


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in ("doc2dial", "multidoc2dial"):
        write_json(tmp_path / f"{name}_doc.json", DOCUMENTS)
    dialogues = {"dial_data": {"dmv": {NAME: [dialogue("d1", "sp_id")]}, "ssa": {}}}
    write_json(tmp_path / "doc2dial_dial_validation.json", dialogues)
    dialogues = {"dial_data": {"dmv": [dialogue("m1", "id_sp", doc_id=NAME)], "ssa": []}}
    write_json(tmp_path / "multidoc2dial_dial_validation.json", dialogues)
    return tmp_path


class TestContract(PublishedContract):
    fixture = "folder"

    def make(self) -> Doc2dialDataset:
        return Doc2dialDataset(path=self.path)


class TestContractOfMultidoc2dial(TestContract):
    def make(self) -> Multidoc2dialDataset:
        return Multidoc2dialDataset(path=self.path)


@pytest.mark.parametrize(
    ("option", "name"), [(Doc2dialDataset, "d1"), (Multidoc2dialDataset, "m1")]
)
def test_agents_answer_users_with_spans(folder, option, name):
    dataset = option(path=folder)
    assert list(dataset.check()) == []
    assert list(dataset.domains()) == ["dmv", "ssa"]
    (conversation,) = dataset.conversations()
    assert (conversation.id, conversation.domain) == (name, "dmv")
    first, second = conversation.turns
    assert (first.id, first.question, first.answer) == (
        f"{name}_2",
        "I moved. Online?",
        "Yes.\nDo you have an ID?",
    )
    assert [passage.id for passage in first.passages] == [f"{NAME}#3"]
    assert first.labels == {
        "act": "query_condition",
        "reply": "query_condition",
        "answerability": "ANSWERABLE",
    }
    assert second.labels["answerability"] == "UNANSWERABLE"
    assert dataset.qrels() == {f"{name}_2": {f"{NAME}#3": 1}}


def test_spans_are_passages_of_documents(folder):
    dataset = Doc2dialDataset(path=folder, domain="dmv")
    passages = list(dataset.corpus("dmv"))
    assert [passage.id for passage in passages] == [f"{NAME}#1", f"{NAME}#2", f"{NAME}#3"]
    document = dataset.document("dmv", NAME)
    for passage in passages:
        assert document.text[passage.metadata["start"] : passage.metadata["end"]] == passage.text
        assert passage.metadata["document"] == NAME
    assert passages[2].title == "Top 5 DMV > Change Of Address > Can you do that online?"
    assert dataset.document("ssa", NAME) is None
    assert list(Doc2dialDataset(path=folder).corpus("ssa")) == []
    with pytest.raises(UnknownName, match="'va' does not exist"):
        Doc2dialDataset(path=folder, domain="va").domains()


def break_span(**fields) -> dict:
    broken = json.loads(json.dumps(DOCUMENTS))
    broken["doc_data"]["dmv"][NAME]["spans"]["3"] |= fields
    return broken


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (
            break_span(end_sp=5000),
            r'doc_data\.dmv\["Top 5 DMV#3_0"\]\.spans\["3"\]: the span from 77 to 5000 is not within',
        ),
        (
            break_span(start_sp="x"),
            r'\.spans\["3"\]\.start_sp: this must be a whole number from 0 to',
        ),
        (
            break_span(id_sp="2"),
            r'\.spans\["3"\]: the span id \'2\' occurs twice \(first in doc_data\.dmv\["Top 5 DMV#3_0"\]\.spans\["2"\]\)',
        ),
        ({"docs": {"dmv": {"a": {}}}}, r"this file must hold an object in 'doc_data'"),
        ({"doc_data": {"dmv": []}}, r"doc_data\.dmv: this must be a JSON object, not a list"),
    ],
)
def test_malformed_documents(folder, documents, message):
    write_json(folder / "doc2dial_doc.json", documents)
    with pytest.raises(DataError, match=message):
        list(Doc2dialDataset(path=folder).conversations())


def test_a_reference_to_an_unknown_span(folder):
    broken = dialogue("m1", "id_sp", doc_id="absent")
    write_json(folder / "multidoc2dial_dial_validation.json", {"dial_data": {"dmv": [broken]}})
    (message,) = Multidoc2dialDataset(path=folder).check()
    assert "dial_data.dmv[0].turns[2]: no document has the span 'absent#3'" in message
