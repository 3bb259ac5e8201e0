"""The Perplexity-style description, sentence by sentence: `+system=perplexity` and its Python API.

The model is a scripted server of OpenAI's protocol, so what is sent can be compared to the letter.
The embedder and the reranker that the preset chooses are models to download; `lsa` and `none`
replace them.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Conversations, Message, Passage, Pipeline, TurnRecord
from convrag.config.compose import compose
from convrag_condense import QueryCondenser, trim_messages_for_context
from convrag_tasks.turn_trace import format_turn_trace
from llm_server import Server, make_reply

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]

PAPERS = [
    Passage(
        "mtl",
        "Multi-task learning trains one model on several tasks, which share a representation.",
        title="Multi-Task Learning",
        metadata={"authors": ["Rich Caruana"], "year": 1997},
    ),
    Passage(
        "causal",
        "Causal inference approaches estimate the effect of an intervention from data.",
        title="Causal Inference",
        metadata={"authors": ["Judea Pearl", "Dana Mackenzie"], "year": 2018},
    ),
    Passage(
        "overlap",
        "Overlap between multi-task learning and causal inference: both look for what is invariant.",
        title="Overlap",  # with which the text begins
        metadata={"authors": ["Bernhard Scholkopf"], "year": 2021},
    ),
    Passage("bert", "BERT computes contextualized embeddings with self-attention.", title="BERT"),
]
ASKED = "What is multi-task learning in NLP?"
ANSWERED = "Multi-task learning (MTL) trains one model on several tasks [1]."
FOLLOW_UP = "Is there an overlap?"
STANDALONE = "Is there an overlap between multi-task learning and causal inference?"


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server("openai_compatible")
    yield running
    running.close()


def make_chat(server: Server, here: Path, *overrides: str, passages: Any = PAPERS) -> Pipeline:
    """The preset, asked through the scripted server."""
    return Pipeline.over(
        passages,
        "+system=perplexity",
        "llm=openai_compatible",
        "llm.model=local",
        f"llm.api_base={server.address}",
        "llm.retries=0",
        "embedder=lsa",
        "reranker=none",
        f"store.path={here / 'store'}",
        *overrides,
    )


def list_messages(request: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in request["messages"]]


def talk(server: Server, here: Path, *overrides: str) -> tuple[list[TurnRecord], list[Any]]:
    """The two turns of the description's example; returns the records and the requests."""
    replies = [ANSWERED, STANDALONE, "Yes, both look for what is invariant [3]."]
    server.plan_replies(*map(make_reply, replies))
    chat = make_chat(server, here, *overrides)
    records = [chat.turn("c", question) for question in (ASKED, FOLLOW_UP)]
    assert not any(record.error or record.fallbacks for record in records)
    return records, server.requests


# Step 1: condense
# ---------------------------------------------------------------------------------------------------


HISTORY = [Message("user", ASKED), Message("assistant", ANSWERED)]


@pytest.fixture(scope="module")
def condenser() -> QueryCondenser:
    return QueryCondenser("llm=extractive")


@pytest.mark.parametrize(
    "query",
    [
        # "Query contains pronouns"
        "Under which conditions does it work well for languages without much data?",
        "Under which conditions do they work well for languages without much data?",
        "Who was the first researcher that proposed that for languages without data?",
        "Who was the first researcher to propose these for languages without data?",
        # "elliptical constructions"
        "What about languages for which hardly any annotated data are available today?",
        "How about languages for which hardly any annotated data are available today?",
        "Which languages were also annotated for the shared task in the year 2019?",
        # "comparative language"
        "Where do the annotation schemes of both corpora overlap in the year 2019?",
        "Which relationship holds between the size of a corpus and the quality of annotation?",
        "How do the annotation schemes of the year 2019 compare to older ones?",
        # "Short queries (<8 words) after turn 1"
        "Which loss functions do people use?",
        # the examples and the manual test cases
        "Is there an overlap?",
        "Is there an overlap with causal approaches?",
        "How does it compare to GPT?",
        "Can you elaborate on the data efficiency issue?",
        "How does it work?",
        "Is there overlap with transfer learning?",
        "What about self-attention?",
        "And what about the paper that you mentioned earlier in this conversation on MTL?",
    ],
)
def test_when_to_condense(condenser: QueryCondenser, query: str) -> None:
    assert condenser.should_condense(query, HISTORY)
    assert not condenser.should_condense(query, [])  # "after turn 1"
    assert not condenser.should_condense(query, [Message("system", "You are ...")])


