"""Stages that break one promise each: the name of the check that must find it stands beside it."""

from __future__ import annotations

import itertools
import random
import socket
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from convrag import (
    Answer,
    Completion,
    Evidence,
    EvidenceItem,
    Hit,
    Nugget,
    Passage,
    PromptTemplate,
    Query,
    Rewrite,
    Rewriter,
    hookimpl,
    operational,
)
from convrag.api.stage import Stage
from sound import (
    SoundClusterer,
    SoundContext,
    SoundDataset,
    SoundDetector,
    SoundEmbedder,
    SoundGenerator,
    SoundLLM,
    SoundMetrics,
    SoundRanker,
    SoundRetriever,
    SoundRewriter,
    SoundSummarizer,
    SoundTask,
    SoundTracker,
)

BROKEN: list[tuple[str, type, str]] = []
"""Group, class, and the one check that it fails."""


def breaks(check: str) -> Any:
    """Note a class with the check that must find it; its group is told by its sound base."""

    def note(cls: type) -> type:
        base = next((base.__name__ for base in cls.__mro__ if base.__name__.startswith("Sound")), "SoundRewriter")
        BROKEN.append((base.removeprefix("Sound").lower(), cls, check))
        return cls

    return note


def ascii_only(text: str) -> str:
    return text.encode("ascii").decode()


# What every stage promises ----------------------------------------------------------------------------------------


@breaks("test_it_is_a_stage_of_its_group")
class OfNoGroup(Stage):
    """Rewrites, and is no rewriter."""

    libraries = ("sound",)  # a module of its own, as it were

    def rewrite(self, question: Any) -> Rewrite:
        return SoundRewriter().rewrite(question)


@breaks("test_it_says_what_it_is")
class Silent(Rewriter):
    libraries = ("sound",)  # a module of its own, as it were

    def rewrite(self, question: Any) -> Rewrite:
        return SoundRewriter().rewrite(question)


@breaks("test_it_says_what_it_is")
class Rambling(SoundRanker):
    """Begins a sentence that
    goes on in the second line.
    """


@breaks("test_it_explains_its_parameters")
class Unexplained(SoundRanker):
    """Has a parameter.

    Args:
        other: is another one.
    """

    def __init__(self, *, strength: int = 1) -> None:
        self.strength = strength


@breaks("test_it_becomes_an_option")
class Untyped(SoundRanker):
    """Has a parameter of no type.

    Args:
        strength: how much.
    """

    def __init__(self, *, strength=1) -> None:  # type: ignore[no-untyped-def]
        self.strength = strength


@breaks("test_it_becomes_an_option")
class Anything(SoundRanker):
    """Takes whatever it is given."""

    def __init__(self, **options: int) -> None:
        self.options = options


@breaks("test_nothing_is_missing")
class Keyless(SoundRanker):
    """Lacks a key."""

    def check(self) -> Iterator[str]:
        yield "ACME_KEY is not set: export it"


@breaks("test_it_is_deterministic")
class Counting(SoundRanker):
    """Scores higher each time."""

    def __init__(self) -> None:
        self.calls = itertools.count()

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) + next(self.calls)


@breaks("test_it_is_deterministic")
class Seedless(SoundRanker):
    """Draws its weights anew for each object."""

    def __init__(self) -> None:
        self.weight = random.random()

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) * self.weight


@breaks("test_threads_may_share_it")
class Forgetful(SoundRanker):
    """Keeps what belongs to a call in itself."""

    def score(self, query: str, texts: Any) -> Any:
        self.left = list(texts)
        scores = []
        while self.left:
            time.sleep(0.0005)
            scores.append(float(super().score(query, [self.left.pop(0)] if self.left else [""])[0]))
        return SoundRanker().score("", texts) + scores if len(scores) == len(texts) else SoundRanker().score("", [])


