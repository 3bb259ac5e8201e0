import gzip
import json
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from convrag import ConfigError, ConvragError, DataError, Passage, Turn
from convrag.store.fingerprint import compute_fingerprint
from convrag.testing import DatasetContract
from convrag_datasets.jsonl import JsonlDataset


def jsonl(path: Path, *rows) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def talk(tmp_path) -> Path:
    turns = [
        {"question": "What is the Moon?", "answer": "A satellite."},
        {"question": "How far is it?"},
    ]
    return jsonl(tmp_path / "talk.jsonl", {"id": "c1", "turns": turns})


@pytest.fixture
def passages(tmp_path) -> Path:
    return jsonl(
        tmp_path / "corpus.jsonl",
        {"_id": "p1", "title": "Moon", "text": "The Moon is a satellite.", "url": "http://m"},
        {
            "id": "p2",
            "text": "Größe: 3474 km 🌕",
            "title": None,
            "year": 1969,
            "metadata": {"page": 3},
        },
    )


class TestContract(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, talk, passages):
        self.files = {"conversations": talk, "corpus": passages}

    def make(self) -> JsonlDataset:
        return JsonlDataset(**self.files)


def problem(**files) -> str:
    """The one problem that check() finds."""
    problems = list(JsonlDataset(**files).check())
    assert len(problems) == 1
    return problems[0]


class TestConversations:
    def test_ids_labels_and_domain(self, tmp_path):
        turn = {
            "id": "t-9",
            "question": " Wie groß? ",
            "answer": None,
            "answerability": "PARTIAL",
            "hard": True,
        }
        path = jsonl(
            tmp_path / "c.jsonl",
            {"id": "c1", "turns": [turn, {"question": "b"}]},
            {"id": "c0", "turns": [turn | {"id": "u"}]},
        )
        conversations = list(JsonlDataset(conversations=path, domain="space").conversations())
        assert [conversation.id for conversation in conversations] == ["c1", "c0"]
        assert {conversation.domain for conversation in conversations} == {"space"}
        assert conversations[0].turns[0] == Turn(
            "t-9", " Wie groß? ", labels={"answerability": "PARTIAL", "hard": True}
        )
        assert conversations[0].turns[1].id == "c1<::>2"

    def test_chat_messages(self, tmp_path):
        messages = [
            {"role": "system", "content": "Be kind."},
            {"role": "assistant", "content": "Hello!"},
            {"role": "user", "content": "What is the Moon?"},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "content": "42"},
            {"role": "assistant", "content": "A satellite."},
            {"role": "assistant", "content": "Ours."},
            {"role": "user", "content": "Hm."},
            {"role": "user", "content": "How far?"},
        ]
        path = jsonl(tmp_path / "c.jsonl", {"id": "c", "messages": messages})
        (conversation,) = JsonlDataset(conversations=path).conversations()
        assert conversation.turns == (
            Turn("c<::>1", "What is the Moon?", "A satellite.\nOurs."),
            Turn("c<::>2", "Hm."),
            Turn("c<::>3", "How far?"),
        )

    def test_mark_line_ends_and_blank_lines_are_tolerated(self, tmp_path):
        path = tmp_path / "c.jsonl"
        line = b'{"id": "c%d", "turns": [{"question": "a\xe2\x80\xa8b"}]}\r\n'
        path.write_bytes(b"\xef\xbb\xbf" + line % 1 + b"\r\n   \r\n" + (line % 2).rstrip())
        conversations = list(JsonlDataset(conversations=path).conversations())
        assert [conversation.id for conversation in conversations] == ["c1", "c2"]
        assert (
            conversations[0].turns[0].question == "a\u2028b"
        )  # JSON allows this line separator within a string

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"id": "c"', "this is not JSON"),
            ({"turns": [{"question": "q"}]}, "there is no 'id'"),
            ({"id": "c"}, "there is no 'turns'"),
            (
                {"id": "c", "turns": [{"question": "q"}, {"answer": "a"}]},
                "turns[1]: there is no 'question'",
            ),
            (
                {"id": "c", "turns": [{"question": "q", "id": "x"}] * 2},
                "the turn id 'x' occurs twice",
            ),
            (
                {"id": "c", "turns": [{"question": "q", "id": "first<::>1"}]},
                "'first<::>1' occurs twice (first in line 1)",
            ),
            (
                {"id": "first", "turns": [{"question": "q"}]},
                "conversation id 'first' occurs twice (first in line 1)",
            ),
            (
                {"id": "c", "messages": [{"role": "assistant", "content": "Hi"}]},
                "no user speaks in the conversation 'c'",
            ),
            (
                {"id": "c", "messages": [{"role": "bot", "content": "q"}]},
                "messages[0]: the role must be user or assistant",
            ),
            (
                {"id": "c", "messages": [{"role": "user", "content": ""}]},
                "messages[0].content: the text is empty",
            ),
            ({"id": "c", "turns": [], "messages": []}, "both 'turns' and 'messages'"),
        ],
    )
    def test_a_broken_line_is_named(self, tmp_path, line, message):
        path = jsonl(tmp_path / "c.jsonl", {"id": "first", "turns": [{"question": "q"}]}, "", line)
        dataset = JsonlDataset(conversations=path)
        with pytest.raises(DataError) as caught:
            list(dataset.conversations())
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{path}, line 3: ")
        assert (caught.value.path, caught.value.line) == (path, 3)
        assert list(dataset.check()) == [str(caught.value)]

    @pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
    def test_an_empty_file(self, tmp_path, content):
        path = tmp_path / "c.jsonl"
        path.write_bytes(content)
        assert problem(conversations=path) == f"{path}: this file holds no conversations"


