"""The models of a server: named configurations, whose equal stages are shared; and the turns of
their conversations.
"""

import asyncio
import logging
import re
import shlex
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from convrag import (
    LLM,
    Answer,
    ConfigError,
    Conversations,
    ConvragError,
    Dataset,
    Document,
    Message,
    Passage,
    Pipeline,
    Prompt,
    PromptTemplate,
    Question,
    TurnRecord,
)
from convrag.sdk.errors import OtherConfiguration
from convrag.sdk.llm.follow_ups import suggest_follow_ups
from convrag.sdk.llm.streaming import Stream, listen_with
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.secrets import redact
from convrag.sdk.storage import UsageMeter
from convrag.sdk.tasks.configuration import compose_from_command, find_differences, read_settings
from convrag.sdk.tasks.options import variants
from convrag.sdk.tasks.turns import ConversationInfo, Session, TurnOptions, Wiring
from convrag_web.server.errors import RequestError
from convrag_web.server.turn_runner import RunningTurn, Tell, TurnRunner

log = logging.getLogger("convrag.serve")

DEFAULT_NAME = "convrag"
"""The only model, where none is named: the command's own configuration."""

_EXAMPLES = 3
"""How many questions of the data set are offered to begin with."""


class ModelOptions(NamedTuple):
    """What holds for all models: the corpus that questions are about where a request names none, and how many follow-up questions are suggested."""

    domain: str | None = None
    suggestions: int = 3