@breaks("test_it_stays_offline")
class Calling(SoundRanker):
    """Asks a server, and does not mind that there is none."""

    def score(self, query: str, texts: Any) -> Any:
        with socket.socket() as asking:
            asking.connect_ex(("127.0.0.1", 9))
        return super().score(query, texts)


@breaks("test_its_fingerprint_follows_its_parameters")
class Nameless(SoundRanker):
    """Says each time that it has read something else."""

    def content_hash(self) -> str:
        return str(time.perf_counter_ns())


@breaks("test_operational_parameters_change_no_result")
class Operated(SoundRanker):
    """Has a parameter that is said to concern operation only.

    Args:
        strength: how much.
    """

    def __init__(self, *, strength: Annotated[int, operational] = 1) -> None:
        self.strength = strength

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) * self.strength


# What the calls of every stage promise ----------------------------------------------------------------------------


def keep_arguments(base: type, method: str) -> type:
    """Make a stage that keeps its arguments in itself, where another thread finds its own."""

    @wraps(getattr(base, method))
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.kept = args, kwargs
        args, kwargs = self.kept
        return getattr(base, method)(self, *args, **kwargs)

    name = base.__name__.replace("Sound", "Keeping")
    return type(name, (base,), {method: call, "__doc__": "Keeps its arguments.", "__module__": __name__})


MAIN_METHODS = {
    SoundRewriter: "rewrite",
    SoundRetriever: "retrieve",
    SoundRanker: "score",
    SoundContext: "assemble",
    SoundGenerator: "generate",
    SoundDetector: "detect",
    SoundSummarizer: "summarize",
    SoundLLM: "complete",
    SoundEmbedder: "embed",
    SoundClusterer: "cluster",
    SoundMetrics: "measure",
}
for sound_class, main_method in MAIN_METHODS.items():
    breaks("test_threads_may_share_it")(keep_arguments(sound_class, main_method))


@breaks("test_threads_may_share_it")
class Waiting(SoundRewriter):
    """Keeps its question while it waits for an answer."""

    def rewrite(self, question: Any) -> Rewrite:
        self.last = question.text
        time.sleep(0.01)
        return Rewrite.of(self.last)


@breaks("test_threads_may_share_it")
class Following(SoundRewriter):
    """Takes the last question that it was asked for the last one of the conversation."""

    def __init__(self) -> None:
        self.last: dict[int, str] = {}

    def rewrite(self, question: Any) -> Rewrite:
        self.last[question.number] = question.text
        earlier = self.last.get(question.number - 1, "") if question.history else ""
        return Rewrite.of(f"{earlier} {question.text}")


@breaks("test_its_arguments_stay_as_they_are")
class Sorting(SoundRanker):
    """Sorts its texts, so that the scores are those of other ones."""

    def score(self, query: str, texts: Any) -> Any:
        texts.sort()
        return super().score(query, texts)


@breaks("test_its_arguments_stay_as_they_are")
class Reordering(SoundContext):
    """Sorts its hits by their passages' names."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        hits.sort(key=lambda hit: hit.passage.id)
        return super().assemble(question, hits, messages)


@breaks("test_its_arguments_stay_as_they_are")
class Labelling(SoundRewriter):
    """Writes into the history."""

    def rewrite(self, question: Any) -> Rewrite:
        for turn in question.history:
            turn.labels["asked"] = question.text
        return super().rewrite(question)


@breaks("test_its_arguments_stay_as_they_are")
class Stamping(SoundGenerator):
    """Marks the passages that it has shown."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        for item in evidence.items:
            item.passage.metadata["shown"] = question.turn_id
        return super().generate(question, evidence)


@breaks("test_its_arguments_stay_as_they_are")
class Lowering(SoundEmbedder):
    """Lowers the letters of what it is given."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        texts[:] = [text.lower() for text in texts]
        return super().embed(texts)


@breaks("test_its_arguments_stay_as_they_are")
class Reversing(SoundClusterer):
    """Begins with the last text."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        texts.reverse()
        return super().cluster(texts, embedder)