LONG = f"long<::>{'9' * 5000}"


class TestQueries:
    def test_ids_make_conversations(self, tmp_path):
        path = jsonl(
            tmp_path / "q.jsonl",
            {"_id": "b<::>10", "text": "|user|: ten"},
            {"_id": "alone", "text": "no |user|: prefix"},
            {"_id": "b<::>2", "text": "|user|: one\n|user|: two\nlines", "metadata": {}},
            {"_id": "x<::>y", "text": "no number"},
            {"_id": "a<::>b<::>1", "text": "|user|:nested"},
            {"_id": LONG, "text": "a number that is too long to be one"},
        )
        dataset = JsonlDataset(queries=path, domain="d")
        found = [
            (c.id, [(turn.id, turn.question) for turn in c.turns]) for c in dataset.conversations()
        ]
        assert found == [
            ("b", [("b<::>2", "two\nlines"), ("b<::>10", "ten")]),
            ("alone", [("alone", "no |user|: prefix")]),
            ("x<::>y", [("x<::>y", "no number")]),
            ("a<::>b", [("a<::>b<::>1", "nested")]),
            (LONG, [(LONG, "a number that is too long to be one")]),
        ]
        assert {conversation.domain for conversation in dataset.conversations()} == {"d"}

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (
                {"_id": "a<::>1", "text": "again"},
                "the turn 'a<::>1' occurs twice (first in line 1)",
            ),
            (
                {"text": "t"},
                "there is no '_id' or 'id'; it has text. Other names: dataset.columns, corpus_columns",
            ),
            ({"_id": "q", "text": "|user|: "}, "the question is empty"),
        ],
    )
    def test_a_broken_line_is_named(self, tmp_path, row, message):
        path = jsonl(tmp_path / "q.jsonl", {"_id": "a<::>1", "text": "one"}, row)
        assert problem(queries=path) == f"{path}, line 2: {message}"

    def test_a_corpus_may_stand_alone(self, passages):
        dataset = JsonlDataset(corpus=passages)
        assert list(dataset.check()) == []
        assert list(dataset.conversations()) == []
        assert len(list(dataset.corpus("default"))) == 2

    def test_not_both_kinds_of_questions_and_not_nothing_at_all(self, talk):
        with pytest.raises(ConfigError, match="none is given"):
            JsonlDataset()
        with pytest.raises(ConfigError, match="not both"):
            JsonlDataset(conversations=talk, queries=talk)


