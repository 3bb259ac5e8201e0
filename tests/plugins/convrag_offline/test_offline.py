import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from convrag.api.completions import Message, Prompt
from convrag.api.conversations import Conversation
from convrag.api.errors import ConvragError, LLMError
from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.store.store import Store
from convrag.testing import EmbedderContract, LLMContract
from convrag.testing.samples import TEXTS
from convrag_offline import lsa_model as lsa_model_module
from convrag_offline.embedders import LsaEmbedder, WordsEmbedder
from convrag_offline.extractive import ExtractiveLLM
from convrag_offline.quoting import NOT_FOUND, answer
from convrag_offline.rewriting import find_missing_words, rewrite

MOON = [
    "The Moon orbits Earth at an average distance of 384,400 kilometres.",
    "Laika was a dog that flew into orbit aboard Sputnik 2 in 1957.",
    "Able and Baker were monkeys that survived a flight into space in 1959.",
    "The Sea of Tranquillity is where Apollo 11 landed on the Moon in 1969.",
    "Rockets burn kerosene or hydrogen with liquid oxygen.",
]


class Corpora(Dataset):
    """Texts by domain, and how often they were read."""

    def __init__(self, **domains: Sequence[str]) -> None:
        self.texts = domains
        self.read = 0

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def domains(self) -> Sequence[str]:
        return list(self.texts)

    def corpus(self, domain: str) -> Iterator[Passage]:
        for n, text in enumerate(self.texts[domain]):
            self.read += 1
            yield Passage(f"{domain}{n}", text)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def llm(store: Store) -> ExtractiveLLM:
    return ExtractiveLLM(dataset=Corpora(moon=MOON), store=store)


def answering(
    llm: ExtractiveLLM, question: str, *texts: str, history: Sequence[dict[str, str]] = ()
) -> str:
    evidence = [{"number": n, "text": text, "title": ""} for n, text in enumerate(texts, start=1)]
    inputs = {"question": question, "history": list(history), "evidence": evidence}
    return llm.complete(Prompt("answer", (), inputs)).text


def exchange(user: str, assistant: str = "") -> dict[str, str]:
    return {"user": user, "assistant": assistant}


class TestExtractiveContract(LLMContract):
    @pytest.fixture(autouse=True)
    def _store(self, store: Store) -> None:
        self.store = store

    def make(self) -> ExtractiveLLM:
        return ExtractiveLLM(dataset=Corpora(tea=TEXTS), store=self.store)


class TestLsaContract(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _store(self, store: Store) -> None:
        self.store = store

    def make(self) -> LsaEmbedder:
        return LsaEmbedder(dataset=Corpora(tea=TEXTS), store=self.store)


class TestWordsContract(EmbedderContract):
    def make(self) -> WordsEmbedder:
        return WordsEmbedder()


# Rewriting
# ---------------------------------------------------------------------------------------------------------

LAIKA = exchange("Who was Laika?", "Laika was a dog that orbited Earth aboard Sputnik 2.")


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("When did she fly?", ["Laika"]),  # a pronoun
        ("Why?", ["Laika"]),  # an ellipsis
        ("How far is the Moon from Earth on average?", []),  # self-contained: another topic
        ("Did Laika and Baker fly before Gagarin did?", []),
        ("Are monkeys and dogs tested before they fly?", []),  # what "they" are stands before it
        ("Who was Laika?", []),
    ],
)
def test_a_question_gets_what_it_lacks(question: str, added: list[str]) -> None:
    assert find_missing_words(question, [LAIKA], DocumentFrequencies()) == added
    assert rewrite(question, [LAIKA], DocumentFrequencies()) == " ".join([question, *added])


def test_a_topic_is_what_was_said_twice() -> None:
    history = [
        exchange("What did Apollo 11 bring back?", "Apollo 11 brought rocks, dust and a core.")
    ]
    assert (
        find_missing_words("Is it old?", history, DocumentFrequencies())
        == ["Apollo", "11", "bring"][:2]
    )
    history += [exchange("Are the rocks basalt?", "Some are basalt.")]
    assert "rocks" in find_missing_words("Why?", history, DocumentFrequencies())