@breaks("test_its_arguments_stay_as_they_are")
class Dropping(SoundMetrics):
    """Drops the records of turns that failed."""

    def measure(self, records: Any) -> Any:
        for record in [record for record in records if record.error]:
            records.remove(record)
        return super().measure(records)


@breaks("test_its_results_are_given_away")
class CachedScores(SoundRanker):
    """Returns the array that it keeps."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    def score(self, query: str, texts: Any) -> Any:
        key = (query, *texts)
        return self.known.setdefault(key, super().score(query, texts))


@breaks("test_its_results_are_given_away")
class CachedHits(SoundRetriever):
    """Returns the list that it keeps."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        found: list[Hit] = self.known.setdefault((*queries, k), super().retrieve(queries, k))
        return found


@breaks("test_its_results_are_given_away")
class SharedTrace(SoundRewriter):
    """Returns the dictionary of its settings as its trace."""

    def __init__(self) -> None:
        self.settings = {"words": "all"}

    def rewrite(self, question: Any) -> Rewrite:
        return replace(super().rewrite(question), trace=self.settings)


@breaks("test_a_new_process_gives_the_same")
class Hashing(SoundRanker):
    """Scores by hash()."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) + [hash(text) % 7 for text in texts]


@breaks("test_a_new_process_gives_the_same")
class Unordered(SoundRewriter):
    """Takes words out of a set as they come."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(" ".join(set(question.text.split())))


STARTED = time.time()


@breaks("test_a_new_process_gives_the_same")
class Dated(SoundSummarizer):
    """Says when Python was started."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return f"{STARTED}: {super().summarize(query, nuggets, words - 1)}"


@dataclass(frozen=True, slots=True)
class Judged(Nugget):
    """A nugget with more than the interface has."""

    judgement: str = ""


@breaks("test_what_is_remembered_comes_back_equal")
class Judging(SoundDetector):
    """Returns more than the interface has."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return [Judged(n.text, n.passage_id, n.start, n.end, "vital") for n in super().detect(query, passage)]


@breaks("test_what_is_remembered_comes_back_equal")
class Objects(SoundRetriever):
    """Puts an object of its own into the metadata of passages."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        found = super().retrieve(queries, k)
        return [replace(hit, passage=replace(hit.passage, metadata={"from": SimpleNamespace(n=1)})) for hit in found]


# What a fingerprint covers ----------------------------------------------------------------------------------------


@breaks("test_its_fingerprint_follows_its_files")
class Reading(SoundRanker):
    """Reads a file, and takes its name for its contents.

    Args:
        words: a file of words that count.
    """

    def __init__(self, *, words: str = __file__) -> None:
        self.words = words


@breaks("test_its_fingerprint_follows_its_files")
class Constant(SoundRanker):
    """Says that it reads the same at all times.

    Args:
        words: a file of words that count.
    """

    def __init__(self, *, words: Path = Path(__file__)) -> None:
        self.words = words

    def content_hash(self) -> str:
        return "1"


@breaks("test_its_fingerprint_follows_its_server")
class Addressed(SoundRanker):
    """Asks the server that a variable names."""

    env_vars = ("ACME_URL",)


@breaks("test_its_fingerprint_follows_its_prompts")
class Prompting(SoundRewriter):
    """Does not name its prompt."""

    def __init__(self) -> None:
        self.prompt = PromptTemplate("rewrite", package="convrag_condense")


@breaks("test_its_libraries_are_named")
class Importing(SoundGenerator):
    """Uses a library, and does not name it."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        import numpy as np

        return replace(super().generate(question, evidence), trace={"mean": float(np.mean([1.0, 2.0]))})


# Rewriters --------------------------------------------------------------------------------------------------------


@breaks("test_a_follow_up_gives_queries")
class Weightless(SoundRewriter):
    """Gives queries that do not count."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite((Query(question.text, 0.0),))


@breaks("test_a_first_question_needs_no_history")
class LateRewriter(SoundRewriter):
    """Searches for earlier questions alone."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.history[-1].question if question.history else "")