class TestCorpus:
    def test_fields(self, talk, passages):
        dataset = JsonlDataset(conversations=talk, corpus=passages)
        assert dataset.domains() == ("default",)
        assert list(dataset.check()) == []
        assert list(dataset.corpus("default")) == [
            Passage("p1", "The Moon is a satellite.", "Moon", "http://m"),
            Passage(
                "p2",
                "Größe: 3474 km 🌕",
                metadata={"page": 3, "year": 1969, "fields": {"page": 3, "year": 1969}},
            ),
        ]

    def test_none(self, talk):
        dataset = JsonlDataset(conversations=talk)
        assert list(dataset.check()) == []
        assert list(dataset.corpus("default")) == []
        assert dataset.corpus_fingerprint("default") == JsonlDataset(
            conversations=talk
        ).corpus_fingerprint("default")
        with pytest.raises(ConvragError, match="Choose from: default"):
            dataset.corpus("other")

    def test_an_empty_text_is_kept_since_published_corpora_have_some(self, talk, tmp_path):
        path = jsonl(tmp_path / "c.jsonl", {"_id": "p1", "title": "", "text": ""})
        assert list(JsonlDataset(conversations=talk, corpus=path).corpus("default")) == [
            Passage("p1", "")
        ]

    @pytest.mark.parametrize("kind", ["gz", "zip"])
    def test_packed(self, talk, passages, tmp_path, kind):
        path = tmp_path / f"corpus.jsonl.{kind}"
        if kind == "gz":
            path.write_bytes(gzip.compress(passages.read_bytes()))
        else:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("__MACOSX/folder/data.jsonl", b"\x00\x05\x16\x07")
                archive.writestr("folder/", b"")
                archive.writestr("folder/.hidden.jsonl", b"{}")
                archive.writestr("folder/README.md", b"words")
                archive.write(passages, "folder/data.jsonl")
        packed = JsonlDataset(conversations=talk, corpus=path)
        assert list(packed.check()) == []
        assert list(packed.corpus("default")) == list(
            JsonlDataset(conversations=talk, corpus=passages).corpus("default")
        )

    def test_it_streams(self, talk, tmp_path):
        path = jsonl(
            tmp_path / "c.jsonl",
            {"_id": "p1", "text": "fine"},
            {"_id": "p2", "text": "fine"},
            "broken",
        )
        dataset = JsonlDataset(conversations=talk, corpus=path)
        assert list(dataset.check()) == []
        stream = dataset.corpus("default")
        assert [next(stream).id, next(stream).id] == ["p1", "p2"]
        with pytest.raises(DataError, match="line 3: this is not JSON"):
            next(stream)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (
                {"_id": "p1", "text": "again"},
                "line 2: the passage id 'p1' occurs twice (first in line 1)",
            ),
            ({"text": "t"}, "line 2: there is no '_id' or 'id'"),
            ({"_id": "p2"}, "line 2: there is no 'text'"),
            (
                {"_id": "p2", "text": "t", "title": ["x"]},
                "line 2: title: this must be a string, not a list",
            ),
        ],
    )
    def test_a_broken_line_is_named(self, talk, tmp_path, row, message):
        path = jsonl(tmp_path / "corpus.jsonl", {"_id": "p1", "text": "one"}, row)
        with pytest.raises(DataError) as caught:
            list(JsonlDataset(conversations=talk, corpus=path).corpus("default"))
        assert str(caught.value).startswith(f"{path}, {message}")

    def test_check_sees_that_it_is_missing_or_empty(self, talk, tmp_path):
        assert "this file does not exist" in problem(
            conversations=talk, corpus=tmp_path / "no.jsonl"
        )
        assert "this corpus holds no passages" in problem(
            conversations=talk, corpus=jsonl(tmp_path / "e.jsonl")
        )
        with pytest.raises(DataError, match="does not exist"):
            JsonlDataset(conversations=talk, corpus=tmp_path / "no.jsonl").corpus_fingerprint(
                "default"
            )