def test_a_question_that_stands_alone_is_not_condensed(condenser: QueryCondenser) -> None:
    new = "Which committee of the city of Hamburg plans where underground lines will run?"
    assert not condenser.should_condense(new, HISTORY)


@pytest.mark.parametrize("as_mappings", [False, True])
def test_condense_query(as_mappings: bool, server: Server, here: Path) -> None:
    """The docstring's example; evidence in a message of the history is not sent along."""
    server.plan_replies(
        make_reply("Is there overlap between multi-task learning and causal approaches?")
    )
    condenser = QueryCondenser(
        "llm=openai_compatible",
        "llm.model=local",
        f"llm.api_base={server.address}",
        f"store.path={here / 'store'}",
    )
    note = "\n\n---\n**Evidence from library:**\n\n[1] Title (2024)\nAuthors\nA passage."
    history: list[Any] = [
        Message("system", "You are an expert academic research assistant..."),
        Message("user", f"What is multi-task learning?{note}"),
        Message("assistant", ANSWERED),
    ]
    if as_mappings:
        history = [{"role": each.role, "content": each.content} for each in history]
    query = "Is there overlap with causal approaches?"
    found = condenser.condense_query(query, history)
    assert found == "Is there overlap between multi-task learning and causal approaches?"
    (request,) = server.requests
    (message,) = request["messages"]
    assert f"User: What is multi-task learning?\nAssistant: {ANSWERED}" in message["content"]
    assert "A passage." not in message["content"]
    assert condenser.condense_query("What is multi-task learning?", []) == (
        "What is multi-task learning?"
    )
    assert len(server.requests) == 1


def test_a_model_that_fails_leaves_the_query(server: Server, here: Path) -> None:
    server.plan_replies(make_reply(""))
    condenser = QueryCondenser(
        "llm=openai_compatible",
        "llm.model=local",
        f"llm.api_base={server.address}",
        "llm.retries=0",
        f"store.path={here / 'store'}",
    )
    assert condenser.condense_query(FOLLOW_UP, HISTORY) == FOLLOW_UP


@pytest.mark.parametrize(
    ("query", "history", "message"),
    [
        ("", HISTORY, "the question is ''"),
        (5, HISTORY, "the question is 5"),
        ("Why?", [{"role": "user"}], "message 1 of the history"),
        ("Why?", [*HISTORY, "What?"], "message 3 of the history"),
    ],
)
def test_what_is_no_message_is_named(
    condenser: QueryCondenser, query: Any, history: Any, message: str
) -> None:
    for method in (condenser.should_condense, condenser.condense_query):
        with pytest.raises(ConfigError, match=message):
            method(query, history)


def test_another_rewriter_is_refused() -> None:
    with pytest.raises(ConfigError, match="not for rewriter=none"):
        QueryCondenser("rewriter=none", "llm=extractive")


PROMPT = """You are converting a follow-up question into a standalone question.

## Task
Rephrase the follow-up by:
1. **Replacing pronouns** with specific nouns
2. **Including implicit context** from history
3. **Maintaining original intent** exactly
4. **Making it suitable for semantic search**

## Rules
- **Output ONLY the standalone question** - no explanations
- Keep question format
- Preserve key terms exactly
- Don't add information not implied by history
- Be concise
"""


