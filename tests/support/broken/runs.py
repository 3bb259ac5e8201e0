"""Data sets, metrics, trackers and tasks that break a promise of theirs."""

import statistics
import time
from typing import Any

from broken.noting import breaks
from convrag import hookimpl
from sound import SoundDataset, SoundMetrics, SoundTask, SoundTracker


@breaks("test_ids_are_unique_and_no_conversation_is_empty")
class Doubled(SoundDataset):
    """Has its conversation twice."""

    def conversations(self) -> Any:
        return iter([*super().conversations()] * 2)


@breaks("test_domains_and_judgements_name_what_is_there")
class Nothing(SoundDataset):
    """Has neither conversations nor passages."""

    def conversations(self) -> Any:
        return iter(())

    def corpus(self, domain: str) -> Any:
        return iter(())

    def qrels(self) -> Any:
        return {}


@breaks("test_domains_and_judgements_name_what_is_there")
class Misjudged(SoundDataset):
    """Judges a turn that nobody asks."""

    def qrels(self) -> Any:
        return {"nobody<::>1": {"tea-1": 1}}


@breaks("test_rewrites_are_of_turns_that_are_asked")
class Misrewritten(SoundDataset):
    """Has a rewrite of a turn that nobody asks."""

    def rewrites(self) -> Any:
        return {"manual": {"nobody<::>1": "What is tea?"}}


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


@breaks("test_its_results_are_right")
class Whole(SoundMetrics):
    """Gives whole numbers."""

    def measure(self, records: Any) -> Any:
        return {
            turn: {"passages": int(each["passages"])}
            for turn, each in super().measure(records).items()
        }


@breaks("test_its_results_are_right")
class Total(SoundMetrics):
    """Measures something in any case."""

    def measure(self, records: Any) -> Any:
        return super().measure(records) or {"total": {"passages": 0.0}}


@breaks("test_its_results_are_right")
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


@breaks("test_why_it_measures_nothing_is_a_sentence")
class Wordless(SoundMetrics):
    """Says whether there is a gap, and not why."""

    def explain_gap(self) -> Any:
        return True


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
