"""The pipeline of stages that answers the questions of conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from convrag.api.conversations import Conversation, Question
from convrag.api.errors import ConfigError, OtherConfiguration, UnknownName
from convrag.api.filter_parser import parse_filter
from convrag.api.filters import Filter
from convrag.api.passages import Passage
from convrag.api.queries import Rewrite
from convrag.api.records import TurnRecord
from convrag.api.session import Session
from convrag.api.stages import (
    Context,
    Dataset,
    Generator,
    Memory,
    Ranker,
    Retriever,
    Rewriter,
    Search,
    Selector,
)
from convrag.concurrency.cancellation import check_cancelled, hold
from convrag.concurrency.streaming import Stream
from convrag.config.compose import compose_command, read_settings
from convrag.config.settings import Settings
from convrag.turn.conversations import RESULT_SETTINGS, SETTINGS, Conversations, check_configuration
from convrag.turn.logs import FailureLog
from convrag.turn.observers import Observers
from convrag.turn.turn import Audience, Listener, Stages, TurnInProgress, TurnOptions
from convrag.turn.wiring import Wiring


class Pipeline:
    """Answers questions, one turn of a conversation at a time.

    Conversations may go on side by side, from several threads.

        chat = Pipeline.compose("rewriter=full_history", "llm=extractive")
        record = chat.turn("my-conversation", "What is BERT?")

    Args:
        memory: chooses what of the history the other stages see; by default all of it.
        rewriter: rewrites the question as standalone queries.
        search: decides what is searched for; by default, these queries, once.
        retriever: finds passages for them.
        reranker: reorders the passages.
        selector: chooses the passages that the model sees; by default the first ones,
            `settings.top_n`.
        context: decides in which form the model sees them.
        generator: answers the question.
        settings: how many passages to retrieve and to show, and which history to use.
        domains: the corpora that a conversation can be about.
        conversations: keeps the conversations; by default all of them in memory.
        configuration: the options and parameters that the stages were built from, by place, as
            `compose` knows them. A conversation that was begun with others is refused.
    """

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        rewriter: Rewriter,
        search: Search | None = None,
        retriever: Retriever,
        reranker: Ranker,
        selector: Selector | None = None,
        context: Context,
        generator: Generator,
        settings: Settings | None = None,
        domains: Sequence[str] = ("default",),
        conversations: Conversations | None = None,
        configuration: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.stages = Stages(
            memory, rewriter, search, retriever, reranker, selector, context, generator
        )
        self.settings = settings or Settings()
        self.domains = tuple(domains)
        self.conversations = Conversations() if conversations is None else conversations
        self.configuration: Mapping[str, Mapping[str, Any]] = configuration or {}
        """Place ("rewriter.embedder", "settings") -> option and parameters that bear on results."""
        self.audience = Audience(Observers())
        """The observers of each turn.

        See the hooks `convrag_turn_started`, `convrag_stage_finished` and `convrag_turn_ended`.
        """
        self._failures = FailureLog()

    @classmethod
    def compose(cls, *overrides: str, conversations: Conversations | None = None) -> Pipeline:
        """Make the pipeline that the command would run with these overrides, checked and prepared.

        Args:
            overrides: overrides as on the command line.
            conversations: keeps the conversations; `Conversations("conversations.db")` keeps them
                on disk.

        Raises:
            ConfigError: an override is not valid.
            NotReady: a key, a file or an extra is missing.
        """
        return cls._compose(overrides, conversations)

    @classmethod
    def over(
        cls,
        passages: Iterable[Passage],
        *overrides: str,
        conversations: Conversations | None = None,
    ) -> Pipeline:
        """Make a pipeline like `compose` whose corpus are these passages, which stay in memory.

            chat = Pipeline.over([Passage("p1", "The Moon is 384,400 km away.")], "llm=extractive")

        Raises:
            ConfigError: there is no passage, two have the same id, or an override is not valid or
                chooses a data set.
            NotReady: a key, a file or an extra is missing.
        """
        return cls._compose(overrides, conversations, PassagesDataset(passages))

    @classmethod
    def from_wiring(
        cls, wiring: Wiring, settings: Settings, conversations: Conversations | None = None
    ) -> Pipeline:
        """Make the pipeline of a wiring, not yet checked."""
        stages = {group: wiring.get(group) for group in Stages._fields}
        domains = wiring.get("dataset").domains()
        configuration = wiring.collect_configuration([*Stages._fields, "dataset"])
        configuration[SETTINGS] = {name: getattr(settings, name) for name in RESULT_SETTINGS}
        common: dict[str, Any] = {"conversations": conversations, "configuration": configuration}
        return cls(**stages, settings=settings, domains=domains, **common)

    @classmethod
    def for_conversations(
        cls,
        wiring: Wiring,
        settings: Settings,
        conversations: Conversations | None,
        model: str = "",
    ) -> Pipeline:
        """Make the pipeline of a wiring for turns that belong to no run, not yet checked.

        The observers are told of it. The tracker is one of them if it logs such turns
        (`tracker.traces=true`).

        Args:
            wiring: the stages.
            settings: the settings.
            conversations: keeps the conversations.
            model: the name that a server gives to the pipeline.

        Raises:
            ConfigError: an observer cannot be built, or refuses.
        """
        pipeline = cls.from_wiring(wiring, settings, conversations)
        logs_turns = wiring.config.get("tracker", {}).get("traces") is True
        observers = Observers(wiring.get("tracker")) if logs_turns else Observers()
        pipeline.audience = Audience(observers, wiring.logged_config, model)
        observers.notify("convrag_conversations_started", config=wiring.logged_config, model=model)
        return pipeline

    @classmethod
    def _compose(
        cls,
        overrides: Sequence[str],
        conversations: Conversations | None,
        dataset: Dataset | None = None,
    ) -> Pipeline:
        config, command = compose_command(*overrides)
        wiring = Wiring(config, command)
        if dataset:
            wiring.provide_dataset(dataset)
        pipeline = cls.for_conversations(wiring, read_settings(config), conversations)
        wiring.check()
        wiring.prepare()
        return pipeline

    def turn(
        self,
        conversation_id: str,
        text: str,
        *,
        domain: str | None = None,
        query: str | None = None,
        top_k: int | None = None,
        generate: bool = True,
        profile: Sequence[str] = (),
        filter: str | Filter | None = None,
        listener: Listener | None = None,
        stages: bool = False,
    ) -> TurnRecord:
        """Ask the next question of a conversation; a new id begins a new one.

        A turn that fails gives a record with an `error`, and the conversation goes on. A turn that
        is cancelled or interrupted is not kept.

        Args:
            conversation_id: any name; the same name continues the same conversation.
            text: the user's utterance.
            domain: the corpus that a new conversation is about; required if there are several.
            query: a search query to use instead of a rewrite of `text`.
            top_k: the number of passages to retrieve and to show in this turn; by default as in the
                settings.
            generate: whether to generate an answer; if not, the turn ends with its evidence.
            profile: personal statements of the user ("I'm vegetarian."), which the stages see in
                this turn.
            filter: the condition on fields that the passages of this turn must match, next to
                `retriever.filter`: "product=kettle and year>=2023".
            listener: is called with each piece of the answer as soon as it comes.
            stages: whether the listener is also called after each stage, with a StageFinished: its
                group ("rewriter", "retriever", ...) and the record so far; and with a StageNotice
                where a stage waits: a model thinks, or a request is repeated.

        Raises:
            ConfigError: `text` is empty, `top_k` is below 1, or the filter cannot be read, names a
                field that the corpus does not have, or is not possible with this retriever.
            UnknownName: there is no such domain, or several and none is given.
            OtherConfiguration: the conversation was begun with another configuration, or about
                another domain.
            ConversationChanged: another process continued the conversation meanwhile; the turn is
                not kept.
            ConversationsUnusable: the database of conversations cannot be used.
        """
        _check_question(text)
        options = TurnOptions(
            query=query, top_k=top_k, generate=generate, listener=listener, stages=stages
        )
        with self._hold(conversation_id, domain) as conversation:
            question = self._make_question(conversation, text, profile)
            question = replace(question, filter=self.read_filter(filter, conversation.domain))
            record = self.answer(question, options)
            check_cancelled()
            self.conversations.append(conversation, record)
        return record

    def regenerate(
        self,
        conversation_id: str,
        *,
        query: str | None = None,
        top_k: int | None = None,
        profile: Sequence[str] = (),
        filter: str | Filter | None = None,
        listener: Listener | None = None,
        stages: bool = False,
    ) -> TurnRecord:
        """Answer the last question of a conversation again; the new turn replaces the last one.

        Language models are asked again, even where the store has their replies. Where no answer
        comes (the record has an `error`), the last turn stays.

        Args:
            conversation_id: names a conversation that has a turn.
            query: a search query to use instead of a rewrite of the question.
            top_k: as in `turn`.
            profile: as in `turn`.
            filter: as in `turn`; that of the turn before is not kept.
            listener: as in `turn`.
            stages: as in `turn`.

        Raises:
            ConfigError: there is no such conversation, or it has no turn.
            Exception: as `turn` raises.
        """
        options = TurnOptions(query=query, top_k=top_k, listener=listener, stages=stages)
        if self.conversations.get(conversation_id) is None:
            raise ConfigError(
                f"there is no conversation {conversation_id!r}: ask its first question"
            )
        with self._hold(conversation_id, None) as conversation:
            if not conversation.history:
                raise ConfigError(
                    f"conversation {conversation_id!r} has no turn yet: ask its first question"
                )
            question = conversation.make_last_question(hide_history=self.settings.history == "none")
            question = replace(
                question,
                profile=_check_profile(profile),
                filter=self.read_filter(filter, conversation.domain),
            )
            record = self.answer(question, replace(options, attempt=conversation.attempt + 1))
            check_cancelled()
            if not record.error:
                self.conversations.replace_last(conversation, record)
        return record

    def stream(self, conversation_id: str, text: str, **options: Any) -> Stream[str, TurnRecord]:
        """Ask like `turn`, and stream the answer: iterate over its pieces, then read the `record`.

        The turn begins at once. Leaving the loop early cancels it, and it is not kept.
        """
        stream = self.astream(conversation_id, text, **options)
        stream.start()
        return stream

    def astream(self, conversation_id: str, text: str, **options: Any) -> Stream[str, TurnRecord]:
        """Ask like `stream`, for `async for`.

        The turn begins with the iteration. Leaving the loop, or cancelling its task, cancels the
        turn, which is not kept.
        """
        return Stream(
            lambda send: self.turn(conversation_id, text, **{"listener": send, **options})
        )

    async def aturn(self, conversation_id: str, text: str, **options: Any) -> TurnRecord:
        """Ask like `turn`, in a thread. Cancelling the task cancels the turn, which is not kept."""
        stream = self.astream(conversation_id, text, **options)
        async for _ in stream:
            pass  # its pieces go to options["listener"], if anywhere
        return stream.record

    def rewrite(
        self,
        conversation_id: str,
        text: str,
        *,
        domain: str | None = None,
        profile: Sequence[str] = (),
    ) -> Rewrite:
        """Rewrite a question as the next turn of a conversation would.

        The conversation does not change. Raises as `turn` does.
        """
        _check_question(text)
        with self._hold(conversation_id, domain) as conversation:
            question = self._make_question(conversation, text, profile)
            return self._start_turn(question, TurnOptions()).rewrite()

    def read_filter(self, given: str | Filter | None, domain: str) -> Filter | None:
        """Read the filter of a turn, and check it as `turn` does.

        Args:
            given: the filter; None or a blank text for none.
            domain: the corpus that is searched.

        Raises:
            ConfigError: it cannot be read, names a field that the corpus does not have, or is not
                possible with this retriever.
        """
        if isinstance(given, str):
            condition = parse_filter(given) if given.strip() else None
        else:
            condition = given
        if condition is not None:
            self.stages.retriever.check_filter(condition, domain)
        return condition

    def reset(self, conversation_id: str) -> None:
        """Remove the turns of a conversation, which begins anew; an unknown id has no effect."""
        self.conversations.reset(conversation_id)

    def answer(self, question: Question, options: TurnOptions | None = None) -> TurnRecord:
        """Answer one question with the history that it has; no conversation is kept.

        Raises:
            RunStopped: the run must stop.
            Cancelled: the turn was cancelled (see `convrag.concurrency.cancellation`).
        """
        return self._start_turn(question, options or TurnOptions()).run()

    def _start_turn(self, question: Question, options: TurnOptions) -> TurnInProgress:
        return TurnInProgress(
            question, self.stages, self.settings, self._failures, self.audience, options
        )

    @contextmanager
    def _hold(self, conversation_id: str, domain: str | None) -> Iterator[Session]:
        """Hold the lock of a conversation, since its turns must not overlap.

        An unknown id begins a conversation. It has all turns that other processes have added to
        it. Raises as `turn` does.
        """
        while True:
            conversation = self.conversations.find(conversation_id)
            if conversation is None:
                conversation = self._begin(conversation_id, domain)
            with hold(conversation.lock):
                if conversation.dropped:  # by another thread, while this one waited
                    continue
                self.conversations.refresh(conversation)
                if domain not in (None, conversation.domain):
                    raise OtherConfiguration(
                        conversation_id, [(f"domain={conversation.domain}", f"domain={domain}")]
                    )
                check_configuration(conversation, self.configuration)
                yield conversation
                return

    def _begin(self, conversation_id: str, domain: str | None) -> Session:
        if domain is None and len(self.domains) == 1:
            domain = self.domains[0]
        if domain not in self.domains:
            raise UnknownName("domain", str(domain), self.domains)
        return self.conversations.begin(conversation_id, domain, configuration=self.configuration)

    def _make_question(self, conversation: Session, text: str, profile: Sequence[str]) -> Question:
        question = conversation.make_question(text, hide_history=self.settings.history == "none")
        return replace(question, profile=_check_profile(profile))


def _check_question(text: str) -> None:
    """Raise ConfigError for a question without any text."""
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"the question is {text!r}: it must be a text that is not empty")


def _check_profile(profile: Sequence[str]) -> tuple[str, ...]:
    """Return the statements. Raises ConfigError unless they are a list of texts."""
    if isinstance(profile, str) or not all(isinstance(statement, str) for statement in profile):
        raise ConfigError(
            f"the profile is {profile!r}: it must be a list of statements, each a text"
        )
    return tuple(profile)


class PassagesDataset(Dataset):
    """A corpus in memory, without conversations of its own.

    Args:
        passages: at least one, each with an id of its own and a text.

    Raises:
        ConfigError: no passage is given, one is not a Passage, or two have the same id.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        known: set[str] = set()
        for number, passage in enumerate(self._passages, start=1):
            fields = [getattr(passage, name, None) for name in ("id", "text", "title", "url")]
            if not all(isinstance(field, str) for field in fields):
                raise ConfigError(
                    f"passage {number} is {passage!r:.200}: "
                    "give convrag.Passage(id, text), all texts"
                )
            if passage.id in known:
                raise ConfigError(f"passage {number}: an earlier passage has its id {passage.id!r}")
            known.add(passage.id)
        if not known:
            raise ConfigError(
                "there are no passages to search: give at least one convrag.Passage(id, text)"
            )
        self._hash = super().corpus_fingerprint("default")

    def conversations(self) -> Iterator[Conversation]:
        """Yield nothing: conversations are held over the passages, and none is given."""
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the passages."""
        return iter(self._passages)

    def content_hash(self) -> str:
        """Return a hash of all passages."""
        return self._hash

    def corpus_fingerprint(self, domain: str) -> str:
        """Return a hash of all passages."""
        return self._hash