def test_a_sentence_that_is_quoted_again_confirms_nothing() -> None:
    quote = "Contrary to belief, no shadow is involved."
    history = [
        exchange("Phases?", f"{quote} [1] They have phases. [2]"),
        exchange("Its age?", f"{quote} [3]"),
    ]
    assert find_missing_words("Why?", history, DocumentFrequencies()) == ["Phases"]
    history[1] = exchange("Its age?", "It casts a shadow.")
    assert find_missing_words("Why?", history, DocumentFrequencies()) == ["Phases", "shadow"]


def test_recent_words_win_and_stand_in_the_order_in_which_they_were_said() -> None:
    history = [
        exchange("Was Gagarin a pilot?", "Gagarin was a pilot."),
        exchange("Was Laika a mongrel?", "Laika was a mongrel."),
    ]
    assert find_missing_words("Why?", history, DocumentFrequencies()) == [
        "Gagarin",
        "Laika",
        "mongrel",
    ]
    assert find_missing_words("Was she?", history, DocumentFrequencies({}, 0)) == [
        "Gagarin",
        "Laika",
        "mongrel",
    ]
    assert find_missing_words("Is it heavy and dangerous?", history, DocumentFrequencies()) == [
        "Laika",
        "mongrel",
    ]


def test_what_the_first_question_names_is_not_forgotten() -> None:
    """Issue 52: the topic was named several turns before, and others were touched since."""
    questions = ("Who was Laika?", "Are dogs bold?", "Are rockets loud?", "Is Earth big?")
    history = [exchange(each) for each in questions]
    assert find_missing_words("Why?", history, DocumentFrequencies()) == ["Laika", "Earth", "big"]


def test_rare_words_win_and_words_that_no_passage_has_are_of_no_use() -> None:
    history = [exchange("Is zeppelin gas hydrogen?", "Zeppelin gas is hydrogen.")]
    known = DocumentFrequencies({"gas": 90, "hydrogen": 2}, 100)
    assert find_missing_words("Is it heavy and dangerous?", history, known) == ["gas", "hydrogen"]
    counted = DocumentFrequencies({"zeppelin": 1, "gas": 90, "hydrogen": 2}, 100)
    assert find_missing_words("Is it heavy and dangerous?", history, counted) == [
        "zeppelin",
        "hydrogen",
    ]


def test_without_answers_the_questions_are_enough() -> None:
    assert find_missing_words(
        "And its dog?", [exchange("Who built Sputnik?")], DocumentFrequencies()
    ) == [
        "built",
        "Sputnik",
    ]


def test_beside_the_question_itself_a_rewrite_may_add_more() -> None:
    """Twice the weight of the question bears four times the words; what stands by itself stays as
    it is.
    """
    text = "Ada Byron wrote notes on engines, looms, numbers and tables."
    history = [exchange(f"Is this so? {text}", f"Indeed. {text}")]
    said_once = find_missing_words("Is it heavy and dangerous?", history, DocumentFrequencies())
    assert said_once == []  # a repeated sentence is a quotation
    history[0]["assistant"] = "Ada Byron's notes: engines, looms, numbers, tables."
    assert find_missing_words(
        "Is it heavy and dangerous?", history, DocumentFrequencies(), 0.0
    ) == ["Ada", "Byron"]
    half = find_missing_words("Is it heavy and dangerous?", history, DocumentFrequencies(), 0.5)
    assert len(half) == 4  # 2 * 1.5 ** 2, rounded
    assert find_missing_words("Is it heavy and dangerous?", history, DocumentFrequencies(), 1.0) == [
        "Ada", "Byron", "notes", "engines", "looms", "numbers", "tables",
    ]  # fmt: skip
    assert (
        find_missing_words(
            "How far is the Moon from Earth on average?", history, DocumentFrequencies(), 1.0
        )
        == []
    )