class TestFingerprints:
    def test_a_corpus_is_the_same_wherever_it_lies(self, talk, passages, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        copy = Path(shutil.copyfile(passages, elsewhere / passages.name))
        here = JsonlDataset(conversations=talk, corpus=passages)
        there = JsonlDataset(conversations=talk, corpus=copy, domain="d")
        assert here.corpus_fingerprint("default") == there.corpus_fingerprint("d")
        assert here.content_hash() == there.content_hash()

    def test_changed_content_is_another_even_in_the_same_object(self, talk, passages):
        dataset = JsonlDataset(conversations=talk, corpus=passages)
        before = dataset.corpus_fingerprint("default"), dataset.content_hash()
        with passages.open("a", encoding="utf-8") as file:
            file.write('{"_id": "p3", "text": "more"}\n')
        after = dataset.corpus_fingerprint("default"), dataset.content_hash()
        assert before[0] != after[0]
        assert before[1] != after[1]

    def test_contents_tell_all_files_apart(self, talk, passages, tmp_path):
        qrels = tmp_path / "qrels.tsv"
        qrels.write_text("c1<::>1\tp1\t1\n")
        variants = [
            JsonlDataset(conversations=talk),
            JsonlDataset(queries=talk),
            JsonlDataset(conversations=talk, corpus=passages),
            JsonlDataset(conversations=talk, qrels=qrels),
            JsonlDataset(conversations=talk, qrels=tmp_path / "missing.tsv"),
        ]
        assert len({dataset.content_hash() for dataset in variants}) == len(variants)
        assert all(compute_fingerprint(dataset, "jsonl", {}) for dataset in variants)


class TestQrels:
    HEADER = "query-id\tcorpus-id\tscore\n"

    @pytest.mark.parametrize(
        "content",
        [
            HEADER + "c1<::>1\tp1\t1\nc1<::>1\tp 2\t0\n",
            "c1<::>1\tp1\t1\nc1<::>1\tp 2\t0\n",
            "\ufeff"
            + HEADER.replace("\n", "\r\n")
            + "c1<::>1\tp1\t1\r\n\r\nc1<::>1\tp 2\t0\r\nc1<::>1\tp1\t1",
            "c1<::>1\t0\tp1\t1\nc1<::>1\tQ0\tp 2\t0\n",
        ],
        ids=["header", "plain", "windows", "trec"],
    )
    def test_formats(self, talk, tmp_path, content):
        path = tmp_path / "qrels.tsv"
        path.write_bytes(content.encode())
        dataset = JsonlDataset(conversations=talk, qrels=path)
        assert list(dataset.check()) == []
        assert dataset.qrels() == {"c1<::>1": {"p1": 1, "p 2": 0}}

    def test_trec_with_blanks(self, talk, tmp_path):
        path = tmp_path / "qrels.txt"
        path.write_text("c1<::>1 0 p1 2\nc1<::>2  0   p1  -1\n")
        assert JsonlDataset(conversations=talk, qrels=path).qrels() == {
            "c1<::>1": {"p1": 2},
            "c1<::>2": {"p1": -1},
        }

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("c1<::>1\tp1", "there must be 3 columns (query-id, corpus-id, score), not 2"),
            ("c1<::>1\t0\tp1\t1", "there must be 3 columns (query-id, corpus-id, score), not 4"),
            ("c1<::>1 p1 1 1 1", "not 5"),
            ("c1<::>1,p1,1", "not 1: put tabs in the place of the commas"),
            ("c1<::>1\tp1\t0.5", "the score must be an integer, not '0.5'"),
            ("c1<::>1\tp1\t", "the score must be an integer, not ''"),
            ("c1<::>1\tp1\t1_0", "the score must be an integer, not '1_0'"),
            (f"c1<::>1\tp1\t{'9' * 5000}", "the score must be an integer, not '999"),
            ("c1<::>1\tp1\t1001", "the score must be between -1000 and 1000, not 1001"),
            ("\tp1\t1", "an id is empty"),
            ("c1<::>1\t\t1", "an id is empty"),
            ("c1<::>2\tp1\t2", "passage 'p1' is judged twice for 'c1<::>2'"),
            (
                "c9\tp1\t1\nc8\tp1\t1",
                "2 of 3 judged turns are in no conversation, for instance 'c9'; one that is there: 'c1<",
            ),
        ],
    )
    def test_a_broken_row_is_named(self, talk, tmp_path, row, message):
        path = tmp_path / "qrels.tsv"
        path.write_text(f"{self.HEADER}\nc1<::>2\tp1\t1\n{row}\n")
        found = problem(conversations=talk, qrels=path)
        assert found.startswith(f"{path}, line 4: ")
        assert message in found
        with pytest.raises(DataError):
            JsonlDataset(conversations=talk, qrels=path).qrels()

    @pytest.mark.parametrize("content", ["", HEADER])
    def test_empty(self, talk, tmp_path, content):
        path = tmp_path / "qrels.tsv"
        path.write_text(content)
        assert problem(conversations=talk, qrels=path) == f"{path}: this file holds no judgements"

    def test_all_files_are_checked_at_once(self, tmp_path):
        broken = jsonl(tmp_path / "c.jsonl", "{")
        qrels = tmp_path / "qrels.tsv"
        qrels.write_text("a\tb\tc\n")
        problems = list(
            JsonlDataset(conversations=broken, qrels=qrels, corpus=tmp_path / "no").check()
        )
        assert [message.partition(":")[0] for message in problems] == [
            f"{broken}, line 1",
            f"{tmp_path / 'no'}",
        ]


def test_what_was_wrong_can_be_mended(talk, tmp_path):
    path = tmp_path / "late.jsonl"
    dataset = JsonlDataset(conversations=path)
    assert list(dataset.check()) != []
    shutil.copyfile(talk, path)
    assert list(dataset.check()) == []


def test_threads_share_one_reading(talk):
    dataset = JsonlDataset(conversations=talk)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: list(dataset.conversations()), range(32)))
    assert len({id(conversations[0]) for conversations in results}) == 1
