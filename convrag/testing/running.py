"""Contracts of the stages around the turns: data sets, metrics, trackers and tasks."""

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
from convrag.api.passages import Hit, Passage
from convrag.api.records import Run, RunSummary, TurnRecord
from convrag.testing.calls import CallContract
from convrag.testing.samples import ODD_TEXTS, passages, vary_records
from convrag.testing.stage import StageContract


def make_records() -> list[TurnRecord]:
    """Make the records of two turns; the second failed."""
    hits = tuple(Hit(passage, 1.0 / n) for n, passage in enumerate(passages(), 1))
    return [
        TurnRecord("tea", "tea<::>1", "default", 1, "Why does a kettle whistle?", hits=hits),
        TurnRecord("tea", "tea<::>2", "default", 2, "And green tea?", error="retriever: down"),
    ]


class DatasetContract(CallContract):
    """A data set has conversations or passages with unique ids, in a fixed order."""

    group = "dataset"
    method = "conversations"

    def inputs(self) -> list[list[dict[str, Any]]]:
        return [[{}] for _ in range(8)]

    def test_ids_are_unique_and_no_conversation_is_empty(self) -> None:
        conversations = list(self.make().conversations())
        turns = [turn for conversation in conversations for turn in conversation.turns]
        assert len({each.id for each in conversations}) == len(conversations), (
            "two conversations have the same id"
        )
        assert len({turn.id for turn in turns}) == len(turns), "two turns have the same id"
        assert all(conversation.turns for conversation in conversations), (
            "a conversation has no turn"
        )
        assert all(turn.question.strip() for turn in turns), "a question is empty"

    def test_domains_and_judgements_name_what_is_there(self) -> None:
        stage = self.make()
        conversations = list(stage.conversations())
        corpus = chain.from_iterable(stage.corpus(domain) for domain in stage.domains())
        assert conversations or any(True for _ in corpus), (
            "there is neither a conversation nor a passage"
        )
        assert {conversation.domain for conversation in conversations} <= set(stage.domains())
        assert set(stage.qrels()) <= {
            turn.id for conversation in conversations for turn in conversation.turns
        }

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
            assert [passage.id for passage in stage.corpus(domain)] == ids, (
                "a corpus is read more than once"
            )

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
        first = steps == 1  # of the first conversation
        return {"records": self.records() if first else vary_records(self.records(), steps)}

    def odd_inputs(self) -> list[dict[str, Any]]:
        odd = [
            TurnRecord("odd", f"odd<::>{n}", "default", n, text)
            for n, text in enumerate(ODD_TEXTS, 1)
        ]
        return [
            {"records": records}
            for records in ([], *([record] for record in [*self.records(), *odd]))
        ]

    def check(self, result: Any, arguments: dict[str, Any]) -> None:
        """Finite numbers of turns that are there."""
        assert set(result) <= {record.turn_id for record in arguments["records"]}
        numbers = [value for turn in result.values() for value in turn.values()]
        assert all(isinstance(value, float) and math.isfinite(value) for value in numbers)

    def test_why_it_measures_nothing_is_a_sentence(self) -> None:
        gap = self.make().explain_gap()
        assert isinstance(gap, str), f"explain_gap() returns a text, and this is {gap!r}"
        assert "\n" not in gap

    def test_the_measures_that_it_declares_are_all_that_it_has(self) -> None:
        metric = self.make()
        turns = metric.measure(self.records()).values()
        sums: dict[str, list[float]] = {}
        for measure, value in (item for turn in turns for item in turn.items()):
            sums.setdefault(measure, []).append(value)
        if (declared := set(metric.list_measures())) and sums:
            scores = metric.conclude(
                {measure: sum(values) / len(values) for measure, values in sums.items()}
            )
            assert set(scores) <= declared, (
                f"list_measures() lacks {', '.join(sorted(set(scores) - declared))}"
            )


class TrackerContract(StageContract):
    """A tracker observes runs."""

    group = "tracker"

    def test_its_hooks_are_hooks(self) -> None:
        """A method with a misspelt name, or without `@hookimpl`, would never be called."""
        stage = self.make()
        hooks = self._make_manager(stage).get_hookcallers(stage) or []
        unknown = [hook.name for hook in hooks if not hook.has_spec()]
        assert not unknown, f"{', '.join(unknown)} is no hook of convrag.api.hookspecs"
        named = {
            name
            for name in dir(stage)
            if name.startswith("convrag_") and callable(getattr(stage, name))
        }
        unmarked = sorted(named - {hook.name for hook in hooks})
        assert not unmarked, f"mark {', '.join(unmarked)} with @convrag.hookimpl"

    def test_it_follows_a_run_to_its_end(self) -> None:
        with make_run_folder() as folder:
            run, hook = (
                Run(folder, {"rewriter": {"_option_": "none"}}, 1, 2),
                self._make_manager(self.make()).hook,
            )
            hook.convrag_run_started(run=run)
            for record in make_records():
                hook.convrag_turn_finished(run=run, record=record)
            summary = RunSummary({"nDCG@5": 0.5}, {}, {"overall": 1}, 2, 1, {}, {}, {}, 0.1)
            hook.convrag_run_finished(run=run, summary=summary)

    def test_it_follows_a_run_that_fails(self) -> None:
        with make_run_folder() as folder:
            run, hook = Run(folder, {}, 1, 2), self._make_manager(self.make()).hook
            hook.convrag_run_started(run=run)
            hook.convrag_run_failed(run=run, error="the disk is full", interrupted=False)

    def _make_manager(self, stage: Any) -> pluggy.PluginManager:
        """Make a plugin manager with which the tracker is registered."""
        manager = pluggy.PluginManager("convrag")
        manager.add_hookspecs(hookspecs)
        manager.register(stage)
        return manager


class TaskContract(StageContract):
    """A task of the command. If `overrides` is set, the task is executed with that configuration."""

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
    """Make an empty folder for a run, in a temporary folder that is the working folder during the
    block.
    """
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        (Path(folder) / "run").mkdir()
        yield Path(folder) / "run"
