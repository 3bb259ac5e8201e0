"""Whether to answer: the decision and its signals, and the sentences that say what is asked."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from convrag.api.conversations import Conversation, Question, Turn
from convrag.api.errors import ConfigError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.answerability import Decider, parse_level
from convrag.sdk.text.clarification import is_courtesy
from convrag.sdk.text.matching import match_sentences, read_question
from convrag.sdk.text.quoting import choose_sentences, clean_quote, rank_sentences
from convrag.sdk.text.spelling import find_nearest
from convrag.sdk.text.statements import classify_sentences
from convrag.sdk.text.support import find_unsupported
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from convrag_metrics.idk import detect_idk
from toys import Says

PASSAGES = (
    Passage("old", "Hotels cost up to 120 euros a night.", "Travel policy 2023 > Hotels"),
    Passage(
        "new",
        "Hotels cost up to 140 euros a night in\nGermany and 180 euros abroad.",
        "Travel policy 2025 > Hotels",
    ),
    Passage(
        "faq", "## Who repairs laptops?\n\nThe IT desk in room 114.\n\nNext: Parking", "Questions"
    ),
    Passage(
        "leave",
        "Parents take up to 36 months. It is announced seven weeks before.",
        "Parental leave",
    ),
    Passage(
        "code",
        'Greeting\n\n```python\nret = f"Hello, {name}!"\n```\n\n| device | lock |\n|---|---|\n| phone | late |',
    ),
)


class Handbook(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield from PASSAGES


def evidence(passages: Sequence[Passage] = PASSAGES) -> Evidence:
    return Evidence(
        tuple(EvidenceItem(n, each, each.content) for n, each in enumerate(passages, 1))
    )


def quote(question: str, standalone: str = "") -> list[str]:
    asked = read_question(question, standalone, DocumentFrequencies())
    matches = {each.id: match_sentences(asked, each.text, each.title) for each in PASSAGES}
    texts = {each.id: each.content for each in PASSAGES}
    chosen = choose_sentences(rank_sentences(matches, texts), asked)
    found = {each.id: each.text for each in PASSAGES}
    return [clean_quote(found[key][match.start : match.end]) for key, match in chosen]


@pytest.mark.parametrize(
    ("question", "standalone", "said"),
    [
        (
            "How much may hotels cost?",
            "",
            "Hotels cost up to 140 euros a night in Germany and 180 euros abroad.",
        ),
        ("How much did hotels cost in 2023?", "", "Hotels cost up to 120 euros a night."),
        ("Who repairs laptops?", "", "The IT desk in room 114."),
        ("How early is parental leave announced?", "", "It is announced seven weeks before."),
        (
            "And abroad?",
            "And abroad? hotels cost",
            "Hotels cost up to 140 euros a night in Germany and 180 euros abroad.",
        ),
    ],
)
def test_an_answer_begins_with_the_sentence_that_says_most_of_what_is_asked(
    question: str, standalone: str, said: str
) -> None:
    assert quote(question, standalone)[:1] == [said]


@pytest.mark.parametrize(
    ("added", "kept"), [("hotels", 0.5), ("hotels cost", 0.25), ("hotels cost Rome night", 0.125)]
)
def test_the_words_that_rules_add_count_half_as_much_as_the_question_at_most(
    added: str, kept: float
) -> None:
    asked = read_question("And abroad?", f"And abroad? {added}", DocumentFrequencies())
    assert {
        asked.weights[stem] / asked.weights["abroad"] for stem in asked.weights.keys() - asked.own
    } == {kept}


def test_headings_questions_menus_heads_of_tables_and_code_state_nothing() -> None:
    texts = [each.text for each in PASSAGES[2:5:2]]
    stated = [
        text[start:end]
        for text in texts
        for start, end, kind in classify_sentences(text)
        if kind == "statement"
    ]
    assert stated == ["The IT desk in room 114."]


def test_a_line_above_code_states_what_it_does() -> None:
    """Two lines of the code are part of it; what other code says is nothing, and a line goes on
    before a bracket.
    """
    text = (
        "Run the server:\n\n```bash\nrun it\n```\n\n### Stop\n\n```\nstop it\nwait\nlook\n```\n\n"
        '> fuzz.ratio("a b", "c d")\n\n.. meta::\n   :refresh: 3; url=run/it/\n\n'
        "It works on any platform\n(Linux, Mac).\n\nIt is held by\n\n```\nhold\n```\n"
    )
    stated = [
        text[start:end] for start, end, kind in classify_sentences(text) if kind == "statement"
    ]
    assert list(map(clean_quote, stated)) == [
        "Run the server: run it", "Stop stop it wait", "It works on any platform (Linux, Mac).", "It is held by hold",
    ]  # fmt: skip


def quote_first(question: str, *texts: str) -> str:
    asked = read_question(question, "", DocumentFrequencies())
    named = {str(number): text for number, text in enumerate(texts)}
    ranked = rank_sentences(
        {key: match_sentences(asked, text) for key, text in named.items()}, named
    )
    return clean_quote(named[ranked[0][0]][ranked[0][1].start : ranked[0][1].end])


def test_code_belongs_to_a_heading_that_speaks_of_what_is_asked() -> None:
    code = "### Align arguments vertically\n\n```cpp\nvoid a_very_long_name(int package);\n```\n"
    said = "The name of a package is at most 214 characters long."
    assert quote_first("How long may a package name be?", code, f"Text.\n\n{said}") == said
    upgrade = "## Upgrade a package\n\n```\npip install -U it(\n)\n```\n\nFlags upgrade packages in cases of doubt."
    assert (
        quote_first("How do I upgrade a package with pip?", upgrade)
        == "Upgrade a package pip install -U it( )"
    )
    assert (
        quote_first("What do flags upgrade in doubt?", upgrade)
        == "Flags upgrade packages in cases of doubt."
    )


def test_a_short_list_is_a_part_of_the_line_above_it_and_the_items_of_a_long_one_share_that_line() -> (
    None
):
    short = "You must bring:\n\n* a passport.\n* a ticket that\n  is valid\n* warm clothes\n\nIt is cold up there."
    assert (
        quote_first("What must I bring?", short)
        == "You must bring: a passport; a ticket that is valid; warm clothes"
    )
    items = [f"- Rule {n} is about the spelling of words in general" for n in range(4)]
    restrictions = "\n".join(
        ["Package names have more restrictions:", *items, "- Use a maximum of 64 characters."]
    )
    question = "What is the maximum length of package names?"
    assert (
        quote_first(question, restrictions, "Keywords have a maximum of 5 entries.")
        == "Use a maximum of 64 characters."
    )


def test_what_points_elsewhere_says_less_and_a_manuals_first_line_says_what_a_term_means() -> None:
    see = "See the cargo vendor command.\n\nFor more about cargo vendor, see the book of the cargo vendor command."
    manual = "Name\n\ncargo-vendor — Vendor all dependencies locally\n\nSynopsis"
    assert (
        quote_first("What does cargo vendor do?", see, manual)
        == "cargo-vendor — Vendor all dependencies locally"
    )


def test_a_word_that_goes_on_or_is_short_is_not_misspelt_and_a_known_compound_is_one_word() -> None:
    assert read_question(
        "What is crates.io?", "", DocumentFrequencies({"crates.io": 1}, 9)
    ).own == {"crates.io"}
    known = ["time", "password", "system", "spend"]
    assert [find_nearest(word, known) for word in ("timer", "pasword", "systemd", "send")] == [
        "",
        "password",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("refuse", "question", "outcome"),
    [
        ("balanced", "How much may hotels cost?", "answered"),
        ("balanced", "Who is the head of marketing?", "unanswerable"),
        ("balanced", "How much may hotells cost?", "answered"),  # the nearest word of the corpus
        ("never", "Who is the head of marketing?", "answered"),
        ("0.99", "How much do hotels cost in Rome?", "unanswerable"),
        ("rarely", "How much do hotels cost in Rome?", "partial"),
        ("balanced", "Thanks a lot!", "conversational"),
        (
            "balanced",
            "How much may hotels cost, and who repairs broken laptops in the evening?",
            "partial",
        ),
        (
            "balanced",
            "How much may hotels cost, and who is the king of France?",
            "partial: who is the king of France.",
        ),
        ("balanced", "How much may hotels cost? And who repairs laptops?", "answered"),
        ("never", "How much may hotels cost? And who is the king of France?", "answered"),
        ("balanced", "Who is the king of France, and what is the capital of Peru?", "unanswerable"),
    ],
)
def test_the_level_decides(refuse: str, question: str, outcome: str, tmp_path: Path) -> None:
    class Rules(Says):
        @property
        def tasks(self) -> frozenset[str]:
            return frozenset({"answer"})

    decision = Decider(Rules(), Handbook(), Store(tmp_path / "store"), refuse).decide(
        Question(question), evidence()
    )
    outcome, _, unfound = outcome.partition(": ")
    assert decision.outcome == outcome
    assert outcome == "unanswerable" or decision.unfound.partition(": ")[2] == unfound
    assert bool(decision.reply) == (outcome in ("unanswerable", "conversational"))
    if outcome == "unanswerable":
        assert decision.reply.startswith("I could not find this in the 5 passages. I looked for: ")
        assert decision.make_answer().trace["decision"]["signals"]["confidence"] <= decision.level


@pytest.mark.parametrize("generator", ["ginger", "direct"])
def test_each_part_of_a_question_has_its_best_sentence(generator: str, tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text(
        "# Leave\n\nParents take up to 36 months. It is announced seven weeks before.\n"
    )
    places = (f"dataset.path={tmp_path / 'leave.md'}", f"store.path={tmp_path / 'store'}")
    chat = Pipeline.compose("dataset=documents", f"generator={generator}", "tracker=none", *places)
    question = (
        "How early is leave announced, and how many months do parents take? Who is king of France?"
    )
    record = chat.turn("c", question)
    missing = "could not find this in the 1 passage: Who is king of France."
    assert all(
        said in record.answer.text for said in ("up to 36 months", "seven weeks before", missing)
    )
    assert find_unsupported(record) == []


def test_a_model_decides_by_its_reply() -> None:
    assert (
        not Decider(Says(), None, None, "often")
        .decide(Question("Who is Dr. No?"), evidence())
        .reply
    )


def test_a_level_that_is_none() -> None:
    for name in ("sometimes", "2", "nan"):
        with pytest.raises(ConfigError, match="choose never, rarely, balanced, often, or a number"):
            parse_level(name)


def test_courtesies() -> None:
    assert all(map(is_courtesy, ("Thanks!", "hello", "ok")))
    assert not any(map(is_courtesy, ("Hi, how do I log in?", "Why?")))


STORMS = tuple(
    Passage(
        f"{name}-1", f"The hurricane was named in {year}. Schools were closed.", f"Hurricane {name}"
    )
    for name, year in (("Katrina", 2005), ("Gloria", 1985))
)


def test_a_question_is_asked_back_where_several_documents_have_what_it_refers_to() -> None:
    for ask, question, outcome in (
        ("never", "When was the hurricane named?", "answered"),
        ("auto", "When was the hurricane named?", "asked"),
        ("auto", "When was Hurricane Gloria named?", "answered"),
        ("always", "Which schools were closed?", "answered"),  # nothing is unclear
        ("always", "Which one was it?", "asked"),
    ):
        decision = Decider(None, None, None, "rarely", ask).decide(
            Question(question), evidence(STORMS)
        )
        assert decision.outcome == outcome, question
        assert bool(decision.trace()["choices"]) == (outcome == "asked")
        signals = decision.signals
        certain = (
            1 - signals["new"],
            1 - signals["reference"],
            *(signals[each] for each in ("rare", "source", "confidence")),
        )
        assert signals["unclear"] == pytest.approx(1 - sum(certain) / 5, abs=1e-3)


@pytest.mark.parametrize(
    ("question", "said", "first"),
    [
        ("When was it named?", STORMS[1:], "Gloria-1"),
        ("When was it named?", STORMS[:1], "Katrina-1"),
        ("When was it named?", PASSAGES, "Katrina-1"),
        ("When was the hurricane named?", STORMS[1:], "Katrina-1"),
    ],
)
def test_what_a_question_refers_to_is_looked_for_where_the_last_answer_came_from(
    question: str, said: Sequence[Passage], first: str
) -> None:
    asked = Question(
        question,
        history=(Turn("c<::>1", "What about hurricanes?", "Schools were closed.", tuple(said)),),
    )
    rules = Decider(None, None, None, "rarely").decide(asked, evidence(STORMS))
    assert rules.ranked[0][0] == first


def test_a_question_that_was_asked_back_is_not_asked_back_again() -> None:
    chat = Pipeline.over(
        STORMS, "rewriter=none", "generator=direct", "generator.ask=auto", "generator.refuse=rarely"
    )
    asked = chat.turn("c", "When was the hurricane named?")
    assert (
        asked.answer.text
        == "Which hurricane do you mean?\n\n1. Hurricane Katrina\n2. Hurricane Gloria"
    )
    told = chat.turn("c", "the second")
    assert told.rewritten_query == "When was the hurricane named? (Hurricane Gloria)"
    assert "1985" in told.answer.text
    thanked = chat.turn("c", "thanks!")
    assert (thanked.answer.text, thanked.hits, thanked.queries) == ("You're welcome.", (), ())
    assert "retriever" not in thanked.timings


CHINESE = (
    Passage("a", "绿茶应当用八十度的水冲泡。冲泡时间为两分钟。绿茶产自浙江省。", "绿茶"),
    Passage("b", "红茶应当用沸水冲泡，时间为四分钟。", "红茶"),
    Passage("c", "猫每天需要睡眠十二到十六个小时。成年猫每天吃两次饭。", "猫的护理"),
)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "绿茶用多少度的水？",
            "绿茶应当用八十度的水冲泡。 [1]",
        ),  # a piece across two words counts by its character
        ("猫每天睡多久？", "猫每天需要睡眠十二到十六个小时。 [1]"),
        ("红茶用什么水冲泡？", "红茶应当用沸水冲泡，时间为四分钟。 [1]"),
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
    answer = Pipeline.over(CHINESE).turn("c", question).answer.text
    assert answer == said
    assert (detect_idk(answer) == "yes") == ("[" not in said)


def test_why_is_said_in_words() -> None:
    decide = Decider(None, None, None, "balanced", "auto").decide
    refused = decide(Question("Who repairs laptops in Rome on Sundays?"), evidence())
    assert refused.explain() == (
        "Refused: the nearest passage has 2 of the 4 words that matter; confidence 0.28, the level is 0.45"
    )
    assert refused.reply == (
        "I could not find this in the passages. I looked for: repairs, laptops, Rome, Sundays. "
        "The nearest is Questions, which has repairs, laptops."
    )
    assert (
        decide(Question("Who repairs laptops in Rome?"), evidence(PASSAGES[2:])).outcome
        == "partial"
    )
    assert decide(Question("hello"), evidence()).explain() == "Nothing was asked"