def test_nothing_to_add() -> None:
    assert rewrite("Why is\nthat?", [], DocumentFrequencies()) == "Why is that?"
    assert rewrite("", [exchange("")], DocumentFrequencies()) == ""
    assert rewrite("Why?", [exchange("Why?", "Because of that.")], DocumentFrequencies()) == "Why?"
    assert rewrite("Why?", [{}], DocumentFrequencies()) == "Why?"


# Answering
# ---------------------------------------------------------------------------------------------------------


def test_an_answer_quotes_windows_with_citations(llm: ExtractiveLLM) -> None:
    question = "What is the distance between the Moon and Earth?"
    text = answering(llm, question, MOON[4], f"{MOON[1]} {MOON[0]}")
    assert text == f"{MOON[1]} {MOON[0]} [2]"


def test_an_answer_quotes_two_passages(llm: ExtractiveLLM) -> None:
    fuels = ("kerosene", "hydrogen", "methane", "alcohol")
    texts = [f"Rockets burn {fuel} with oxygen." for fuel in fuels]
    assert answering(llm, "What do rockets burn?", *texts) == f"{texts[0]} [1] {texts[1]} [2]"
    asked = "Do rockets burn hydrogen or alcohol?"
    assert answering(llm, asked, *texts) == f"{texts[1]} [2] {texts[3]} [4]"


@pytest.mark.parametrize(
    "question", ["Who won the chess championship of 2020?", "", "Why?", "Who is she?"]
)
def test_an_answer_that_is_not_there(llm: ExtractiveLLM, question: str) -> None:
    assert answering(llm, question, *MOON) == NOT_FOUND
    assert answering(llm, question) == NOT_FOUND


def test_less_than_half_of_a_question_is_another_question(llm: ExtractiveLLM) -> None:
    assert (
        answering(llm, "What does parking at the visitor centre for Moon rocks cost?", *MOON)
        == NOT_FOUND
    )


def test_a_reference_back_is_followed(llm: ExtractiveLLM) -> None:
    history = [exchange("Who was Laika?", "Laika was a dog.")]
    assert answering(llm, "When did she fly?", MOON[2], MOON[1], history=history).startswith(
        MOON[1]
    )


def test_quotes_hold_no_citations_of_others_and_no_headings(llm: ExtractiveLLM) -> None:
    passage = "## Moon distance\nThe distance to the Moon [12] varies over\ta month.[3, 4]"
    expected = "The distance to the Moon varies over a month. [1]"
    assert answering(llm, "Moon distance?", passage) == expected


def test_a_title_is_not_quoted_and_a_text_that_begins_with_it_is() -> None:
    kettle = {"number": 1, "title": "Kettle", "text": "Kettle\nIt holds 2 litres."}
    whole = {"number": 2, "title": "Kettle", "text": "Kettle lids are of steel."}
    found = answer("kettle", [], [kettle, whole], DocumentFrequencies())
    assert found == "Kettle lids are of steel. [2] It holds 2 litres. [1]"


def test_a_repeated_sentence_is_quoted_once(llm: ExtractiveLLM) -> None:
    assert answering(llm, "Moon distance to Earth?", MOON[0], MOON[0]) == f"{MOON[0]} [1]"


# The stage
# ---------------------------------------------------------------------------------------------------------


def test_it_says_what_it_is(llm: ExtractiveLLM) -> None:
    assert "no language model" in llm.note()
    assert "no language model" in str(ExtractiveLLM.__doc__)


def test_a_completion_counts_tokens_and_costs_nothing(llm: ExtractiveLLM) -> None:
    inputs = {"question": "When did she fly?", "history": [LAIKA]}
    prompt = Prompt("rewrite", (Message("user", "One, two."),), inputs, {"temperature": 2.0})
    done = llm.complete(prompt)
    assert (done.text, done.prompt_tokens, done.completion_tokens, done.cost_usd) == (
        "When did she fly? Laika",
        4,
        6,
        0,
    )
    assert done.model == "extractive"
    assert llm.complete(Prompt("rewrite", (), inputs)).text == done.text  # sampling has no effect


