import json
import zipfile
from pathlib import Path

import pytest

from convrag import ConvragError, Passage, Turn
from convrag.testing import DatasetContract
from convrag_datasets.jsonl import JsonlDataset
from convrag_datasets.mtrag import MtragDataset, find_domain

COLLECTIONS = {
    "clapnq": "mt-rag-clapnq-elser-512-100-20240503",
    "cloud": "mt-rag-ibmcloud-elser-512-100-20240502",
    "fiqa": "mt-rag-fiqa-beir-elser-512-100-20240501",
    "govt": "mt-rag-govt-elser-512-100-20240611",
}
DOMAINS = sorted(COLLECTIONS)


def write(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def question(domain: str, number: int) -> str:
    return f"{domain} question {number}?"


def task(domain: str, number: int, **fields) -> dict:
    messages = []
    for each in range(1, number + 1):
        messages.append({"speaker": "user", "text": question(domain, each), "metadata": {}})
        messages.append({"speaker": "agent", "text": f"{domain} answer {each}.", "metadata": {}})
    return {
        "conversation_id": f"{domain}-talk",
        "task_id": f"{domain}-talk<::>{number}",
        "turn": str(number),
        "Collection": COLLECTIONS[domain],
        "contexts": [
            {
                "document_id": f"{domain}-p1",
                "text": "t",
                "title": None,
                "url": "http://u",
                "score": 1.5,
            }
        ],
        "input": messages[:-1],
        "targets": [{"speaker": "agent", "text": messages[-1]["text"]}],
        "Answerability": ["ANSWERABLE"],
        "Question Type": ["Factoid", "Keyword"],
        "Multi-Turn": "Follow-up",
        **fields,
    }


def query(domain: str, number: int) -> dict:
    text = "\n".join(f"|user|: {question(domain, each)}" for each in range(1, number + 1))
    return {"_id": f"{domain}-talk<::>{number}", "text": text}


@pytest.fixture
def clone(tmp_path) -> Path:
    """A full clone in small: turn 1 has no qrels, turn 2 only stands in turn 3's history."""
    root = tmp_path / "mt-rag-benchmark"
    for domain in DOMAINS:
        tasks = root / "mtrag-human" / "retrieval_tasks" / domain
        write(tasks / f"{domain}_questions.jsonl", [query(domain, 3), query(domain, 10)])
        (tasks / "qrels").mkdir()
        rows = [f"{domain}-talk<::>{number}\t{domain}-p1\t1\n" for number in (3, 10)]
        (tasks / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
        passages = [
            {"_id": f"{domain}-p{n}", "title": "", "text": f"text {n}", "url": ""} for n in (1, 2)
        ]
        corpus = write(root / "corpora" / "passage_level" / f"{domain}.jsonl", passages)
        if domain != "fiqa":
            with zipfile.ZipFile(
                corpus.with_suffix(".jsonl.zip"), "w", zipfile.ZIP_DEFLATED
            ) as archive:
                archive.writestr("__MACOSX/._" + corpus.name, b"\x00\x05\x16\x07\x00")
                archive.write(corpus, corpus.name)
            corpus.unlink()
    (root / "mtrag-human" / "retrieval_tasks" / "README.md").write_text("not a domain")
    tasks = [task(domain, number) for number in (10, 1, 3) for domain in reversed(DOMAINS)]
    write(root / "mtrag-human" / "generation_tasks" / "reference.jsonl", tasks)
    return root


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _clone(self, clone):
        self.clone = clone

    def make(self) -> MtragDataset:
        return MtragDataset(path=self.clone)


def reference(clone: Path) -> Path:
    return clone / "mtrag-human" / "generation_tasks" / "reference.jsonl"


class TestFullClone:
    def test_all_domains(self, clone):
        dataset = MtragDataset(path=clone)
        assert list(dataset.check()) == []
        assert list(dataset.domains()) == DOMAINS
        assert [(c.id, c.domain) for c in dataset.conversations()] == [
            (f"{d}-talk", d) for d in reversed(DOMAINS)
        ]
        assert len(dataset.qrels()) == 8
        for domain in DOMAINS:
            assert [passage.id for passage in dataset.corpus(domain)] == [
                f"{domain}-p1",
                f"{domain}-p2",
            ]

    def test_turns_come_from_tasks_and_from_histories_of_later_ones(self, clone):
        (conversation,) = MtragDataset(path=clone, domain="govt").conversations()
        assert [turn.id for turn in conversation.turns] == [
            f"govt-talk<::>{number}" for number in range(1, 11)
        ]
        assert [turn.question for turn in conversation.turns] == [
            question("govt", n) for n in range(1, 11)
        ]
        assert [turn.answer for turn in conversation.turns] == [
            f"govt answer {n}." for n in range(1, 11)
        ]
        labels = {
            "answerability": "ANSWERABLE",
            "question_type": ["Factoid", "Keyword"],
            "multi_turn": "Follow-up",
        }
        passage = Passage("govt-p1", "t", "", "http://u")
        assert conversation.turns[2] == Turn(
            "govt-talk<::>3", question("govt", 3), "govt answer 3.", (passage,), labels
        )
        assert conversation.turns[1] == Turn(
            "govt-talk<::>2", question("govt", 2), "govt answer 2."
        )

    @pytest.mark.parametrize(
        ("domain", "chosen"),
        [("cloud", ["cloud"]), ("govt+fiqa", ["govt", "fiqa"]), ("fiqa + fiqa", ["fiqa"])],
    )
    def test_chosen_domains(self, clone, domain, chosen):
        dataset = MtragDataset(path=clone, domain=domain)
        assert list(dataset.domains()) == chosen
        assert {conversation.domain for conversation in dataset.conversations()} == set(chosen)
        assert {turn.partition("-")[0] for turn in dataset.qrels()} == set(chosen)

    def test_only_chosen_corpora_are_needed(self, clone):
        for path in (clone / "corpora" / "passage_level").glob("[!g]*"):
            path.unlink()
        assert list(MtragDataset(path=clone, domain="govt").check()) == []
        problems = list(MtragDataset(path=clone, domain="govt+cloud+fiqa").check())
        assert len(problems) == 2
        assert "cloud.jsonl.zip: the corpus of 'cloud' is missing" in problems[0]
        assert "fiqa.jsonl.zip: the corpus of 'fiqa' is missing" in problems[1]

    def test_an_unpacked_corpus_is_preferred(self, clone):
        plain = write(
            clone / "corpora" / "passage_level" / "govt.jsonl", [{"_id": "new", "text": "t"}]
        )
        dataset = MtragDataset(path=clone, domain="govt")
        assert [passage.id for passage in dataset.corpus("govt")] == ["new"]
        assert dataset.corpus_fingerprint("govt") == JsonlDataset(
            queries=plain, corpus=plain
        ).corpus_fingerprint("default")

    def test_prefix_speaker_and_missing_fields(self, clone):
        bare = {
            "task_id": "x<::>1",
            "Collection": "MT-RAG-GOVT",
            "input": [{"speaker": "user", "text": "|user|: Why?"}],
        }
        write(
            reference(clone),
            [
                bare | {"task_id": "govt-talk<::>3"},
                bare | {"task_id": "govt-talk<::>10", "targets": []},
            ],
        )
        (conversation,) = MtragDataset(path=clone, domain="govt").conversations()
        assert conversation.turns == (
            Turn("govt-talk<::>3", "Why?"),
            Turn("govt-talk<::>10", "Why?"),
        )

    def test_the_next_task_knows_a_missing_turn_best(self, clone):
        late, next_one = task("govt", 10), task("govt", 3)
        late["input"][2] = {"speaker": "user", "text": "edited later"}
        write(reference(clone), [late, next_one])
        (conversation,) = MtragDataset(path=clone, domain="govt").conversations()
        assert conversation.turns[1].question == question("govt", 2)

    def test_a_history_that_lost_its_beginning_keeps_its_numbers(self, clone):
        late = task("govt", 10)
        late["input"] = late["input"][-3:]
        write(reference(clone), [late, task("govt", 3)])
        (conversation,) = MtragDataset(path=clone, domain="govt").conversations()
        assert [turn.id.partition("<::>")[2] for turn in conversation.turns] == [
            "1",
            "2",
            "3",
            "9",
            "10",
        ]
        assert conversation.turns[3].question == question("govt", 9)


class TestWithoutGenerationTasks:
    def test_questions_make_the_conversations(self, clone):
        reference(clone).unlink()
        dataset = MtragDataset(path=clone, domain="cloud+clapnq")
        assert list(dataset.check()) == []
        assert "no answers" in dataset.note()
        first, second = dataset.conversations()
        assert (first.id, first.domain, second.domain) == ("cloud-talk", "cloud", "clapnq")
        assert first.turns == tuple(
            Turn(f"cloud-talk<::>{n}", question("cloud", n)) for n in range(1, 11)
        )
        assert len(dataset.qrels()) == 4

    def test_with_them_there_is_nothing_to_say(self, clone):
        assert MtragDataset(path=clone).note() == ""

    def test_neither_is_there(self, clone):
        reference(clone).unlink()
        missing = clone / "mtrag-human" / "retrieval_tasks" / "govt" / "govt_questions.jsonl"
        missing.unlink()
        assert list(MtragDataset(path=clone, domain="govt").check()) == [
            f"{missing}: this file does not exist"
        ]


class TestBadInput:
    def test_no_folder(self, tmp_path):
        dataset = MtragDataset(path=tmp_path / "no")
        (problem,) = dataset.check()
        assert problem.startswith(f"{tmp_path / 'no'}: this folder does not exist")
        assert dataset.content_hash() == ""

    def test_another_folder(self, tmp_path):
        (problem,) = MtragDataset(path=tmp_path).check()
        assert "this is no clone of MTRAG" in problem
        assert "dataset.path" in problem

    @pytest.mark.parametrize("domain", ["clapnk", "clapnq+clapnk"])
    def test_unknown_domain(self, clone, domain):
        (problem,) = MtragDataset(path=clone, domain=domain).check()
        assert "'clapnk' does not exist. Did you mean 'clapnq'?" in problem
        assert "all, clapnq, cloud, fiqa, govt" in problem
        with pytest.raises(ConvragError):
            MtragDataset(path=clone, domain=domain).conversations()

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"task_id": "govt-talk<::>last"},
                "'task_id' must be conversation<::>turn with a number",
            ),
            (
                {"task_id": "govt-talk<::>3"},
                "the turn 'govt-talk<::>3' occurs twice (first in line 1)",
            ),
            (
                {"task_id": f"govt-talk<::>{'9' * 5000}"},
                "'task_id' must be conversation<::>turn with a number",
            ),
            ({"Collection": None}, "there is no 'Collection'"),
            ({"input": []}, "input: this list is empty"),
            ({"input": [{"speaker": "user", "text": " "}]}, "input[0].text: the text is empty"),
            (
                {"input": [{"speaker": "user", "text": "|user|: "}]},
                "input[0]: the question is empty",
            ),
            ({"input": "hello"}, "input: this must be a list, not a string"),
            ({"targets": ["yes"]}, "targets[0]: this must be a JSON object, not a string"),
            ({"contexts": [{"text": "t"}]}, "contexts[0]: there is no 'document_id'"),
            ({"Answerability": [1]}, "'Answerability' must be a string or a list of strings"),
        ],
    )
    def test_a_broken_task_is_named(self, clone, fields, message):
        path = write(reference(clone), [task("govt", 3), task("govt", 10) | fields])
        problems = list(MtragDataset(path=clone, domain="govt").check())
        assert len(problems) == 1
        assert problems[0].startswith(f"{path}, line 2: {message}")

    def test_no_conversation_about_the_domain(self, clone):
        path = write(reference(clone), [task("govt", 3)])
        assert list(MtragDataset(path=clone, domain="fiqa").check()) == [
            f"{path}: this file holds no conversations about fiqa"
        ]

    def test_qrels_without_a_turn(self, clone):
        path = clone / "mtrag-human" / "retrieval_tasks" / "fiqa" / "qrels" / "dev.tsv"
        path.write_text(path.read_text() + "lost<::>1\tfiqa-p1\t1\n")
        (problem,) = MtragDataset(path=clone, domain="govt+fiqa").check()
        assert (
            f"{path}, line 4: 1 of 3 judged turns are in no conversation, for instance 'lost<::>1'; one"
            in problem
        )


def test_contents_depend_on_the_chosen_domains_alone(clone):
    govt, cloud, everything = (
        MtragDataset(path=clone, domain=name).content_hash() for name in ("govt", "cloud", "all")
    )
    assert len({govt, cloud, everything}) == 3
    qrels = clone / "mtrag-human" / "retrieval_tasks" / "cloud" / "qrels" / "dev.tsv"
    qrels.write_text(qrels.read_text().replace("p1", "p2"))
    assert MtragDataset(path=clone, domain="govt").content_hash() == govt
    assert MtragDataset(path=clone, domain="cloud").content_hash() != cloud


def test_the_domain_of_an_index():
    for domain, collection in COLLECTIONS.items():
        assert find_domain(collection, DOMAINS) == domain
        assert find_domain(collection.upper(), DOMAINS) == domain
        assert find_domain(domain, DOMAINS) == domain
    assert find_domain("mt-rag-ibmcloud", ["cloud", "ibmcloud"]) == "ibmcloud"
    assert find_domain("mt-rag-banking", DOMAINS) == ""