def test_the_condensing_request(server: Server, here: Path) -> None:
    """ "Low for precise extraction", "standalone queries should be brief", "nucleus sampling"."""
    _, (_, condensing, _) = talk(server, here)
    chosen = {name: condensing[name] for name in ("temperature", "max_tokens", "top_p")}
    assert chosen == {"temperature": 0.2, "max_tokens": 150, "top_p": 0.9}
    ((role, content),) = list_messages(condensing)
    assert role == "user"
    assert content.startswith(PROMPT)
    assert content.count("\nStandalone: ") == 3  # "Examples provided showing transformations"
    assert content.index(ASKED) < content.index(ANSWERED) < content.rindex(FOLLOW_UP)


# Step 2: retrieve
# ---------------------------------------------------------------------------------------------------


def test_hybrid_search_for_fifteen_and_a_cross_encoder_for_six() -> None:
    config = compose("+system=perplexity")
    assert config.retriever._option_ == "hybrid"
    assert config.reranker._option_ == "cross_encoder"
    assert (config.top_k, config.top_n, config.context.tokens) == (15, 6, 200)
    assert compose("+system=perplexity", "top_n=8").top_n == 8


def test_evidence_is_found_with_the_standalone_query(server: Server, here: Path) -> None:
    (first, second), _ = talk(server, here)
    assert first.rewritten_query == ASKED
    assert [query.text for query in second.queries] == [STANDALONE]
    assert second.original_query == FOLLOW_UP


# Step 3: generate
# ---------------------------------------------------------------------------------------------------


def format_evidence(record: TurnRecord) -> str:
    """The snippets as the description shows them: title and year, authors, passage."""
    numbers = record.trace["generator"]["numbers"]
    snippets = []
    for item in record.evidence.items:
        passage = item.passage
        year = f" ({passage.metadata['year']})" if passage.metadata else ""
        lines = [f"[{numbers[passage.id]}] {passage.title}{year}"]
        if passage.metadata:
            lines.append(", ".join(passage.metadata["authors"]))
        snippets.append("\n".join([*lines, passage.text]))
    return "\n\n".join(snippets)


def test_the_messages_of_the_first_turn(server: Server, here: Path) -> None:
    (record, _), (request, *_) = talk(server, here)
    (system, _), (user, content) = list_messages(request)
    assert (system, user) == ("system", "user")
    evidence = format_evidence(record)
    assert content == f"{ASKED}\n\n---\n**Evidence from library:**\n\n{evidence}"
    assert "[1] Multi-Task Learning (1997)\nRich Caruana\nMulti-task learning trains" in content
    assert "] Overlap (2021)\nBernhard Scholkopf\nOverlap between multi-task" in content


def test_the_messages_of_a_follow_up(server: Server, here: Path) -> None:
    """The earlier question with its evidence, the answer, and the plain question; the new evidence
    is a note after it.
    """
    (_, record), (first, _, request) = talk(server, here)
    system, question, answer, follow_up = list_messages(request)
    assert [system, question] == list_messages(first)  # sent once, and never changed
    assert answer == ("assistant", ANSWERED)
    note = f"---\n**Further evidence from library:**\n\n{format_evidence(record)}"
    assert follow_up == ("user", f"{FOLLOW_UP}\n\n{note}")
    assert "nstruction" not in follow_up[1]


def test_a_follow_up_without_evidence_is_its_plain_question(server: Server, here: Path) -> None:
    replies = [ANSWERED, "qwzx?", "There is no evidence."]
    server.plan_replies(*map(make_reply, replies))
    chat = make_chat(server, here, "retriever=bm25", passages=PAPERS[:1])
    chat.turn("c", ASKED)
    chat.turn("c", "Why?")
    assert list_messages(server.requests[-1])[-1] == ("user", "Why?")


