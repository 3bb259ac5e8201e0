"""dataset=simulated: users with a goal, by rules or played by a language model, who talk with the
pipeline.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Interval

from convrag import (
    LLM,
    ConfigError,
    Conversation,
    DataError,
    Dataset,
    PromptTemplate,
    Report,
    Turn,
    TurnRecord,
)
from convrag.sdk.data.jsonl import list_files
from convrag.sdk.data.simulated import Fact, PlayedConversation
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag_datasets.borrowed_corpus import BorrowedCorpusDataset
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.passages import hash_content
from convrag_datasets.files.row import Row, UniqueIds
from convrag_datasets.files.turns import format_turn_id
from convrag_datasets.jsonl import SampleDataset


class SimulatedDataset(BorrowedCorpusDataset):
    """Users with a goal who talk with the pipeline until it is reached: each question depends on the answers before.

    `dataset=simulated dataset.llm=claude dataset.path=users.jsonl dataset.corpus=documents`: the
    model plays the users. A line of the file is a user: {"id": "u1", "goal": "Plan my parental
    leave.", "facts": [...], "question": "the first one", "answer": "what reaches the goal"};
    without `answer`, all facts do. A fact is a text, or {"fact": "It is paid for 14 weeks.",
    "question": "Is it paid?", "again": "Is parental leave paid?"}.

    Without `dataset.llm` the users are played by rules, which are no people: they ask the
    `question` of each fact in turn, once more in other words (`again`) where the answer lacks the
    fact by its words, and stop when all are given. So every fact needs a `question`.
    metrics=goal_success measures the conversations.

    Args:
        llm: the language model that plays the users, `dataset.llm=gpt4`; by default, rules do.
        path: the file. Without it, each conversation of `corpus` is a user whose facts are its
            reference answers:
            `dataset.corpus=questions` takes those that task=questions has written.
        corpus: the data set whose passages are searched, with its own parameters below
            `dataset.corpus`. By default dataset=sample, with some users who ask about it.
        turns: after which a user gives up.
        confirm: whether users by rules ask for the first fact again at the end, to see whether
            answers keep it.
        user_prompt: a Jinja file to use instead of this package's user.jinja.
        records: the folder of an earlier run of these users: what they asked there is asked as it
            stands, and task=evaluate, task=export and judges know these conversations.

    Raises:
        ConfigError: a path is given, and no corpus.
        DataError: the prompt is missing or no template.
    """

    libraries = ("pydantic",)

    def __init__(
        self,
        *,
        llm: LLM | None = None,
        path: Path | None = None,
        corpus: Dataset | None = None,
        turns: Annotated[int, Interval(ge=1, le=1000)] = 10,
        confirm: bool = False,
        user_prompt: Path | None = None,
        records: Path | None = None,
    ) -> None:
        if path and corpus is None:
            raise ConfigError(
                "dataset.path needs a data set that the users ask about: dataset.corpus=documents, say"
            )
        super().__init__(corpus or SampleDataset())
        self.path = (
            path
            if corpus
            else Path(str(resources.files(__package__).joinpath("sample", "users.jsonl")))
        )
        self.by_rules, self.run = llm is None, records
        self.prompt_templates = (
            PromptTemplate("user", package="convrag_datasets", path=user_prompt),
        )
        self._play: dict[str, Any] = {
            "most_turns": turns,
            "player": partial(play_by_rules, confirm),
        }
        if llm:
            from convrag_datasets.model_user import ModelUser

            self._play["player"] = ModelUser(llm, *self.prompt_templates).play
        self._talks = Lazy(self._read)

    def check(self) -> Iterable[str]:
        """The errors of the files."""
        return collect_problems(lambda: [*self.conversations()])

    def content_hash(self) -> str:
        """A hash of the files."""
        run = map(hash_content, list_files(self.run / "intermediate", ".jsonl") if self.run else ())
        return digest(
            [self.path and hash_content(self.path), self.corpus_dataset.content_hash(), *run]
        )

    def note(self) -> str:
        """Says that rules play the users."""
        return (
            "the users are played by rules, not by a language model or people"
            if self.by_rules
            else ""
        )

    def conversations(self) -> Iterator[Conversation]:
        """Yield a conversation for each user, in the order of the file, with the turn that it can
        begin with.
        """
        return self._replay(self.run) if self.run else iter(self._talks())

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """How the conversations ended."""
        ends = Counter(record.labels["goal"] for record in records if "goal" in record.labels)
        said = ", ".join(f"{name} {number}" for name, number in ends.most_common())
        return Report("users", (f"Simulated users, goals: {said}.",), dict(ends)) if ends else None

    def _replay(self, run: Path) -> Iterator[PlayedConversation]:
        """The conversations of a run; the label `goal` depends on other answers now. Raises
        DataError.
        """
        from convrag.sdk.tasks.runs import read_records

        turns: dict[str, list[Turn]] = {}
        for each in read_records(run / "intermediate"):
            labels = {name: value for name, value in each.labels.items() if name != "goal"}
            asked = Turn(each.turn_id, each.original_query, each.reference, labels=labels)
            turns.setdefault(each.conversation_id, []).append(asked)
        known = [
            replace(talk, turns=tuple(turns[talk.id]), player=None)
            for talk in self._talks()
            if talk.id in turns
        ]
        if not known:
            raise DataError("this run has no conversation of these users", path=run)
        yield from known

    def _read(self) -> tuple[PlayedConversation, ...]:
        if self.path is None:
            return self._convert()
        ids, talks = UniqueIds("user"), list[PlayedConversation]()
        for row in read_json_rows(self.path):
            talks.append(self._read_user(replace(row, place=row.place or "user")))
            ids.add(talks[-1].id, row)
        if not talks:
            raise DataError("this file has no users", path=self.path)
        return tuple(talks)

    def _read_user(self, row: Row) -> PlayedConversation:
        _check_keys(row, "id", "goal", "facts", "question", "answer", "domain")
        goal, opening = row.require_text("goal"), row.optional_text("question")
        facts = [
            self._read_fact(item, goal, "" if n else opening)
            for n, item in enumerate(row.require_items("facts"))
        ]
        domain, known = row.optional_text("domain") or self.domains()[0], self.domains()
        if domain not in known:
            raise row.error(f"the domain {domain!r} is none of the corpus: {', '.join(known)}")
        return self._make(row.require_id("id"), domain, goal, facts, row.optional_text("answer"))

    def _read_fact(self, row: Row, goal: str, opening: str) -> Fact:
        row = replace(row, value={"fact": row.value}) if isinstance(row.value, str) else row
        _check_keys(row, "fact", "question", "again")
        question = opening or row.optional_text("question")
        if self.by_rules and not question:
            raise row.error(
                "a user by rules needs a `question` for each fact; a language model finds its own words"
            )
        return Fact(
            row.require_text("fact"), question, row.optional_text("again") or f"{goal} {question}"
        )

    def _convert(self) -> tuple[PlayedConversation, ...]:
        """Users who ask what the conversations of the other data set ask, and again as without the
        conversation.
        """
        clear, talks = (
            next(iter(self.corpus_dataset.rewrites().values()), {}),
            list[PlayedConversation](),
        )
        for each in self.corpus_dataset.conversations():
            turns = [turn for turn in each.turns if turn.answer.strip()]
            facts = [
                Fact(turn.answer, turn.question, clear.get(turn.id, turn.question))
                for turn in turns
            ]
            if facts:
                talks.append(
                    self._make(each.id, each.domain, " ".join(fact.again for fact in facts), facts)
                )
        if not talks:
            raise ConfigError(
                "dataset.corpus has no reference answers to make users of: name a file, dataset.path=..."
            )
        return tuple(talks)

    def _make(
        self, name: str, domain: str, goal: str, facts: list[Fact], answer: str = ""
    ) -> PlayedConversation:
        opening = facts[0].question
        first = Turn(format_turn_id(name, 1), opening or goal, facts[0].text if opening else "")
        aim: dict[str, Any] = {"goal": goal, "facts": tuple(facts), "reached_by": answer}
        return PlayedConversation(name, (first,), domain, **aim, **self._play)


def _check_keys(row: Row, *known: str) -> None:
    if unknown := row.other_fields(*known):
        raise row.error(f"unknown key {next(iter(unknown))!r}; known are {', '.join(known)}")


def play_by_rules(
    confirm: bool, talk: PlayedConversation, records: list[TurnRecord]
) -> Iterator[Turn]:
    """Ask for each fact in turn, once more in other words where the answer lacks it, and stop when
    the goal is reached.

    Args:
        confirm: whether the first fact is asked for once more at the end, to see whether answers
            keep it.
        talk: has the goal and the facts.
        records: of the turns so far; the one that reached the goal, or the last, gets the label
            `goal`.
    """
    end = ""

    def ask(number: int, asked: str, question: str) -> Turn:
        labels = {"fact": number, "asked": asked}
        return Turn(
            format_turn_id(talk.id, len(records) + 1),
            question,
            talk.facts[number - 1].text,
            labels=labels,
        )

    for number, fact in enumerate(talk.facts, 1):
        for asked, question in (("first", fact.question), ("again", fact.again)):
            if not end and not any(fact.is_given(record.answer.text) for record in records):
                yield ask(number, asked, question)
                reached = talk.is_reached([record.answer.text for record in records])
                end = (
                    "reached"
                    if reached
                    else "turns over"
                    if len(records) == talk.most_turns
                    else ""
                )
    records[-1] = replace(records[-1], labels={**records[-1].labels, "goal": end or "given up"})
    if confirm and end == "reached" and len(records) < talk.most_turns:
        yield ask(1, "confirm", talk.facts[0].again)