@breaks("test_an_earlier_turn_may_have_failed")
class Trusting(SoundRewriter):
    """Expects passages of each turn."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(" ".join([question.text, *(turn.passages[0].title for turn in question.history)]))


@breaks("test_nothing_asked_does_no_harm")
class Hasty(SoundRewriter):
    """Expects a first word."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text, first=question.text.split()[0])


@breaks("test_unicode_goes_through")
class AsciiRewriter(SoundRewriter):
    """Knows one alphabet."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(ascii_only(question.text))


@breaks("test_turns_one_after_the_other_equal_turns_from_the_start")
class Remembering(SoundRewriter):
    """Counts how often it was asked in a conversation."""

    def rewrite(self, question: Any) -> Rewrite:
        memory = question.state(self)
        memory["asked"] = memory.get("asked", 0) + 1
        return Rewrite.of(f"{question.text} {memory['asked']}")


# Retrievers -------------------------------------------------------------------------------------------------------


@breaks("test_the_best_come_first")
class WorstFirst(SoundRetriever):
    """Puts the best last."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve(queries, k)[::-1]


@breaks("test_no_passage_comes_twice_and_k_is_kept")
class Repeating(SoundRetriever):
    """Finds each passage twice."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return [hit for hit in super().retrieve(queries, k) for _ in range(2)][:k]


@breaks("test_nothing_asked_is_nothing_found")
class AtLeastOne(SoundRetriever):
    """Finds something in any case."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve(queries, max(k, 1))


@breaks("test_odd_queries_do_no_harm")
class AsciiRetriever(SoundRetriever):
    """Knows one alphabet."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve([Query(ascii_only(query.text)) for query in queries], k)


# Rankers ----------------------------------------------------------------------------------------------------------


@breaks("test_each_text_gets_a_score")
class NeverEmpty(SoundRanker):
    """Expects a first text."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query + texts[0][:0], texts)


@breaks("test_odd_texts_get_scores_too")
class PerWord(SoundRanker):
    """Divides by the number of words."""

    def score(self, query: str, texts: Any) -> Any:
        scores = super().score(query, texts)
        return scores + [float("nan") if not text.split() else 0.0 for text in texts]


@breaks("test_equal_texts_get_equal_scores")
class ByPosition(SoundRanker):
    """Prefers what comes first."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) - [0.1 * n for n in range(len(texts))]


# Embedders --------------------------------------------------------------------------------------------------------


@breaks("test_rows_have_unit_length")
class Raw(SoundEmbedder):
    """Does not bring rows to unit length."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return self.count(texts)


@breaks("test_any_number_of_texts")
class NeverEmptyEmbedder(SoundEmbedder):
    """Expects a first text."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        assert texts
        return super().embed(texts)


@breaks("test_odd_texts_get_rows_too")
class Dividing(SoundEmbedder):
    """Divides by the number of words."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        rows = super().embed(texts)
        rows[[n for n, text in enumerate(texts) if not text.split()]] = float("nan")
        return rows


@breaks("test_a_row_does_not_depend_on_its_neighbours")
class Centred(SoundEmbedder):
    """Takes the mean of what it is given away."""

    def count(self, texts: Any) -> Any:
        rows = super().count(texts)
        return rows - rows.mean(axis=0) if len(texts) else rows


# Clusterers -------------------------------------------------------------------------------------------------------


@breaks("test_any_number_of_texts")
class NeverEmptyClusterer(SoundClusterer):
    """Expects a first text."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        assert len(texts)
        return super().cluster(texts, embedder)


@breaks("test_labels_count_from_0")
class FromOne(SoundClusterer):
    """Counts from 1."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        return super().cluster(texts, embedder) + 1