def test_the_system_prompt(server: Server, here: Path) -> None:
    _, requests = talk(server, here)
    for request in (requests[0], requests[2]):
        systems = [content for role, content in list_messages(request) if role == "system"]
        assert len(systems) == 1
        (text,) = systems
        assert text.startswith("You are an expert academic research assistant")
        wanted = [
            "## Conversation Handling\nThis is a **multi-turn conversation**. You should:\n",
            "- **Remember context**: Reference earlier discussion",
            "- **Answer naturally**: Respond directly to follow-ups",
            "- **Don't reset**: Never say \"I'm ready to begin\"",
            "- **Synthesize**: Connect follow-ups to earlier topics",
            "## Citation Requirements\n",
            "## Response Structure\n",
        ]
        assert [text.count(part) for part in wanted] == [1] * len(wanted)
        assert 300 < len(text.split()) < 600  # "~800 tokens"


def test_the_sampling_of_the_answer(server: Server, here: Path) -> None:
    _, requests = talk(server, here)
    for request in (requests[0], requests[2]):
        assert {
            name: request[name] for name in ("temperature", "max_tokens", "top_p", "top_k")
        } == {
            "temperature": 0.35,
            "max_tokens": 2000,
            "top_p": 0.9,
            "top_k": 50,
        }
        assert request["repeat_penalty"] == request["repetition_penalty"] == 1.15


@pytest.mark.parametrize(
    ("question", "follow_up", "standalone"),
    [
        (
            "What is multi-task learning in NLP?",
            "Is there an overlap with causal approaches?",
            "Is there overlap between multi-task learning in NLP and causal inference approaches?",
        ),
        (
            "How does BERT handle contextualized embeddings?",
            "How does it compare to GPT?",
            "How does BERT's handling of contextualized embeddings compare to GPT?",
        ),
        (
            "What are the main challenges in few-shot learning?",
            "Can you elaborate on the data efficiency issue?",
            "Can you elaborate on the data efficiency challenges in few-shot learning?",
        ),
        ("What is BERT?", "How does it work?", "How does BERT work?"),
        (
            "What is multi-task learning?",
            "Is there overlap with transfer learning?",
            "Is there overlap between multi-task learning and transfer learning?",
        ),
        ("What are attention mechanisms?", "What about self-attention?", "What is self-attention?"),
    ],
)
def test_the_examples_and_manual_test_cases(
    question: str, follow_up: str, standalone: str, server: Server, here: Path
) -> None:
    """The condensed query searches; a meta-response is asked again, and is not the answer."""
    replies = ["It is so [1].", standalone, "Okay, I understand. I'm ready to begin.", "Yes [1]."]
    server.plan_replies(*map(make_reply, replies))
    chat = make_chat(server, here)
    assert chat.turn("c", question).answer.text == "It is so [1]."
    record = chat.turn("c", follow_up)
    assert record.rewritten_query == standalone
    assert record.answer.text == "Yes [1]."
    assert record.answer.citations
    assert list_messages(server.requests[-1])[-1][1].startswith(f"{follow_up}\n")
    assert server.requests[-1]["messages"] == server.requests[-2]["messages"]


# Conversation history
# ---------------------------------------------------------------------------------------------------


def test_trim_messages_for_context() -> None:
    parameters = inspect.signature(trim_messages_for_context).parameters
    defaults = {name: each.default for name, each in parameters.items() if name != "messages"}
    assert defaults == {"max_messages": 20, "max_chars": 8000}
    system = Message("system", "You are ...")
    pairs = []
    for number in range(30):
        pairs.append(Message("user", f"Question {number}?"))
        pairs.append(Message("assistant", f"Answer {number}. {'word ' * 20}"))
    assert trim_messages_for_context([system, *pairs]) == [system, *pairs[-20:]]
    newest = Message("user", "And now?")
    trimmed = trim_messages_for_context([system, *pairs, newest])
    assert trimmed == [system, *pairs[-18:], newest]  # pairs stay whole
    short = trim_messages_for_context([system, *pairs, newest], max_chars=300)
    assert short == [system, *pairs[-4:], newest]
    assert sum(len(message.content) for message in short[1:]) <= 300


