"""A served model: a named pipeline, which answers questions and describes itself."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from convrag import (
    LLM,
    Answer,
    Document,
    Message,
    Passage,
    Pipeline,
    Prompt,
    PromptTemplate,
    Question,
    TurnRecord,
)
from convrag.sdk.llm.follow_ups import suggest_follow_ups
from convrag.sdk.llm.streaming import listen_with
from convrag.sdk.secrets import redact
from convrag.sdk.storage import UsageMeter
from convrag.sdk.tasks.turns import TurnOptions, Wiring
from convrag_web.server.errors import RequestError
from convrag_web.server.loaded_data import LoadedData
from convrag_web.server.running_turn import Tell

log = logging.getLogger("convrag.serve")


class ModelOptions(NamedTuple):
    """Options that all models share.

    Args:
        domain: the corpus for questions that name none; None where they have to name one.
        suggestions: the number of suggested follow-up questions.
    """

    domain: str | None = None
    suggestions: int = 3


class ServedModel:
    """A pipeline under the name by which clients choose it.

    Args:
        name: the model's name.
        overrides: the overrides in which it differs from the command's own configuration.
        wiring: the stages.
        pipeline: the pipeline of these stages.
        options: the options that all models share.

    Raises:
        ConfigError: the data set does not have the default domain.
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
        self.data = LoadedData(wiring, options.domain)
        self._options = options
        self._template = PromptTemplate("suggest", package="convrag.sdk.llm")
        self._llm: LLM = wiring.get("llm")
        self._llm_name = wiring.describe_choice("llm").partition("=")[2]
        self.has_llm = self._llm.tasks is None
        """Whether a language model answers, and not the rules of llm=extractive."""

    def read_again(self) -> None:
        """Read the data set again; if it has changed, the next turn searches the new documents.

        Turns in progress end with the stages that they began with.

        Raises:
            ConvragError: it cannot be read; the model goes on with the documents that it has.
        """
        current = self.data.wiring
        wiring = Wiring(OmegaConf.create(current.logged_config), current.command)
        if wiring.get("dataset") is self.data.dataset:  # stages that are equal are one object
            return
        renewed = Pipeline.from_wiring(wiring, self.pipeline.settings)
        data = LoadedData(wiring, self._options.domain)
        wiring.check()
        wiring.prepare(for_new_questions=True)
        self.data = data
        self.pipeline.stages = renewed.stages
        self.pipeline.domains = renewed.domains

    def choose_domain(self, requested: str | None) -> str:
        """Return the corpus that a question is about.

        Args:
            requested: the corpus that the request names; None if it names none.

        Raises:
            RequestError: the corpus is unknown, or has to be named.
        """
        domains = self.pipeline.domains
        domain = requested or self._options.domain
        if domain is None and len(domains) == 1:
            domain = domains[0]
        if domain in domains:
            return domain
        offer = f"model {self.name!r} has {', '.join(domains)}"
        if domain is None:
            raise RequestError(400, f"domain: name a corpus; {offer}", param="domain")
        message = f"domain: {offer}, not {domain}"
        raise RequestError(404, message, param="domain", code="domain_not_found")

    def describe(self) -> dict[str, Any]:
        """Describe the model for the list of models."""
        return {
            "id": self.name,
            "overrides": [each for each in self.overrides if not each.startswith("hydra.")],
            "llm": self._llm_name,
            "domains": list(self.pipeline.domains),
            "examples": self.data.examples,
            "read": self.data.read_at.isoformat(),
        }

    def find_document(self, domain: str, document_id: str) -> Document:
        """Return a document of the data set. Raises RequestError if it is not there any more."""
        return self.data.find_document(domain, document_id)

    def find_passage(self, domain: str, passage_id: str) -> Passage:
        """Return a passage of a corpus. Raises RequestError if it is not there any more."""
        return self.data.find_passage(self.choose_domain(domain), passage_id)

    def answer(
        self, question: Question, filter: str | None, stream: bool, tell: Tell
    ) -> TurnRecord:
        """Answer a question outside of any stored conversation.

        Args:
            question: the question with its history.
            filter: the condition on the fields of passages; None for none.
            stream: whether `tell` gets the events of the turn.
            tell: is called with each event.
        """
        options = TurnOptions(listener=tell if stream else None, stages=stream)
        condition = self.pipeline.read_filter(filter, question.domain)
        return self.pipeline.answer(replace(question, filter=condition), options)

    def reply(
        self, id: str, messages: Sequence[Message], chore: str | None, stream: bool, tell: Tell
    ) -> TurnRecord:
        """Let the language model reply without a search.

        The record belongs to no turn, so observers do not get it.

        Args:
            id: the id of the record.
            messages: the messages to reply to.
            chore: the reply where there is no language model.
            stream: whether `tell` gets the pieces one by one; otherwise it gets the whole reply.
            tell: is called with each piece.
        """
        meter = UsageMeter()
        text = chore or ""
        streaming = stream and self.has_llm and self._llm.streams
        if self.has_llm:
            listener = tell if streaming else None
            with meter.measure_stage("generator"), listen_with(listener):
                text = self._llm.complete(Prompt("chat", tuple(messages))).text
        if not streaming:
            tell(text)
        return TurnRecord(id, id, "", 1, "", answer=Answer(text), usage=meter.usage)

    def suggest(self, record: TurnRecord) -> list[str]:
        """Suggest questions to ask after a turn; none if the llm fails, as llm=extractive does."""
        try:
            return suggest_follow_ups(self._llm, self._template, record, self._options.suggestions)
        except Exception as error:  # of any plugin: the conversation goes on without
            log.info("model %s suggests no questions: %s", self.name, redact(str(error)))
            return []