@breaks("test_identical_texts_do_no_harm")
class WantsTwo(SoundClusterer):
    """Wants different texts where there are several."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        assert len(texts) < 2 or len(set(texts)) > 1
        return super().cluster(texts, embedder)


@breaks("test_odd_texts_do_no_harm")
class ByFirstWord(SoundClusterer):
    """Expects a first word."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        return super().cluster([text.split()[0] for text in texts], embedder)


# Contexts ---------------------------------------------------------------------------------------------------------


@breaks("test_numbers_are_unique")
class AllOne(SoundContext):
    """Gives all the same number."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(tuple(replace(item, number=1) for item in super().assemble(question, hits, messages).items))


@breaks("test_only_what_was_found_is_shown")
class Inventive(SoundContext):
    """Shows what nobody found."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        items = super().assemble(question, hits, messages).items
        return Evidence((*items, EvidenceItem(99, Passage("invented", "text"), "text")) if items else ())


@breaks("test_nothing_found_is_no_evidence")
class Placeholder(SoundContext):
    """Shows something in any case."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return super().assemble(question, hits or [Hit(Passage("none", "Nothing was found."), 0.0)], messages)


@breaks("test_no_hint_without_the_text")
class Hinting(SoundContext):
    """Hints at texts that nobody has seen."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(tuple(replace(item, hint=True) for item in super().assemble(question, hits, messages).items))


# Generators -------------------------------------------------------------------------------------------------------


@breaks("test_it_answers")
class LooksLikeIt(SoundGenerator):
    """Gives something like an answer."""

    def generate(self, question: Any, evidence: Any) -> Any:
        answer = super().generate(question, evidence)
        return SimpleNamespace(text=answer.text, citations=answer.citations)


@breaks("test_citations_are_in_the_evidence")
class Misquoting(SoundGenerator):
    """Cites another passage."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer("so they say", ("tea-2",) if evidence.items else ())


@breaks("test_no_evidence_is_no_citation")
class Pretending(SoundGenerator):
    """Cites something in any case."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        answer = super().generate(question, evidence)
        return answer if evidence.items else Answer("so they say", ("somewhere",))


@breaks("test_odd_texts_do_no_harm")
class AsciiGenerator(SoundGenerator):
    """Knows one alphabet."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        ascii_only(question.text)
        return super().generate(question, evidence)


# Detectors --------------------------------------------------------------------------------------------------------


@breaks("test_nuggets_stand_in_the_passage")
class Tidying(SoundDetector):
    """Looks into a text whose white space it has tidied."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, replace(passage, text=" ".join(passage.text.split())))


@breaks("test_nuggets_stand_in_the_passage")
class Backwards(SoundDetector):
    """Begins at the end."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, passage)[::-1]


@breaks("test_odd_passages_do_no_harm")
class Bytes(SoundDetector):
    """Counts bytes."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        found = super().detect(query, passage)
        before = [len(passage.text[: nugget.start].encode()) for nugget in found]
        return [replace(n, start=at, end=at + len(n.text)) for n, at in zip(found, before, strict=True)]


@breaks("test_nothing_is_in_an_empty_passage")
class Optimistic(SoundDetector):
    """Finds something in any passage."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return super().detect(query, passage) if passage.text else [Nugget("", passage.id, 0, 0)]


# Summarizers ------------------------------------------------------------------------------------------------------


@breaks("test_it_keeps_the_budget")
class Wordy(SoundSummarizer):
    """Does not count its words."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return super().summarize(query, nuggets, words) + " and so on" * 20


@breaks("test_one_nugget_is_enough")
class WantsTwoNuggets(SoundSummarizer):
    """Wants two nuggets."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return super().summarize(query, nuggets[1:], words)


@breaks("test_odd_nuggets_do_no_harm")
class AsciiSummarizer(SoundSummarizer):
    """Knows one alphabet."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return ascii_only(super().summarize(query, nuggets, words))


# Language models --------------------------------------------------------------------------------------------------


@breaks("test_it_answers")
class Mute(SoundLLM):
    """Says nothing."""

    def complete(self, prompt: Any) -> Completion:
        return Completion("")


