"""`rewriter=resolve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convrag.api.stages import Rewriter
from convrag.api.types import Query, Question, Rewrite, Turn
from convrag.config.compose import compose
from convrag.testing import RewriterContract
from convrag.turn.wiring import Wiring
from convrag_baselines.blend import BlendRewriter
from convrag_fusion.ensemble import EnsembleRewriter
from convrag_resolve import conversation, reading, spacy_phrases
from convrag_resolve.english import is_english
from convrag_resolve.lists import find_options
from convrag_resolve.resolution import LONGEST
from convrag_resolve.rewriter import ResolveRewriter
from resolve_examples import LISA, LONG, PLANS, RESOLVED, TOWER, UNTOUCHED

WITHOUT_RESULTS = ("spacy",)  # content_hash() has its version, where it is used

Said = Sequence[tuple[str, str]]


def ask(said: Said, text: str, **changes: Any) -> Question:
    history = tuple(Turn(f"c<::>{number}", *each) for number, each in enumerate(said, 1))
    return Question(text, "c", f"c<::>{len(said) + 1}", number=len(said) + 1, history=history, **changes)


def link(said: Said, text: str) -> dict[str, str]:
    """The only link of a question."""
    (found,) = ResolveRewriter().rewrite(ask(said, text)).trace["links"]
    return dict(found)


class TestContract(RewriterContract):
    without_results = WITHOUT_RESULTS

    def make(self) -> ResolveRewriter:
        return ResolveRewriter()


@pytest.mark.thorough
class TestContractWithAnother(RewriterContract):
    without_results = WITHOUT_RESULTS

    def make(self) -> ResolveRewriter:
        return ResolveRewriter(then=BlendRewriter())


@pytest.mark.parametrize(("said", "asked", "expected"), RESOLVED, ids=[each[1] for each in RESOLVED])
def test_references_are_written_out(said: Said, asked: str, expected: str) -> None:
    rewrite = ResolveRewriter().rewrite(ask(said, asked))
    assert rewrite.text == expected
    assert rewrite.trace["links"]


@pytest.mark.parametrize(("said", "asked"), UNTOUCHED, ids=[each[1] for each in UNTOUCHED])
def test_what_needs_no_resolution_stays_word_for_word(said: Said, asked: str) -> None:
    assert ResolveRewriter().rewrite(ask(said, asked)).queries == (Query(asked),)


def test_a_link_says_what_was_linked_to_which_turn_and_why() -> None:
    assert link(LONG, "Going back to the Eiffel Tower, how many steps has it?") == {
        "kind": "turn",
        "phrase": "Going back to the Eiffel Tower",
        "antecedent": "the Eiffel Tower",
        "turn": "c<::>1",
        "rule": "goes back to",
    }
    assert link(PLANS, "How much is the second one?") == {
        "kind": "option",
        "phrase": "the second one",
        "antecedent": "Plus",
        "turn": "c<::>1",
        "rule": "option 2 of 3",
    }


def test_a_forgotten_subject_is_found_again_by_its_words() -> None:
    said = [("Who designed the Sagrada Familia?", "Gaudi."), *[("What is a kettle?", "A pot.")] * 30]
    assert link(said, "Who pays for the Sagrada Familia you mentioned?")["turn"] == "c<::>1"


def test_a_pronoun_follows_its_entity_through_the_conversation() -> None:
    said = [*TOWER, ("Who built it?", "The company of Gustave Eiffel."), ("Why was it built?", "For a world fair.")]
    assert (
        ResolveRewriter().rewrite(ask(said, "How many people visit it?")).text
        == "How many people visit the Eiffel Tower?"
    )


def test_the_first_question_stays() -> None:
    assert ResolveRewriter().rewrite(ask([], "How high is it?")).text == "How high is it?"


class Recording(Rewriter):
    """Keeps the question that it is given."""

    def rewrite(self, question: Question) -> Rewrite:
        self.question = question
        return Rewrite((Query(question.text), Query("more", 0.5)), {"method": "recording"}, "a reason")


def test_another_rewriter_goes_on_from_the_resolved_question() -> None:
    then = Recording()
    asked = ask(LISA, "Where is it?")
    rewrite = ResolveRewriter(then=then).rewrite(asked)
    assert then.question == replace(asked, text="Where is the Mona Lisa?")
    assert [query.text for query in rewrite.queries] == ["Where is the Mona Lisa?", "more"]
    assert rewrite.trace["method"] == "recording"
    assert rewrite.trace["links"][0]["antecedent"] == "the Mona Lisa"
    assert rewrite.fallback == "a reason"


def test_it_is_chosen_by_name_before_any_rewriter_and_within_an_ensemble() -> None:
    wiring = Wiring(compose("rewriter=resolve", "rewriter.then=blend", "rewriter.then.weight=.3", "tracker=none"))
    assert wiring.get("rewriter").rewrite(ask(LISA, "Where is it?")).text == "Where is the Mona Lisa?"
    both = EnsembleRewriter(first=ResolveRewriter(), second=ResolveRewriter(then=BlendRewriter()), third=None)
    traces = both.rewrite(ask(LISA, "Where is it?")).trace["of"]
    assert traces["first"]["queries"] == ["Where is the Mona Lisa?"]
    assert {"links", "resolved", "selected"} <= set(traces["second"]["trace"])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Two ways:\n* **Wet**: rinse it\n* **Dry**: brush it", ("Wet", "Dry")),
        ("1) a fern 2) a moss", ("a fern", "a moss")),
        ("There are tents, huts and a hostel.", ("tents", "huts", "a hostel")),
        ("Either tea or coffee.", ("tea", "coffee")),
        ("- one line", ()),
        ("In 2. May it rained. 5. June it snowed.", ()),
        ("No list at all.", ()),
    ],
)
def test_options(text: str, options: tuple[str, ...]) -> None:
    read = reading.read_text(text)
    assert find_options(text, read.tokens, read.phrases) == options


@pytest.mark.parametrize(
    ("text", "english"),
    [("how high is it", True), ("any awards?", True), ("¿cuánto cuesta?", False), ("was ist das", False), ("", False)],
)
def test_english(text: str, english: bool) -> None:
    assert is_english(text) is english


@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_gives_a_query(asked: str, answer: str, text: str) -> None:
    assert ResolveRewriter().rewrite(ask([(asked, answer)], text)).queries


@given(
    st.lists(
        st.sampled_from(
            ("it", "the", "that", "one", "Oslo", "both", ",", "and", "'s", "?", "1.", "why", "their", "of", '"')
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_any_order_of_such_words_gives_a_query(words: list[str]) -> None:
    text = " ".join(words)
    assert ResolveRewriter().rewrite(ask([*TOWER, (text, text)], text)).queries


@pytest.mark.parametrize("part", ["it ", "a, ", "(1) ", "**", "the one of ", "\n- x", '"', "you said ", "…"])
def test_hostile_text_takes_time_that_grows_with_its_length(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    tag = reading.tag_words
    monkeypatch.setattr(reading, "tag_words", lambda text: (counted.append(len(text)), tag(text))[1])
    said = [(part * 100, part * 30_000), TOWER[0]]
    assert ResolveRewriter().rewrite(ask(said, part * 100)).queries
    assert ResolveRewriter().rewrite(ask(said, part * 30_000)).text == part * 30_000
    assert max(counted) <= max(LONGEST, conversation.READ_CHARACTERS)


def test_a_turn_of_a_long_conversation_costs_what_one_of_a_short_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of what is read and kept, over 1,000 turns."""
    read: list[str] = []
    plain = reading.read_text.__wrapped__
    monkeypatch.setattr(
        conversation.SaidSoFar, "__init__", _count_readings(conversation.SaidSoFar.__init__, read, plain)
    )
    rewriter, state = ResolveRewriter(), {}
    history: tuple[Turn, ...] = ()
    counts, entities = [], []
    for number in range(1, 1001):
        name = f"Lake Ontario{number // 5}"
        text = "How deep is it?" if number % 5 else f"Where is {name}?"
        question = Question(text, "c", f"c<::>{number}", number=number, history=history, stage_state=state)
        before = len(read)
        rewrite = rewriter.rewrite(question)
        counts.append(len(read) - before)
        entities.append(len(state[rewriter]["read"][1].entities))
        assert number < 6 or number % 5 == 0 or name in rewrite.text
        history = (*history, Turn(question.turn_id, text, f"{name} is deep, and cold in winter."))
    assert max(counts[500:]) <= max(counts[:500]) < 12
    assert max(entities[500:]) <= max(entities[:500]) < 40
    assert max(map(len, state[rewriter]["read"][1].mentioned_in.values())) <= 50