def test_a_task_that_it_does_not_know(llm: ExtractiveLLM) -> None:
    with pytest.raises(
        LLMError, match=r"knows the tasks answer, rewrite, .*, not 'poem'"
    ) as raised:
        llm.complete(Prompt("poem", (Message("user", "Write!"),)))
    assert raised.value.model == "extractive"
    with pytest.raises(LLMError, match="lacks history, evidence"):
        llm.complete(Prompt("answer", (), {"question": "Why?"}))


def test_a_corpus_is_counted_once_whoever_asks(store: Store) -> None:
    both = Corpora(moon=MOON, tea=TEXTS)
    ExtractiveLLM(dataset=both, store=store).prepare()
    (first, second) = sorted((store.path / "frequencies").glob("*/frequencies.json"))
    written = first.stat().st_mtime_ns, second.stat().st_mtime_ns
    alone = ExtractiveLLM(dataset=Corpora(tea=TEXTS), store=store)
    alone.prepare()
    assert (first.stat().st_mtime_ns, second.stat().st_mtime_ns) == written
    assert len(list((store.path / "frequencies").iterdir())) == 2
    rows = [json.loads(each.read_text(encoding="utf-8")) for each in (first, second)]
    counts = rows[0]["counts"] | rows[1]["counts"]
    assert sorted(row["passages"] for row in rows) == sorted([len(MOON), len(TEXTS)])
    assert (counts["kettl"], counts["moon"]) == (2, 2)


def test_without_a_corpus_it_works_all_the_same(store: Store) -> None:
    bare = ExtractiveLLM(dataset=Corpora(none=[]), store=store)
    bare.prepare()
    assert answering(bare, "Who was Laika?", *MOON) == f"{MOON[1]} [2]"


# Words
# -------------------------------------------------------------------------------------------------------------


def test_texts_are_near_by_the_words_that_they_share() -> None:
    texts = ["The Moon orbits Earth.", "What is orbiting the Earth?", "A kettle."]
    moon, orbiting, kettle = WordsEmbedder().embed(texts)
    assert moon @ orbiting == pytest.approx(2 / np.sqrt(3 * 2))  # orbit, earth
    assert moon @ kettle == 0


def test_texts_without_content_words_are_zero_rows() -> None:
    rows = WordsEmbedder(dimensions=64).embed(["", "the of", "?!", "Moon", "MOON", "moons"])
    assert rows.shape == (6, 64)
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [0, 0, 0, 1, 1, 1]
    assert rows[3].tolist() == rows[4].tolist() == rows[5].tolist()


# LSA
# ---------------------------------------------------------------------------------------------------------------


def similarity(embedder: LsaEmbedder, one: str, other: str) -> float:
    rows = embedder.embed([one, other])
    return float(rows[0] @ rows[1])


def test_words_that_occur_together_come_close(store: Store) -> None:
    texts = [f"astronaut capsule {n}" for n in "abcd"] + [f"capsule splashdown {n}" for n in "efgh"]
    texts += [f"kettle teapot {n}" for n in "ijkl"]
    embedder = LsaEmbedder(dataset=Corpora(all=texts), store=store, dimensions=2)
    assert (
        similarity(embedder, "astronaut", "splashdown") > 0.9
    )  # never in one passage, but both beside "capsule"
    assert abs(similarity(embedder, "astronaut", "kettle")) < 0.1


def test_texts_without_known_words_are_zero_rows(store: Store) -> None:
    rows = LsaEmbedder(dataset=Corpora(moon=MOON), store=store).embed(
        ["", "xyzzy", "the of", "Moon", "MOON"]
    )
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [0, 0, 0, 1, 1]
    assert rows[3].tolist() == rows[4].tolist()