@breaks("test_odd_prompts_are_answered_or_refused")
class AsciiLLM(SoundLLM):
    """Knows one alphabet."""

    def complete(self, prompt: Any) -> Completion:
        ascii_only(prompt.messages[-1].content)
        return super().complete(prompt)


@breaks("test_it_counts_tokens")
class Padded(SoundLLM):
    """Counts a token too many."""

    def count_tokens(self, text: str) -> int:
        return 1 + super().count_tokens(text)


@breaks("test_the_request_tells_prompts_apart")
class Careless(SoundLLM):
    """Takes all prompts for one."""

    def request(self, prompt: Any) -> dict[str, str]:
        return {"model": "careless"}


@breaks("test_the_pieces_make_up_the_reply")
class Stuck(SoundLLM):
    """Promises pieces, and gives none."""

    streams = True


# Around the turns -------------------------------------------------------------------------------------------------


@breaks("test_ids_are_unique_and_no_conversation_is_empty")
class Doubled(SoundDataset):
    """Has its conversation twice."""

    def conversations(self) -> Any:
        return iter([*super().conversations()] * 2)


@breaks("test_domains_and_judgements_name_what_is_there")
class Misjudged(SoundDataset):
    """Judges a turn that nobody asks."""

    def qrels(self) -> Any:
        return {"nobody<::>1": {"tea-1": 1}}


@breaks("test_passages_have_ids_of_their_own")
class DoubledCorpus(SoundDataset):
    """Has its passages twice."""

    def corpus(self, domain: str) -> Any:
        return iter([*super().corpus(domain)] * 2)


@breaks("test_a_corpus_has_a_stable_fingerprint")
class NewEachTime(SoundDataset):
    """Names its corpus anew each time."""

    def corpus_fingerprint(self, domain: str) -> str:
        return str(time.perf_counter_ns())


@breaks("test_it_measures_turns_that_are_there")
class Whole(SoundMetrics):
    """Gives whole numbers."""

    def measure(self, records: Any) -> Any:
        return {turn: {"passages": int(each["passages"])} for turn, each in super().measure(records).items()}


@breaks("test_no_records_are_no_numbers")
class Total(SoundMetrics):
    """Measures something in any case."""

    def measure(self, records: Any) -> Any:
        return super().measure(records) or {"total": {"passages": 0.0}}


@breaks("test_any_one_record_can_be_measured")
class Deviating(SoundMetrics):
    """Needs two records."""

    def measure(self, records: Any) -> Any:
        measured = super().measure(records)
        if measured:
            statistics.stdev(each["passages"] for each in measured.values())
        return measured


@breaks("test_the_measures_that_it_declares_are_all_that_it_has")
class Undeclared(SoundMetrics):
    """Declares a measure of another name."""

    def list_measures(self) -> Any:
        return ("pasages",)


@breaks("test_its_hooks_are_hooks")
class Misspelt(SoundTracker):
    """Listens to what nobody says."""

    @hookimpl
    def convrag_run_finnished(self, run: Any) -> None: ...


@breaks("test_its_hooks_are_hooks")
class Unmarked(SoundTracker):
    """Forgets to mark a hook."""

    def convrag_turn_finished(self, run: Any, record: Any) -> None: ...


@breaks("test_it_follows_a_run_to_its_end")
class Falling(SoundTracker):
    """Falls over at the end."""

    @hookimpl
    def convrag_run_finished(self, run: Any, summary: Any) -> None:
        raise KeyError("end")


@breaks("test_it_follows_a_run_that_fails")
class Unprepared(SoundTracker):
    """Expects all to go well."""

    @hookimpl
    def convrag_run_failed(self, run: Any, error: str) -> None:
        raise KeyError("failed")


@breaks("test_it_ends_with_a_status")
class Endless(SoundTask):
    """Does not say how it went."""

    def execute(self, config: Any, folder: Any) -> Any:
        return None
