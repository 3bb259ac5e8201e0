"""Personal statements of the user: from data sets and callers through the prompts of stages into
records.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    ConfigError,
    Conversation,
    Dataset,
    Message,
    Passage,
    Prompt,
    Question,
    Turn,
    TurnRecord,
)
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.sdk.llm.prompts import INTRODUCTION, add_profile
from convrag.testing import RecordedLLM, TinyDataset, question
from convrag.testing.samples import make_evidence
from convrag_basics.direct import DirectGenerator
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter
from convrag_datasets.jsonl import JsonlDataset
from convrag_dhrag.rewriter import DHRagRewriter
from convrag_ginger.baselines import BaselineGenerator, CotGenerator
from convrag_mmr.rewriter import MMRRewriter
from convrag_rewriters.full_history import FullHistoryRewriter
from convrag_rewriters.threshold import ThresholdRewriter
from convrag_tasks.export_mtrag import list_messages
from convrag_tasks.run_records import read_dataset_turns
from toys import ListRetriever, pipeline

PROFILE = ("I'm vegetarian.", "I have\ntwo sisters.")
LISTED = f"{INTRODUCTION}\n- I'm vegetarian.\n- I have two sisters."
EMBEDDER: Any = None


class WordEmbedder:
    """Stands for an embedder or a clusterer where only the prompt matters."""

    fingerprint = "words"

    def embed(self, texts: list[str], *, query: bool = False) -> Any:
        import numpy as np

        return np.ones((len(texts), 2), np.float32) / np.sqrt(2)

    def cluster(self, texts: list[str], embedder: Any) -> Any:
        import numpy as np

        return np.zeros(len(texts), np.int64)


def sent(stage_of: Any, asked: Question) -> list[Prompt]:
    """The prompts that a stage sends to the language model for a question."""
    llm = RecordedLLM(replies={"": "Is copper better than steel? [1]"})
    stage = stage_of(llm)
    if hasattr(stage, "rewrite"):
        stage.rewrite(asked)
    else:
        stage.generate(asked, make_evidence())
    return llm.prompts


STAGES = {
    "full_history": lambda llm: FullHistoryRewriter(llm=llm),
    "threshold": lambda llm: ThresholdRewriter(llm=llm, embedder=WordEmbedder()),
    "condense": lambda llm: CondenseRewriter(llm=llm, retriever=ListRetriever(), gate="always"),
    "dhrag": lambda llm: DHRagRewriter(llm=llm, embedder=WordEmbedder()),
    "mmr": lambda llm: MMRRewriter(llm=llm, embedder=WordEmbedder(), clusterer=WordEmbedder()),
    "direct": lambda llm: DirectGenerator(llm=llm),
    "chat": lambda llm: ChatGenerator(llm=llm),
    "baseline": lambda llm: BaselineGenerator(llm=llm),
    "cot": lambda llm: CotGenerator(llm=llm),
}


@pytest.mark.parametrize("name", STAGES)
def test_prompts_mention_the_profile_and_are_as_before_without_one(name: str) -> None:
    plain = sent(STAGES[name], question())
    (prompt, *_) = sent(STAGES[name], replace(question(), profile=PROFILE))
    assert plain
    assert not any(INTRODUCTION in message.content for each in plain for message in each.messages)
    first = prompt.messages[0]
    assert LISTED in first.content
    assert prompt.inputs["profile"] == list(PROFILE)
    rest = first.content.replace(LISTED, "").strip()
    assert rest == plain[0].messages[0].content
    assert prompt.messages[1:] == plain[0].messages[1:]


@pytest.mark.parametrize("name", ["full_history", "threshold", "condense"])
def test_a_first_question_is_rewritten_where_there_is_a_profile(name: str) -> None:
    first = question("Which diet suits me?", turns=0)
    assert sent(STAGES[name], first) == []
    (prompt,) = sent(STAGES[name], replace(first, profile=PROFILE))
    assert LISTED in prompt.messages[0].content


def test_the_guard_counts_the_profile_as_said() -> None:
    llm = RecordedLLM(replies={"": "Which diet suits vegetarian sisters?"})
    rewriter = CondenseRewriter(llm=llm, retriever=ListRetriever(), guard=1.0)
    rewrite = rewriter.rewrite(replace(question("Which diet suits me?", turns=0), profile=PROFILE))
    assert (rewrite.text, rewrite.fallback) == ("Which diet suits vegetarian sisters?", "")


def test_a_chat_whose_profile_changes_is_told_so() -> None:
    llm = RecordedLLM(replies={"": "Yes. [1]"})
    generator = ChatGenerator(llm=llm)
    state: dict[object, dict[str, Any]] = {}
    for profile in ((), PROFILE, PROFILE[:1]):
        generator.generate(replace(question(), profile=profile, stage_state=state), make_evidence())
    systems = [prompt.messages[0].content for prompt in llm.prompts]
    assert [INTRODUCTION in each for each in systems] == [False, True, True]
    assert "sisters" not in systems[2]


def test_a_prompt_without_a_system_message_begins_with_the_profile() -> None:
    prompt = Prompt("rewrite", (Message("user", "Rewrite this."),))
    assert add_profile(prompt, PROFILE).messages == (Message("user", f"{LISTED}\n\nRewrite this."),)
    assert add_profile(prompt, ()) is prompt
    assert add_profile(prompt, ("  ",)) is prompt


def test_a_caller_gives_the_profile_of_a_turn() -> None:
    chat = pipeline()
    assert chat.turn("c", "one?", profile=PROFILE).profile == PROFILE
    assert chat.turn("c", "two?").profile == ()
    assert chat.regenerate("c", profile=["I'm tall."]).profile == ("I'm tall.",)
    with pytest.raises(ConfigError, match="must be a list of statements"):
        chat.turn("c", "three?", profile="I'm tall.")


def test_a_record_has_the_profile_only_where_there_is_one() -> None:
    record = pipeline().turn("c", "one?", profile=PROFILE)
    assert record.to_dict()["profile"] == list(PROFILE)
    assert TurnRecord.from_dict(record.to_dict()).profile == PROFILE
    assert "profile" not in replace(record, profile=()).to_dict()


def test_conversations_of_a_users_own_file_have_profiles(tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    turns = [{"question": "Which diet?"}]
    path.write_text(json.dumps({"id": "c", "turns": turns, "profile": list(PROFILE)}) + "\n")
    dataset = JsonlDataset(conversations=path)
    assert [each.profile for each in dataset.conversations()] == [PROFILE]
    for wrong in ("vegetarian", [1], {"1": "x"}):
        path.write_text(json.dumps({"id": "c", "turns": turns, "profile": wrong}) + "\n")
        (message,) = JsonlDataset(conversations=path).check()
        assert "talks.jsonl, line 1: profile" in message


class GivenHistory(Dataset):
    """A conversation whose first turn is given, of a user with a profile."""

    def conversations(self) -> Iterator[Conversation]:
        given = Turn("c_1", "Given?", "Given.", (Passage("p", "text"),), {"label": "hidden"})
        asked = (Turn("c_2", "two?", "Two."), Turn("c_3", "three?", "Three."))
        yield Conversation("c", asked, profile=PROFILE, history=(given,))


@pytest.mark.parametrize("history", ["gold", "generated", "none"])
def test_a_run_asks_no_turn_of_the_given_history_and_shows_it_to_the_stages(history: Any) -> None:
    settings = Settings(history=history, workers=1)
    seen: list[Question] = []
    chat = pipeline(settings=settings)
    answer = chat.answer
    chat.answer = lambda asked, *rest: seen.append(asked) or answer(asked, *rest)  # type: ignore[method-assign, func-returns-value]
    records = list(
        ConversationWorkers(chat, list(GivenHistory().conversations()), settings).records()
    )
    assert [(record.turn_id, record.number, record.profile) for record in records] == [
        ("c_2", 2, PROFILE),
        ("c_3", 3, PROFILE),
    ]
    shown = [[turn.answer for turn in asked.history] for asked in seen]
    if history == "none":
        assert shown == [[], []]
    else:
        assert shown == [
            ["Given."],
            ["Given.", "Two." if history == "gold" else records[0].answer.text],
        ]
        assert seen[0].history[0].labels == {}


def test_positions_and_exports_count_the_given_history() -> None:
    turns = read_dataset_turns(GivenHistory())
    assert [place.number for place in turns.values()] == [2, 3]
    said = [message["text"] for message in list_messages(turns["c_3"])]
    assert said == ["Given?", "Given.", "two?", "Two.", "three?"]
    assert [place.number for place in read_dataset_turns(TinyDataset()).values()] == [1, 2, 3]