class ServedModel:
    """A model: a pipeline with its name.

    Args:
        name: of the model.
        overrides: that make it differ from the command's own configuration.
        wiring: of its stages.
        pipeline: of these stages.
        options: of all models.

    Raises:
        ConfigError: the model has no such domain, or a stage cannot be built.
    """

    def __init__(
        self,
        name: str,
        overrides: Sequence[str],
        wiring: Wiring,
        pipeline: Pipeline,
        options: ModelOptions,
    ) -> None:
        self.name = name
        self.overrides = tuple(overrides)
        self.pipeline = pipeline
        self._options = options
        self._use(wiring)
        self._template = PromptTemplate("suggest", package="convrag.sdk.llm")
        if options.domain is not None and options.domain not in pipeline.domains:
            raise ConfigError(
                f"task.domain={options.domain}: the data set has {', '.join(pipeline.domains)}"
            )

    def _use(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._llm: LLM = wiring.get("llm")
        self.has_llm = self._llm.tasks is None
        """Whether there is a language model, and not rules in its place."""
        self._llm_name = wiring.describe_choice("llm").partition("=")[2]
        self._dataset: Dataset = wiring.get("dataset")
        self._open_corpus = cache(partial(Corpus.open_copy, self._dataset, store=wiring.store))
        self._read = datetime.now(UTC)

    def list_files(self) -> list[Path]:
        """The files and folders that the data set is read from."""
        given = self._wiring.config["dataset"].get("path") or []
        return [
            Path(each).expanduser().absolute()
            for each in ([given] if isinstance(given, str) else given)
        ]

    def read_again(self) -> None:
        """Read the data set again; where it has changed, the next turn searches what is there now.

        Turns in progress end with the stages that they began with. Raises ConvragError where it
        cannot be read: the model goes on with what it has.
        """
        wiring = Wiring(OmegaConf.create(self._wiring.logged_config), self._wiring.command)
        renewed = Pipeline.from_wiring(wiring, self.pipeline.settings)
        if wiring.get("dataset") is not self._dataset:  # equal stages are one object
            wiring.check()
            wiring.prepare(for_new_questions=True)
            self._use(wiring)
            self.pipeline.stages, self.pipeline.domains = renewed.stages, renewed.domains

    def choose_domain(self, wanted: str | None) -> str:
        """The corpus that a question is about. Raises RequestError where it is unknown, or has to
        be named.
        """
        domains = self.pipeline.domains
        chosen = wanted or self._options.domain or (domains[0] if len(domains) == 1 else None)
        if chosen in domains:
            return chosen
        offer = f"model {self.name!r} has {', '.join(domains)}"
        if chosen is None:
            raise RequestError(400, f"domain: name a corpus; {offer}", param="domain")
        raise RequestError(
            404, f"domain: {offer}, not {chosen}", param="domain", code="domain_not_found"
        )

    def describe(self) -> dict[str, Any]:
        """What a list of models says of it."""
        overrides = [override for override in self.overrides if not override.startswith("hydra.")]
        offered = {
            "domains": list(self.pipeline.domains),
            "examples": self._examples,
            "read": self._read.isoformat(),
        }
        return {"id": self.name, "overrides": overrides, "llm": self._llm_name, **offered}

    @cached_property
    def _examples(self) -> list[str]:
        """The first questions of some conversations of the data set; none where it cannot be read."""
        try:
            first = islice(self._dataset.conversations(), _EXAMPLES)
            return [conversation.turns[0].question for conversation in first if conversation.turns]
        except Exception as error:  # of any plugin: a corpus alone has no questions
            log.info("model %s has no examples: %s", self.name, redact(str(error)))
            return []

    def find_document(self, domain: str, document_id: str) -> Document:
        """Return a document of the data set. Raises RequestError where it is there no longer."""
        found = (
            self._dataset.document(domain, document_id)
            if domain in self._dataset.domains()
            else None
        )
        if found is None:
            raise RequestError(
                404,
                "the document is no longer in the data set",
                param="passage",
                code="no_document",
            )
        return found

    def find_passage(self, domain: str, passage_id: str) -> Passage:
        """Return a passage of a corpus. Raises RequestError where it is there no longer."""
        corpus = self._open_corpus(self.choose_domain(domain))  # none where another server searches
        found = corpus.get_by_id([passage_id]) if corpus else self._dataset.corpus(domain)
        if (passage := next((each for each in found if each.id == passage_id), None)) is None:
            raise RequestError(
                404, "the passage is no longer in the data set", param="passage", code="not_found"
            )
        return passage

    def answer(self, question: Question, stream: bool, tell: Tell) -> TurnRecord:
        """Answer a question, whose turn is not kept; `tell` is called where the answer is streamed."""
        return self.pipeline.answer(
            question, TurnOptions(listener=tell if stream else None, stages=stream)
        )

    def reply(
        self, id: str, messages: Sequence[Message], chore: str | None, stream: bool, tell: Tell
    ) -> TurnRecord:
        """Let the language model reply without a search; where there is none, the reply is `chore`.

        The record is no turn's: nobody is told of it.
        """
        meter, text = UsageMeter(), chore
        streams = stream and self.has_llm and self._llm.streams
        if self.has_llm:
            with meter.measure_stage("generator"), listen_with(tell if streams else None):
                text = self._llm.complete(Prompt("chat", tuple(messages))).text
        if not streams:
            tell(text or "")
        return TurnRecord(id, id, "", 1, "", answer=Answer(text or ""), usage=meter.usage)

    def suggest(self, record: TurnRecord) -> list[str]:
        """Suggest questions to ask after a turn; none where the llm fails, as llm=extractive does."""
        try:
            return suggest_follow_ups(self._llm, self._template, record, self._options.suggestions)
        except Exception as error:  # of any plugin: the conversation goes on without
            log.info("model %s suggests no questions: %s", self.name, redact(str(error)))
            return []


class ServedModels(dict[str, ServedModel]):
    """The models by name, in the order in which they were named; the first is the default."""

    @cached_property
    def plain(self) -> dict[str, ServedModel]:
        """The language models by the names under which they reply without a search."""
        named = {f"{name}-plain": model for name, model in self.items() if model.has_llm}
        return {name: model for name, model in named.items() if name not in self}

    def choose(self, name: str | None) -> tuple[ServedModel, bool]:
        """Return the model of a name, and whether it is to reply without a search. Raises
        RequestError.
        """
        return (self.plain[name], True) if name in self.plain else (self.find(name), False)

    def find(self, name: str | None) -> ServedModel:
        """Return the model of a name, the first one for None. Raises RequestError."""
        chosen = next(iter(self)) if name is None else name
        if chosen not in self:
            message = f"there is no model {name!r}; GET /v1/models lists them"
            raise RequestError(404, message, param="model", code="model_not_found")
        return self[chosen]


def build_models(
    models: Mapping[str, str | list[str]] | Path | None,
    conversations: Conversations,
    options: ModelOptions,
) -> tuple[ServedModels, list[Wiring]]:
    """Build the models that are named, and check their stages. Their wirings are still to be
    prepared.

    Args:
        models: as the user names them, see `model_overrides`; None for the command's own
            configuration alone.
        conversations: keeps the conversations of all.
        options: of all.

    Raises:
        ConvragError: a model is not valid, or not ready; the message names it.
    """
    named = read_model_overrides({DEFAULT_NAME: []} if models is None else models)
    built, wirings = [], []
    for name, overrides in named.items():
        try:
            config, command = compose_from_command(*overrides)
            wiring = Wiring(config, command)
            pipeline = Pipeline.for_conversations(
                wiring, read_settings(config), conversations, name
            )
            built.append(ServedModel(name, overrides, wiring, pipeline, options))
            wiring.check()
        except ConvragError as error:
            if models is None:
                raise
            raise ConfigError(f"task.models: {name}: {error}") from error
        wirings.append(wiring)
    return ServedModels((model.name, model) for model in built), wirings


def read_model_overrides(models: Mapping[str, str | list[str]] | Path) -> dict[str, list[str]]:
    """Return name -> overrides behind the command's own. Raises ConfigError for what names no
    model.
    """
    if isinstance(models, Path):
        return _read_folder(models)
    if not models:
        raise ConfigError(
            "task.models={}: name a model, as in task.models='{mmr: \"rewriter=mmr\"}'"
        )
    named = {}
    for name, overrides in models.items():
        try:
            named[name] = shlex.split(overrides) if isinstance(overrides, str) else list(overrides)
        except ValueError as error:
            raise ConfigError(f"task.models: {name}: {overrides}: {error}") from error
    return named


def _read_folder(folder: Path) -> dict[str, list[str]]:
    """The presets of a folder, as Hydra finds them: its name is the group, and the folder above it
    is searched.
    """
    folder = folder.absolute()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if not names:
        raise ConfigError(
            f"task.models={folder}: there is no folder with YAML files, one for each model"
        )
    if taken := set(names) & set(variants(folder.name)):
        raise ConfigError(
            f"task.models={folder}: {min(taken)} is also one of ours; rename the file, or the folder"
        )
    known = list(HydraConfig.get().searchpath) if HydraConfig.initialized() else []
    places = ", ".join(
        "'" + place.replace("\\", "\\\\").replace("'", "\\'") + "'"
        for place in [*known, f"file://{folder.parent}"]
    )
    return {name: [f"hydra.searchpath=[{places}]", f"+{folder.name}={name}"] for name in names}


BUSY_SECONDS = 10.0
"""How long a request waits for the turn in progress of its conversation: one that was just
cancelled ends soon.
"""

SUGGESTIONS_AT_ONCE = 16
"""How many requests may ask for suggestions at a time; others wait."""


class Earlier(NamedTuple):
    """Turns of a conversation that is kept, from the first one on; `whole` is its id where they are all of them."""

    records: Sequence[TurnRecord] = ()
    domain: str | None = None
    model: str = ""
    whole: str = ""


class ConversationTurns:
    """Finds conversations, and takes their turns.

    Args:
        conversations: keeps them.
        models: by name.
        runner: runs the turns.
    """

    def __init__(
        self, conversations: Conversations, models: ServedModels, runner: TurnRunner
    ) -> None:
        self.conversations = conversations
        self._models = models
        self._runner = runner
        self._suggesting = asyncio.Semaphore(SUGGESTIONS_AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def find(self, id: str) -> Session:
        """Return a conversation. Raises RequestError where there is none."""
        if (session := self.conversations.get(id)) is None:
            raise RequestError(404, "there is no such conversation", code="not_found")
        return session

    def find_model(self, session: Session | ConversationInfo) -> ServedModel:
        """Return the model that a conversation was begun with: by its name, or the one with the
        same configuration.

        Raises:
            OtherConfiguration: none of the models has its configuration.
        """
        if session.model in self._models:
            return self._models[session.model]
        differences = []
        for model in self._models.values():
            differences = find_differences(session.configuration, model.pipeline.configuration)
            if not differences:
                return model
        raise OtherConfiguration(session.id, differences)

    def name_model(self, info: ConversationInfo) -> str:
        """Return the name of the model that a conversation goes on with, also one that was begun in
        the terminal.

        Where none can go on with it: the name with which it was begun, empty in the terminal.
        """
        try:
            return self.find_model(info).name
        except OtherConfiguration:
            return info.model

    def can_go_on(self, info: ConversationInfo) -> bool:
        """Whether a conversation was begun with the configuration, its documents included, that its
        model has here.
        """
        try:
            return not find_differences(
                info.configuration, self.find_model(info).pipeline.configuration
            )
        except OtherConfiguration:
            return False

    def begin(self, model: ServedModel, domain: str) -> Session:
        """Begin a conversation."""
        id = f"{datetime.now():%Y%m%d-%H%M%S}-{token_hex(4)}"
        return self.conversations.open(
            id, domain, configuration=model.pipeline.configuration, model=model.name
        )

    def find_earlier(self, response: str) -> Earlier:
        """Find the turns up to a response, whose id names its conversation and its number. Raises
        RequestError.
        """
        id, _, number = response.removeprefix("resp_").rpartition(".")
        session = self.conversations.get(id) if re.fullmatch(r"[1-9]\d{0,8}", number) else None
        records = self.conversations.records(id) if session else []
        if session is None or int(number) > len(records):
            text = "previous_response_id: the server keeps no such response"
            raise RequestError(
                404, text, param="previous_response_id", code="previous_response_not_found"
            )
        return Earlier(
            records[: int(number)],
            session.domain,
            session.model,
            id if int(number) == len(records) else "",
        )

    def continue_from(
        self, earlier: Earlier, model: ServedModel, domain: str, pairs: Sequence[tuple[str, str]]
    ) -> str:
        """Return the id of the conversation that has these turns and no more, and then these
        questions with answers.

        It is a new one unless all of them are that of a conversation with the model.
        """
        if earlier.whole and not pairs and (earlier.model, earlier.domain) == (model.name, domain):
            return earlier.whole
        new = self.begin(model, domain)
        told = (
            TurnRecord("", "", domain, 0, question, answer=Answer(answer))
            for question, answer in pairs
        )
        for number, record in enumerate((*earlier.records, *told), start=1):
            copied = replace(
                record, conversation_id=new.id, turn_id=f"{new.id}<::>{number}", number=number
            )
            self.conversations.append(new, copied)
        return new.id

    async def ask(
        self, id: str, question: str, query: str | None, number: int | None = None
    ) -> RunningTurn:
        """Start the next turn, which is to have a number. Raises RequestError, OtherConfiguration."""

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            if number is not None and number != len(self.conversations.records(id)) + 1:
                text = "the conversation has gone on meanwhile; send the request again"
                raise RequestError(409, text, code="conversation_changed")
            return model.pipeline.turn(id, question, query=query, listener=tell, stages=True)

        return await self._start(id, take_turn)

    async def regenerate(self, id: str, query: str | None) -> RunningTurn:
        """Start to answer the last question again. Raises RequestError, OtherConfiguration."""

        def take_turn(session: Session, model: ServedModel, tell: Tell) -> TurnRecord:
            if not session.history:
                raise RequestError(
                    409, "the conversation has no turn yet: ask its first question", code="no_turn"
                )
            return model.pipeline.regenerate(id, query=query, listener=tell, stages=True)

        return await self._start(id, take_turn)

    async def suggest(self, id: str) -> list[str]:
        """Suggest questions to ask next, none before the first turn. The llm's call ends where the
        client leaves.
        """

        def ask(_: object) -> list[str]:
            model = self.find_model(self.find(id))
            records = self.conversations.records(id)
            return model.suggest(records[-1]) if records else []

        async with self._suggesting:
            asking = Stream[None, list[str]](ask)
            async for _ in asking:
                pass
        return asking.record

    @asynccontextmanager
    async def hold(self, id: str) -> AsyncIterator[None]:
        """Let no turn of a conversation begin during the block. Raises RequestError where one is in
        progress.
        """
        lock = await self._acquire(id)
        try:
            yield
        finally:
            lock.release()

    async def _start(
        self, id: str, take_turn: Callable[[Session, ServedModel, Tell], TurnRecord]
    ) -> RunningTurn:
        """Start a turn. The conversation is looked for in the turn's thread, which spares a thread
        of its own.
        """
        lock = await self._acquire(id)
        name = ""

        def find_and_take_turn(tell: Tell) -> TurnRecord:
            nonlocal name
            session = self.find(id)
            model = self.find_model(session)
            name = model.name
            return take_turn(session, model, tell)

        return await self._runner.start(find_and_take_turn, lambda: name, on_end=lock.release)

    async def _acquire(self, id: str) -> asyncio.Lock:
        lock = self._locks.setdefault(id, asyncio.Lock())
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await lock.acquire()
        except TimeoutError:
            text = "a turn of this conversation is in progress; ask again when it has ended"
            raise RequestError(409, text, code="conversation_busy") from None
        return lock