def _count_readings(init: Any, read: list[str], plain: Any) -> Any:
    def started(self: Any, reader: Any = None, *rest: Any, **named: Any) -> None:
        init(self, lambda text: (read.append(text), plain(text))[1], *rest, **named)

    return started


def test_a_history_that_changed_is_read_anew() -> None:
    rewriter, state = ResolveRewriter(), {}
    rewriter.rewrite(ask(TOWER, "How old is it?", stage_state=state))
    assert rewriter.rewrite(ask(LISA, "Where is it?", stage_state=state)).text == "Where is the Mona Lisa?"


def test_the_first_turn_that_a_memory_shows_is_not_called_the_first_question() -> None:
    asked = ask(LONG, "Repeat the answer to my first question.")
    recent = replace(asked, history=asked.history[1:], before_memory=asked.history)
    assert ResolveRewriter().rewrite(recent).text == asked.text


def test_turns_are_counted_as_options_are() -> None:
    said = [(f"How high is tower {number}?", f"{number} metres.") for number in range(1, 8)]
    text = ResolveRewriter().rewrite(ask(said, "Repeat the answer to my sixth question.")).text
    assert text == "Repeat the answer to my sixth question (How high is tower 6?)."


def test_a_missing_pipeline_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_phrases, "find_spec", lambda name: object() if name == "spacy" else None)
    assert list(ResolveRewriter().check()) == []
    assert "python -m spacy download en_core_web_xy" in next(iter(ResolveRewriter(pipeline="en_core_web_xy").check()))
    assert "holds no spaCy pipeline" in next(iter(ResolveRewriter(pipeline=str(tmp_path)).check()))
    assert "there is no folder" in next(iter(ResolveRewriter(pipeline="no/such").check()))
    monkeypatch.setattr(spacy_phrases, "find_spec", lambda name: None)
    assert "pip install 'convrag[spacy]'" in next(iter(ResolveRewriter(pipeline="en_core_web_sm").check()))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spaCy pipeline that knows two names in lower case and that "zorbing" is a verb."""
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    for word, pos in (("lake", "PROPN"), ("ontario", "PROPN"), ("zorbs", "VERB"), ("cats", "NOUN"), ("mice", "NOUN")):
        ruler.add([[{"LOWER": word}]], {"POS": pos})
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "LOC", "pattern": [{"LOWER": "lake"}, {"LOWER": "ontario"}]}])
    folder = tmp_path_factory.mktemp("pipelines") / "small"
    nlp.to_disk(folder)
    return folder


@pytest.mark.integration
def test_a_pipeline_tells_verbs_and_names_from_nouns(pipeline: Path) -> None:
    rewriter = ResolveRewriter(pipeline=str(pipeline))
    assert rewriter.rewrite(ask([("which mice does a cats zorbs", "")], "are they fast?")).text == "are mice fast?"
    assert (
        rewriter.rewrite(ask([("is lake ontario cold", "")], "what can i do there?")).text
        == "what can i do in lake ontario?"
    )
    assert rewriter.content_hash() != ""
    assert not list(rewriter.check())


@pytest.mark.integration
@pytest.mark.thorough
class TestContractWithPipeline(RewriterContract):
    without_results = WITHOUT_RESULTS

    @pytest.fixture(autouse=True)
    def _pipeline(self, pipeline: Path) -> None:
        self.pipeline = str(pipeline)

    def make(self) -> ResolveRewriter:
        return ResolveRewriter(pipeline=self.pipeline)
