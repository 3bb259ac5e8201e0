"""Whether a question is answered: the signal, the threshold, and what is said in its place."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from convrag.api.conversations import Conversation, Question, Turn
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.text.answerability import Decider, match_passages, read_choice, understand
from convrag.sdk.text.clarification import format_question
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from convrag_metrics.idk import detect_idk
from toys import Says

PASSAGES = (
    Passage("a", "Hotels cost up to 140 euros a night in Germany.", "Travel policy > Hotels"),
    Passage("b", "The IT desk in room 114 repairs laptops.", "Questions"),
    Passage("c", "Parents take up to 36 months.", "Parental leave"),
)


class Handbook(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield from PASSAGES


class Quotes(Says):
    @property
    def tasks(self) -> frozenset[str]:
        return frozenset({"answer"})


def evidence(passages: Sequence[Passage] = PASSAGES) -> Evidence:
    return Evidence(
        tuple(EvidenceItem(n, each, each.content) for n, each in enumerate(passages, 1))
    )


def test_the_signal_is_the_share_that_the_best_of_the_first_five_passages_has() -> None:
    weights = {"hotel": 1.0, "cost": 3.0}
    texts = ["Hotels.", "They cost.", "Tea."]
    assert match_passages(texts, weights) == (0.75, 1)
    assert match_passages(["Tea."] * 5 + ["Hotels cost."], weights) == (0.0, 0)
    assert match_passages([], weights) == (0.0, None)
    assert match_passages(texts, {}).confidence == 0.0
    assert match_passages(texts, weights, {"tea": 1.0}) == (1.0, 2)


@pytest.mark.parametrize(
    ("refuse", "question", "outcome"),
    [
        (0.5, "How much may hotels cost?", "answered"),
        (0.5, "Who is the head of marketing?", "unanswerable"),
        (0.5, "How much do hotels cost in Rome?", "answered"),
        (0.9, "How much do hotels cost in Rome?", "unanswerable"),
        (0.0, "Who is the head of marketing?", "answered"),
        (0.0, "Thanks a lot!", "answered"),
        (0.5, "Thanks a lot!", "unanswerable"),
    ],
)
def test_the_threshold_decides(refuse: float, question: str, outcome: str, tmp_path: Path) -> None:
    decider = Decider(Quotes(), Handbook(), Store(tmp_path / "store"), refuse)
    decision = decider.decide(Question(question), evidence())
    assert decision.outcome == outcome
    assert bool(decision.reply) == (outcome == "unanswerable")
    if decision.reply:
        assert decision.reply.startswith("I could not find this in the 3 passages.")
        assert decision.make_answer().trace["decision"]["signals"]["confidence"] < decision.level


def test_a_follow_up_without_words_of_its_own_is_matched_by_its_rewrite() -> None:
    asked = Question("And why?", standalone="And why? hotels cost")
    decision = Decider(None, None, None).decide(asked, evidence())
    assert (decision.outcome, decision.signals) == ("answered", {"confidence": 1.0})


def test_a_model_decides_by_its_reply() -> None:
    decision = Decider(Says(), None, None).decide(Question("Who is Dr. No?"), evidence())
    assert decision.reply == ""
    assert decision.signals == {"confidence": 0.0}


@pytest.mark.parametrize("value", ["balanced", "2", "-0.5", "nan"])
def test_a_threshold_that_is_none(value: str) -> None:
    with pytest.raises(ConfigError, match=r"generator\.refuse"):
        Pipeline.over(PASSAGES, "generator=direct", f"generator.refuse={value}")


def test_a_greeting_is_no_special_case() -> None:
    chat = Pipeline.over(PASSAGES, "generator=direct")
    assert chat.turn("c", "hello").answer.text == "I could not find this in the 3 passages."
    answer = chat.turn("d", "hello hotels").answer.text
    assert answer == "Hotels cost up to 140 euros a night in Germany. [1]"


def test_without_a_model_nothing_is_asked_back() -> None:
    storms = [Passage(name, "It was named.", f"Hurricane {name}") for name in ("Ivan", "Rita")]
    chat = Pipeline.over(storms, "rewriter=none", "generator=direct", "generator.ask=auto")
    record = chat.turn("c", "When was the hurricane named?")
    assert record.answer.trace["decision"]["outcome"] == "answered"


STORMS = ("Hurricane Katrina", "Hurricane Gloria")
ASKED = Turn("c<::>1", "Was it evacuated?", format_question("Which storm?", STORMS))


@pytest.mark.parametrize("reply", ["2", " hurricane gloria "])
def test_a_question_back_and_a_choice_are_one_turn(reply: str) -> None:
    read = understand(Question(reply, history=(ASKED,)))
    assert (read.text, read.history) == ("Was it evacuated? (Hurricane Gloria)", ())


@pytest.mark.parametrize("replies", [("2",), ("1", "2"), ("2", "why?"), (" And? ",), ()])
def test_the_text_of_a_choice_is_read_from_the_last_turns_alone(replies: Sequence[str]) -> None:
    """A question back may follow a choice; the whole history would be read in each turn."""
    turns = [ASKED]
    for number, reply in enumerate(replies):
        turns.append(Turn(f"c<::>{number}", reply, ASKED.answer))
    *history, last = turns
    question = Question(last.question, history=tuple(history))
    assert read_choice(question) == understand(question).text


@pytest.mark.parametrize("reply", ["0", "3", "00", "the second one", "How hot is tea?"])
def test_any_other_reply_is_for_the_rewriter(reply: str) -> None:
    """ "0" chose the last one."""
    read = understand(Question(reply, history=(ASKED,)))
    assert (read.text, read.history) == (reply, (ASKED,))


def test_an_assistants_own_question_is_no_question_back() -> None:
    offered = Turn("c<::>1", "Which storms came?", "There were two. Shall I list them?")
    read = understand(Question("yes", history=(offered,)))
    assert (read.text, read.history) == ("yes", (offered,))


def test_a_rewriter_sees_no_refusals() -> None:
    refused = Turn(
        "c<::>1", "And Rome?", "I could not find this in the 3 files. I looked for: Rome."
    )
    (turn,) = understand(Question("And when?", history=(refused,))).history
    assert (turn.question, turn.answer) == ("And Rome?", "")


CHINESE = (
    Passage("a", "绿茶应当用八十度的水冲泡。冲泡时间为两分钟。绿茶产自浙江省。", "绿茶"),
    Passage("b", "红茶应当用沸水冲泡，时间为四分钟。", "红茶"),
    Passage("c", "猫每天需要睡眠十二到十六个小时。成年猫每天吃两次饭。", "猫的护理"),
)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("绿茶用多少度的水？", "绿茶应当用八十度的水冲泡。"),
        ("猫每天睡多久？", "猫每天需要睡眠十二到十六个小时。"),
        ("红茶用什么水冲泡？", "红茶应当用沸水冲泡，时间为四分钟。"),
        ("谁是法国总统？", "我在文档中没有找到这个。查找的词：法国总统。"),
        (
            "Wer ist der Papst?",
            "Das habe ich in den Dokumenten nicht gefunden. Gesucht habe ich: Papst.",
        ),
        (
            "¿Cuánto cuesta el tren?",
            "No he encontrado esto en los documentos. He buscado: cuesta, tren.",
        ),
        ("Сколько стоит поезд?", "Я не нашёл этого в документах. Искал: стоит, поезд."),
    ],
)
def test_answers_and_refusals_are_in_the_language_of_the_question(question: str, said: str) -> None:
    answer = Pipeline.over(CHINESE, "generator=direct").turn("c", question).answer.text
    assert answer.startswith(said)
    assert (detect_idk(answer) == "yes") == ("[" not in answer)


def test_why_is_said_in_words() -> None:
    decide = Decider(None, None, None).decide
    refused = decide(Question("Who repairs bikes in Rome on Sundays?"), evidence())
    assert refused.explain() == (
        "Refused: the nearest passage has 1 of the 4 words that matter; "
        "confidence 0.25, the level is 0.50"
    )
    assert refused.reply == (
        "I could not find this in the passages. I looked for: repairs, bikes, Rome, Sundays. "
        "The nearest is Questions, which has repairs."
    )