def test_trimming_keeps_the_newest_whatever_its_length() -> None:
    long = [{"role": "user", "content": "x" * 9000}]
    system = {"role": "system", "content": "You are ..."}
    old = [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A."}]
    assert trim_messages_for_context([system, *old, *long]) == [system, *long]
    assert trim_messages_for_context([]) == []
    assert trim_messages_for_context([system]) == [system]


@pytest.mark.parametrize(
    ("messages", "limits", "message"),
    [
        ([], {"max_messages": 0}, "max_messages=0"),
        ([], {"max_chars": -1}, "max_chars=-1"),
        ([{"role": "user"}], {}, "message 1 of the history"),
    ],
)
def test_trimming_names_what_is_wrong(messages: Any, limits: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trim_messages_for_context(messages, **limits)


def test_a_long_conversation_goes_out_in_20_messages_and_8000_characters(
    server: Server, here: Path
) -> None:
    """The newest exchanges; each question has the evidence that it was asked with."""
    history: list[tuple[str, str]] = []
    answer = "The answer is long. " * 12
    passages = [
        Passage(f"p{n}", f"Topic {n} is the topic of {n}. " * 5, title=f"Paper {n}")
        for n in range(40)
    ]
    chat = make_chat(server, here, "retriever=bm25", "rewriter=none", passages=passages)
    server.plan_replies(make_reply(answer))
    asked: dict[int, str] = {}
    for turn in range(16):
        question = f"What is the topic of {turn}?"
        chat.turn("c", question)
        system, *history, newest = list_messages(server.requests[-1])
        assert system[0] == "system"
        assert len(history) <= 20
        assert sum(len(content) for _, content in history) <= 8000
        assert newest[1].startswith(f"{question}\n\n---\n")
        questions = [content for role, content in history if role == "user"]
        assert questions == [asked[n] for n in range(turn - len(questions), turn)]
        assert turn == 0 or questions
        asked[turn] = newest[1]
    assert len(history) < 20  # the characters limit it


# Debugging, and performance
# ---------------------------------------------------------------------------------------------------


def test_the_diagnostic_messages(server: Server, here: Path) -> None:
    (first, second), _ = talk(server, here, "top_n=2")
    assert "Detected" not in format_turn_trace([first])
    lines = format_turn_trace([first, second]).splitlines()
    added = len(second.evidence.items)
    new = second.trace["generator"]["new_snippets"]
    note = f"{added} snippets as evidence note, {new} of them new"
    if added == new:
        note = f"{added} new snippets as evidence note"
    assert lines[:6] == [
        "  Detected follow-up question, condensing...",
        "  Query condensation:",
        f"    Original: {FOLLOW_UP}",
        f"    Standalone: {STANDALONE}",
        "  Follow-up turn (#2): plain question only",
        f"  Added {note}",
    ]


def test_new_snippets_are_said_to_be_new(server: Server, here: Path) -> None:
    server.plan_replies(*map(make_reply, ["So [1].", "qwzx?", "So [2].", "How does BERT work?"]))
    chat = make_chat(server, here, "retriever=bm25", "top_n=1")
    records = [chat.turn("c", ASKED)]
    server.plan_replies(*map(make_reply, ["What are contextualized embeddings?", "So [2]."]))
    records.append(chat.turn("c", "What about embeddings?"))
    assert "\n  Added 1 new snippet as evidence note\n" in format_turn_trace(records)


def test_condensed_queries_are_cached(server: Server, here: Path) -> None:
    """The same conversation again costs no request."""
    talk(server, here)
    chat = make_chat(server, here)
    before = len(server.requests)
    again = [chat.turn("again", question) for question in (ASKED, FOLLOW_UP)]
    assert again[1].rewritten_query == STANDALONE
    assert len(server.requests) == before


def test_retrieval_and_condensation_in_parallel(server: Server, here: Path) -> None:
    """The model leaves the question as it is, so the search that was made meanwhile is used."""
    question = "Which overlap do causal approaches have with multi-task learning in NLP?"
    server.plan_replies(*map(make_reply, [ANSWERED, question, "Both look for it [3]."]))
    chat = make_chat(server, here, "rewriter.gate=always", "rewriter.speculate=true")
    chat.turn("c", ASKED)
    record = chat.turn("c", question)
    assert record.trace["rewriter"]["searched_ahead"] is True
    assert (record.usage["retriever"].calls, record.usage["retriever"].reused) == (0, 1)
    assert "\n  Ahead    the question was searched for" in format_turn_trace([record])


def test_the_answer_is_streamed(server: Server, here: Path) -> None:
    answer = f"{ANSWERED} The tasks share a representation [1]."
    server.plan_replies(make_reply(answer))
    stream = make_chat(server, here).stream("c", ASKED)
    pieces = list(stream)
    assert len(pieces) > 2
    assert "".join(pieces) == stream.record.answer.text == answer


# Future enhancements
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [
        ["memory=summary"],  # "Semantic compression of long histories"
        ["memory=forgetting"],  # "Smart forgetting of irrelevant context"
        ["rewriter=multi_query"],  # "Multi-query generation for ambiguous follow-ups"
        ["rewriter=resolve"],  # "Entity extraction and linking"
        ["rewriter=themes"],  # "Query expansion using conversation themes"
        ["selector=dynamic"],  # "Dynamic k-selection based on query complexity"
        ["selector=mmr"],  # "Diversity-aware re-ranking"
        ["task=chat", "task.suggestions=3"],  # "Suggested follow-up questions"
        ["task=chat", "task.show=trace"],  # "Show condensed query to user (transparency)"
        ["rewriter=condense_published", "rewriter.speculate=true"],
        ["rewriter=condense", "generator=chat", "generator.wording=academic"],
    ],
)
def test_the_enhancements_combine_with_the_preset(overrides: list[str]) -> None:
    assert compose("+system=perplexity", *overrides)


def test_conversations_are_kept_in_a_database(server: Server, here: Path) -> None:
    server.plan_replies(*map(make_reply, [ANSWERED, STANDALONE, "Yes [3]."]))
    database = here / "conversations.db"

    def make(conversations: Conversations) -> Pipeline:
        return Pipeline.compose(
            "+system=perplexity",
            "llm=openai_compatible",
            "llm.model=local",
            f"llm.api_base={server.address}",
            "embedder=lsa",
            "reranker=none",
            "tracker=none",
            conversations=conversations,
        )

    make(Conversations(database)).turn("c", ASKED)
    record = make(Conversations(database)).turn("c", FOLLOW_UP)
    assert record.rewritten_query == STANDALONE
    assert list_messages(server.requests[-1])[2] == ("assistant", record_answer(database))


def record_answer(database: Path) -> str:
    """The first answer of the conversation, as it was kept."""
    conversation = Conversations(database).find("c")
    assert conversation
    return conversation.history[0].answer


def test_the_condensation_is_overridden_by_hand(server: Server, here: Path) -> None:
    server.plan_replies(*map(make_reply, [ANSWERED, "Yes [2]."]))
    chat = make_chat(server, here)
    chat.turn("c", ASKED)
    record = chat.turn("c", FOLLOW_UP, query="causal inference")
    assert record.rewritten_query == "causal inference"
    assert len(server.requests) == 2


def test_the_api_as_its_page_shows_it(here: Path) -> None:
    page = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    section = page.partition("### Its Python API\n")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert "overlap with causal approaches" in names["query"]
    assert names["messages"][-1] == Message("user", names["query"])
