"""Contracts of data sets, metrics, trackers and tasks."""

import math
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pluggy

from convrag.api import hookspecs
from convrag.api.conversations import Question
from convrag.api.passages import Passage
from convrag.api.records import Run, RunSummary, TurnRecord
from convrag.testing.call_contract import CallContract
from convrag.testing.samples import ODD_TEXTS, make_records, vary_records
from convrag.testing.stage_contract import StageContract


class DatasetContract(CallContract):
    """A data set has conversations or passages with unique ids, in a fixed order."""

    group = "dataset"
    method = "conversations"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{}] for _ in range(8)]

    def test_ids_are_unique_and_no_conversation_is_empty(self) -> None:
        conversations = list(self.make().conversations())
        turns = [turn for conversation in conversations for turn in conversation.turns]
        ids = {conversation.id for conversation in conversations}
        turn_ids = {turn.id for turn in turns}
        have_turns = all(conversation.turns for conversation in conversations)
        assert len(ids) == len(conversations), "two conversations have the same id"
        assert len(turn_ids) == len(turns), "two turns have the same id"
        assert have_turns, "a conversation has no turn"
        assert all(turn.question.strip() for turn in turns), "a question is empty"

    def test_domains_and_judgements_name_what_is_there(self) -> None:
        stage = self.make()
        conversations = list(stage.conversations())
        corpus = chain.from_iterable(stage.corpus(domain) for domain in stage.domains())
        has_passages = any(True for _ in corpus)
        assert conversations or has_passages, "there is neither a conversation nor a passage"
        assert {conversation.domain for conversation in conversations} <= set(stage.domains())
        turn_ids = {turn.id for conversation in conversations for turn in conversation.turns}
        assert set(stage.qrels()) <= turn_ids

    def test_rewrites_are_of_turns_that_are_asked(self) -> None:
        stage = self.make()
        asked = {turn.id for conversation in stage.conversations() for turn in conversation.turns}
        for kind, texts in stage.rewrites().items():
            assert set(texts) <= asked, f"{kind}: a rewrite is of a turn that nobody asks"
            assert all(text.strip() for text in texts.values()), f"{kind}: a rewrite is empty"

    def test_passages_have_ids_of_their_own(self) -> None:
        stage = self.make()
        for domain in stage.domains():
            found = list(stage.corpus(domain))
            assert all(isinstance(passage, Passage) for passage in found)
            ids = [passage.id for passage in found]
            assert len(ids) == len(set(ids))
            again = [passage.id for passage in stage.corpus(domain)]
            assert again == ids, "a corpus is read more than once"

    def test_a_corpus_has_a_stable_fingerprint(self) -> None:
        for domain in self.make().domains():
            assert self.make().corpus_fingerprint(domain) == self.make().corpus_fingerprint(domain)


class MetricsContract(CallContract):
    """A metric measures turns."""

    group = "metrics"
    method = "measure"

    def records(self) -> list[TurnRecord]:
        """Make the records of two turns; the second failed."""
        return make_records()

    def make_input(self, asked: Question, steps: int) -> dict[str, Any]:
        is_first = steps == 1  # the first turn of the first conversation
        return {"records": self.records() if is_first else vary_records(self.records(), steps)}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [
            TurnRecord("odd", f"odd<::>{n}", "default", n, text)
            for n, text in enumerate(ODD_TEXTS, 1)
        ]
        single = [{"records": [record]} for record in [*self.records(), *odd]]
        return [{"records": []}, *single]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Finite numbers, of turns that are in the records."""
        assert set(result) <= {record.turn_id for record in arguments["records"]}
        numbers = [value for turn in result.values() for value in turn.values()]
        assert all(isinstance(value, float) and math.isfinite(value) for value in numbers)

    def test_why_it_measures_nothing_is_a_sentence(self) -> None:
        gap = self.make().explain_gap()
        assert isinstance(gap, str), f"explain_gap() returns a text, and this is {gap!r}"
        assert "\n" not in gap

    def test_the_measures_that_it_declares_are_all_that_it_has(self) -> None:
        metric = self.make()
        by_measure: dict[str, list[float]] = {}
        for values in metric.measure(self.records()).values():
            for measure, value in values.items():
                by_measure.setdefault(measure, []).append(value)
        declared = set(metric.list_measures())
        if not declared or not by_measure:
            return
        means = {measure: sum(values) / len(values) for measure, values in by_measure.items()}
        undeclared = set(metric.conclude(means)) - declared
        assert not undeclared, f"list_measures() lacks {', '.join(sorted(undeclared))}"


class TrackerContract(StageContract):
    """A tracker observes runs."""

    group = "tracker"

    def test_its_hooks_are_hooks(self) -> None:
        """A method with a misspelt name, or without `@hookimpl`, would never be called."""
        stage = self.make()
        hooks = self._make_manager(stage).get_hookcallers(stage) or []
        unknown = [hook.name for hook in hooks if not hook.has_spec()]
        assert not unknown, f"{', '.join(unknown)} is not a hook of convrag.api.hookspecs"
        marked = {hook.name for hook in hooks}
        unmarked = [
            name
            for name in dir(stage)
            if name.startswith("convrag_") and callable(getattr(stage, name)) and name not in marked
        ]
        assert not unmarked, f"mark {', '.join(unmarked)} with @convrag.hookimpl"

    def test_it_follows_a_run_to_its_end(self) -> None:
        with make_run_folder() as folder:
            run = Run(folder, {"rewriter": {"_option_": "none"}}, 1, 2)
            hook = self._make_manager(self.make()).hook
            hook.convrag_run_started(run=run)
            for record in make_records():
                hook.convrag_turn_finished(run=run, record=record)
            summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 1}, 2, 1, {}, {}, {}, 0.1)
            hook.convrag_run_finished(run=run, summary=summary)

    def test_it_follows_a_run_that_fails(self) -> None:
        with make_run_folder() as folder:
            run = Run(folder, {}, 1, 2)
            hook = self._make_manager(self.make()).hook
            hook.convrag_run_started(run=run)
            hook.convrag_run_failed(run=run, error="the disk is full", interrupted=False)

    def _make_manager(self, stage: Any) -> pluggy.PluginManager:
        """Make a plugin manager with which the tracker is registered."""
        manager = pluggy.PluginManager("convrag")
        manager.add_hookspecs(hookspecs)
        manager.register(stage)
        return manager


class TaskContract(StageContract):
    """A task of the command, which is executed if `overrides` is set."""

    group = "task"
    overrides: tuple[str, ...] | None = None
    """Overrides of a configuration with which the task can be executed, such as ("limit=1",)."""

    def test_it_ends_with_a_status(self) -> None:
        if self.overrides is None:
            raise SkipTest("set the overrides with which the task can be executed: overrides = ()")
        from convrag.config.compose import compose  # imports Hydra

        with make_run_folder() as folder:
            status = self.make().execute(compose("tracker=none", *self.overrides), folder)
        assert status in (0, 1, 3), f"execute() returns an exit status, and this is {status!r}"


@contextmanager
def make_run_folder() -> Iterator[Path]:
    """Make an empty folder for a run, in a temporary folder.

    The temporary folder is the working folder during the block.
    """
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        (Path(folder) / "run").mkdir()
        yield Path(folder) / "run"
