"""`dataset=simulated`: users with a goal who talk with the pipeline, by rules or by a model."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib import resources
from itertools import groupby, islice
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
    Store,
    Turn,
    TurnRecord,
)
from convrag.sdk.data.jsonl import list_files
from convrag.sdk.data.known_items import find_known_item, find_known_stems, get_heading
from convrag.sdk.data.simulated import Fact, PlayedConversation
from convrag.sdk.identity import digest
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.search.frequencies import (
    DocumentFrequencies,
    count_document_frequencies,
    find_source,
)
from convrag_datasets.borrowed_corpus import BorrowedCorpusDataset
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.passages import hash_content
from convrag_datasets.files.row import Row, UniqueIds
from convrag_datasets.files.turns import format_turn_id
from convrag_datasets.jsonl import SampleDataset

KNOWN_ITEM_USERS = 10
"""Documents of a domain that users are made of who ask known-item questions."""

KNOWN_ITEM_FACTS = 3
"""Passages of a document that such a user asks for, at most."""


class SimulatedDataset(BorrowedCorpusDataset):
    """Users with a goal who talk with the pipeline until they have reached it.

    Each question depends on the answers before. `dataset=simulated dataset.llm=claude
    dataset.path=users.jsonl dataset.corpus=documents`: the model plays the users. A line of the
    file is a user: {"id": "u1", "goal": "Plan my parental leave.", "facts": [...], "question": "the
    first one", "answer": "what reaches the goal"}; without `answer`, all facts do. A fact is a
    text, or {"fact": "It is paid for 14 weeks.", "question": "Is it paid?", "again": "Is parental
    leave paid?"}.

    Without `dataset.llm` rules play the users, unlike people: they ask the `question`
    of each fact in turn, once more in other words (`again`) where the answer lacks the fact by its
    words, and stop when all are given. A fact without a `question` is asked for by a known-item
    question: its rarest words. metrics=goal_success measures the conversations.

    Args:
        llm: the language model that plays the users, `dataset.llm=gpt4`; by default, rules do.
        path: the file. Without it, each conversation of `corpus` is a user whose facts are its
            reference answers: `dataset.corpus=questions` takes those that task=questions has
            written. Where there are none, rules make users of the first documents, who ask
            known-item questions: headings and rare words.
        corpus: the data set whose passages are searched, with its own parameters below
            `dataset.corpus`. By default dataset=sample, with some users who ask about it.
        turns: after which a user gives up.
        confirm: whether users by rules ask for the first fact again at the end, to see whether
            answers keep it.
        user_prompt: a Jinja file to use instead of this package's user.jinja.
        store: keeps the document frequencies, which tell rare words.
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
        store: Store | None = None,
    ) -> None:
        if path and corpus is None:
            raise ConfigError(
                "dataset.path needs a data set that the users ask about: "
                "dataset.corpus=documents, say"
            )
        super().__init__(corpus or SampleDataset())
        self.path = (
            path
            if corpus
            else Path(str(resources.files(__package__).joinpath("sample", "users.jsonl")))
        )
        self.by_rules = llm is None
        self.run = records
        self._frequencies = Lazy(partial(_count_frequencies, self.corpus_dataset, store))
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
        """Yield the errors of the files."""
        return collect_problems(lambda: [*self.conversations()])

    def content_hash(self) -> str:
        """Hash the files."""
        run = map(hash_content, list_files(self.run / "intermediate", ".jsonl") if self.run else ())
        return digest(
            [self.path and hash_content(self.path), self.corpus_dataset.content_hash(), *run]
        )

    def note(self) -> str:
        """Say that rules play the users."""
        return (
            "the users are played by rules, not by a language model or people"
            if self.by_rules
            else ""
        )

    def conversations(self) -> Iterator[Conversation]:
        """Yield a conversation for each user, in the order of the file, with its first turn."""
        return self._replay(self.run) if self.run else iter(self._talks())

    def report(self, records: Iterable[TurnRecord]) -> Report | None:
        """Report how the conversations ended."""
        ends = Counter(record.labels["goal"] for record in records if "goal" in record.labels)
        said = ", ".join(f"{name} {number}" for name, number in ends.most_common())
        return Report("users", (f"Simulated users, goals: {said}.",), dict(ends)) if ends else None

    def _replay(self, run: Path) -> Iterator[PlayedConversation]:
        """Yield the conversations of a run without the label `goal`. Raises DataError.

        The label depends on other answers now.
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
        text = row.require_text("fact")
        if self.by_rules and not question:
            item = find_known_item(text, self._frequencies())
            question = item.ask() if item else text
        return Fact(text, question, row.optional_text("again") or f"{goal} {question}")

    def _convert(self) -> tuple[PlayedConversation, ...]:
        """Make users of the other data set: of its reference answers, or else of its documents."""
        talks = [*self._make_users_of_answers()]
        if not talks and self.by_rules:
            for domain in self.domains():
                talks += self._make_known_item_users(domain)
        if not talks:
            raise ConfigError(
                "dataset.corpus has no reference answers to make users of: "
                "name a file, dataset.path=..."
            )
        return tuple(talks)

    def _make_users_of_answers(self) -> Iterator[PlayedConversation]:
        """Yield users who ask what the conversations ask, and again as without the conversation."""
        clear = next(iter(self.corpus_dataset.rewrites().values()), {})
        for each in self.corpus_dataset.conversations():
            facts = [
                Fact(turn.answer, turn.question, clear.get(turn.id, turn.question))
                for turn in each.turns
                if turn.answer.strip()
            ]
            if facts:
                yield self._make(each.id, each.domain, _join_goal(facts), facts)

    def _make_known_item_users(self, domain: str) -> Iterator[PlayedConversation]:
        """Yield a user for each of the first documents, who asks for facts of its passages."""
        documents = groupby(self.corpus_dataset.corpus(domain), key=find_source)
        for number, (_, passages) in enumerate(islice(documents, KNOWN_ITEM_USERS), 1):
            facts: list[Fact] = []
            for passage in islice(passages, KNOWN_ITEM_FACTS):
                heading = get_heading(passage.title)
                known = find_known_stems(heading, *(fact.question for fact in facts))
                item = find_known_item(passage.text, self._frequencies(), known)
                if item:
                    question = item.ask() if facts else item.ask(heading)
                    facts.append(Fact(item.sentence, question, item.ask(heading)))
            if facts:
                yield self._make(f"{domain}-{number}", domain, _join_goal(facts), facts)

    def _make(
        self, name: str, domain: str, goal: str, facts: list[Fact], answer: str = ""
    ) -> PlayedConversation:
        opening = facts[0].question
        first = Turn(format_turn_id(name, 1), opening or goal, facts[0].text if opening else "")
        aim: dict[str, Any] = {"goal": goal, "facts": tuple(facts), "reached_by": answer}
        return PlayedConversation(name, (first,), domain, **aim, **self._play)


def _join_goal(facts: Iterable[Fact]) -> str:
    return " ".join(fact.again for fact in facts)


def _count_frequencies(corpus: Dataset, store: Store | None) -> DocumentFrequencies:
    """Count document frequencies; without a store all words weigh the same."""
    return count_document_frequencies(corpus, store) if store else DocumentFrequencies()


def _check_keys(row: Row, *known: str) -> None:
    if unknown := row.other_fields(*known):
        raise row.error(f"unknown key {next(iter(unknown))!r}; known are {', '.join(known)}")


def play_by_rules(
    confirm: bool, talk: PlayedConversation, records: list[TurnRecord]
) -> Iterator[Turn]:
    """Ask for each fact, once more in other words where the answer lacks it, until all are given.

    Args:
        confirm: whether the first fact is asked for once more at the end, to see whether answers
            keep it.
        talk: has the goal and the facts.
        records: those of the turns so far; the one that reached the goal, or the last, gets the
            label `goal`.
    """
    end = ""
    for number, fact in enumerate(talk.facts, 1):
        for asked, question in (("first", fact.question), ("again", fact.again)):
            if end or any(fact.is_given(record.answer.text) for record in records):
                continue
            yield _ask(talk, records, number, asked, question)
            end = _find_end(talk, records)
    records[-1] = replace(records[-1], labels={**records[-1].labels, "goal": end or "given up"})
    if confirm and end == "reached" and len(records) < talk.most_turns:
        yield _ask(talk, records, 1, "confirm", talk.facts[0].again)


def _ask(
    talk: PlayedConversation, records: list[TurnRecord], number: int, asked: str, question: str
) -> Turn:
    """Make the turn that asks for the fact of a number, counted from 1."""
    id_ = format_turn_id(talk.id, len(records) + 1)
    labels = {"fact": number, "asked": asked}
    return Turn(id_, question, talk.facts[number - 1].text, labels=labels)


def _find_end(talk: PlayedConversation, records: list[TurnRecord]) -> str:
    """Say how the conversation has ended; empty while it goes on."""
    if talk.is_reached([record.answer.text for record in records]):
        return "reached"
    return "turns over" if len(records) == talk.most_turns else ""