def test_new_passages_are_folded_in_until_a_tenth_has_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One changed line fitted all anew: 56 s for 15,000 passages."""
    learnt = []
    real = lsa_model_module.learn
    monkeypatch.setattr(lsa_model_module, "learn", lambda *args: learnt.append(1) or real(*args))

    def embed(texts: list[str]) -> object:
        dataset = Corpora(tea=texts)
        dataset.series = "handbook"
        return LsaEmbedder(dataset=dataset, store=store, dimensions=8).embed(
            ["kettle 3", "kettle 99", "steam"]
        )

    texts = [f"The kettle {n} makes steam number {n % 7} in house {n % 5}." for n in range(40)]
    first = embed(texts)
    changed = [*texts[2:], "The kettle 98 is here.", "A kettle 99 is new.", "So is 97."]
    assert np.array_equal(embed(changed), first)
    assert len(learnt) == 1
    assert not np.array_equal(
        embed([*changed[2:], "Another 96."]), first
    )  # four of the first forty are gone
    assert len(learnt) == 2


def test_it_learns_from_all_domains_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = []
    real = lsa_model_module.learn
    monkeypatch.setattr(lsa_model_module, "learn", lambda *args: learnt.append(1) or real(*args))
    first = LsaEmbedder(dataset=Corpora(moon=MOON, tea=TEXTS), store=store)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: first.embed(["Moon", "kettle"]), range(16)))
    again = LsaEmbedder(dataset=Corpora(moon=MOON, tea=TEXTS), store=store).embed(
        ["Moon", "kettle"]
    )
    assert all(np.array_equal(row, again) for row in rows)
    assert np.linalg.norm(again, axis=1).round(5).tolist() == [1, 1]
    assert len(learnt) == 1
    LsaEmbedder(dataset=Corpora(moon=MOON, tea=TEXTS), store=store, dimensions=2).prepare()
    LsaEmbedder(dataset=Corpora(moon=MOON[1:], tea=TEXTS), store=store).prepare()
    assert len(learnt) == 3  # another parameter, another corpus
    assert not [
        path for path in (store.path / "embedders").rglob("*") if path.suffix in {".pkl", ".joblib"}
    ]


def test_a_model_that_the_store_has_is_loaded_when_it_is_needed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To import scikit-learn takes longer than a run whose vectors are remembered."""
    LsaEmbedder(dataset=Corpora(moon=MOON), store=store).prepare()
    monkeypatch.setitem(sys.modules, "convrag_offline.lsa_model", None)  # its import fails
    again = LsaEmbedder(dataset=Corpora(moon=MOON), store=store)
    again.prepare()
    with pytest.raises(ImportError):
        again.load_libraries()
    with pytest.raises(ImportError):
        again.embed(["Moon"])


def test_a_big_corpus_is_sampled_evenly(store: Store) -> None:
    numbers = [f"word{n:04}" for n in range(1200)]
    embedder = LsaEmbedder(
        dataset=Corpora(a=numbers[:700], b=numbers[700:]), store=store, dimensions=4, passages=120
    )
    embedder.prepare()
    (file,) = (store.path / "embedders").glob("*/vocabulary.json")
    assert json.loads(file.read_text(encoding="utf-8"))["words"] == numbers[::10]


def test_a_data_set_without_a_corpus(store: Store) -> None:
    embedder = LsaEmbedder(dataset=Corpora(none=[]), store=store)
    (problem,) = embedder.check()
    assert "the data set has none" in problem
    with pytest.raises(ConvragError, match="the data set has none"):
        embedder.prepare()
    assert list(LsaEmbedder(dataset=Corpora(none=[], moon=MOON), store=store).check()) == []


def test_a_corpus_without_words_is_a_clear_error(store: Store) -> None:
    with pytest.raises(ConvragError, match="cannot learn from this corpus"):
        LsaEmbedder(dataset=Corpora(odd=["?!", "the of"]), store=store).prepare()


# On real conversations
# ---------------------------------------------------------------------------------------------
