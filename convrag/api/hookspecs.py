"""The hooks that a plugin may implement. docs/ lists them; plugins mark theirs with
`convrag.hookimpl`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pluggy

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question
from convrag.api.databases import ConversationStore, Database
from convrag.api.passages import Passage
from convrag.api.records import Report, Run, RunSummary, Sweep, TurnRecord
from convrag.api.stage import Stage

hookspec = pluggy.HookspecMarker("convrag")
hookimpl = pluggy.HookimplMarker("convrag")


class Register(Protocol):
    """Makes a class an option of a group.

    register("rewriter", "topic", "acme.rewriter:TopicRewriter", "Search for the topic, too.")
    """

    def __call__(
        self,
        group: str,
        name: str,
        target: type[Stage] | str,
        summary: str = "",
        /,
        **defaults: Any,
    ) -> None:
        """Register one option.

        Args:
            group: the group that offers it ("rewriter").
            name: what users type ("dhrag").
            target: the class, or better its path, "package.module:Class", which is imported when
                somebody chooses the option.
            summary: the option's line in `--help`: the first line of the class's docstring. Without
                it, `--help` imports the class and reads that line.
            defaults: values of the constructor's parameters, in place of the signature's defaults:
                a variant of the class, as `register("embedder", "bge", "acme.embedder:Embedder",
                "BGE's embeddings.", model="BAAI/bge-small-en-v1.5")`.
        """


# What a plugin brings
# --------------------------------------------------------------------------------------------


@hookspec
def convrag_register(register: Register) -> None:
    """Register the plugin's options, by calling `register` for each.

    Args:
        register: takes the group ("rewriter"), the option's name ("dhrag"), the class or its path
            ("package.module:Class"), its line of help, and by keyword defaults that replace the
            defaults of the class's constructor.
    """


@hookspec
def convrag_config_packages() -> list[str]:  # type: ignore[empty-body]
    """Name the packages that hold the plugin's YAML: `["acme.conf"]` for
    acme/conf/rewriter/gentle.yaml.

    Each folder in such a package is a group; each file in it extends an option. A root config.yaml
    is not allowed.
    """


@hookspec(firstresult=True)
def convrag_open_database(url: str, setting: str) -> Database | None:
    """Open the database server at an address, for `store.url` or for conversations. The first one
    that does is taken.

    Args:
        url: "postgresql+psycopg://user@host/database". Return None where the address is none of
            yours.
        setting: what names the address, for messages ("store.url", "conversations").
    """


@hookspec(firstresult=True)
def convrag_open_conversations(database: str) -> ConversationStore | None:
    """Open what keeps conversations for good. The first one that does is taken.

    Args:
        database: as in `Conversations(database)`: the path of a file, or an address.
    """


# What a plugin may watch
# -----------------------------------------------------------------------------------------


@hookspec
def convrag_run_started(run: Run) -> None:
    """Called once before the first turn of a run, when every check has passed.

    Args:
        run: its folder, configuration and size.
    """


@hookspec
def convrag_turn_finished(run: Run, record: TurnRecord) -> None:
    """Called after each turn, failed ones included: whole conversations, in the data set's order,
    from one thread.

    Args:
        run: the run that the turn belongs to.
        record: what happened.
    """


@hookspec
def convrag_run_measured(run: Run, replies: Sequence[tuple[Prompt, Completion]]) -> None:
    """Called once when the metrics have measured the turns of a run.

    Args:
        run: the run.
        replies: what they asked of language models, and were told.
    """


@hookspec
def convrag_report(run: Run, records: Iterable[TurnRecord]) -> Report | None:
    """Say something about the run as a whole, when its turns are done and its summary is not yet
    written.

    Args:
        run: the run.
        records: the records of all its turns, read anew at each pass. Return None where they are
            not your concern.
    """


@hookspec
def convrag_run_written(
    run: Run,
    summary: RunSummary,
    records: Iterable[TurnRecord],
    scores: Mapping[str, Mapping[str, float]],
    find_passages: Callable[[str, Sequence[str]], Sequence[Passage]],
    folder: Path,
) -> None:
    """Called once when the files of a run are written, before they take their places. A file that
    is put into `folder` is one of the run: it takes its place with the others, stands in run.json,
    and goes where the tracker keeps them.

    Args:
        run: the run.
        summary: its scores and counts.
        records: the records of all its turns, domain by domain; read anew at each pass.
        scores: turn id -> measure -> value. Turns without scores are absent.
        find_passages: looks up passages by a domain and ids. Those that cannot be had without
            reading a whole corpus are left out.
        folder: where the run's files are until then.
    """


@hookspec
def convrag_run_finished(run: Run, summary: RunSummary) -> str | None:
    """Called once when a run has ended, its files are written and its results are shown; not when
    an error or an interruption ended it.

    Args:
        run: the run.
        summary: its scores and counts; `summary.state` is ok, partial or failed.

    Return a line for the terminal, below the results (where the run is logged, say), or None.
    """


@hookspec
def convrag_run_failed(run: Run, error: str, interrupted: bool) -> None:
    """Called once when a run ended by an error or an interruption, and so without a summary.

    An interruption that comes while the observers are told of a finished run leads here, too.

    Args:
        run: the run.
        error: what ended it, with a traceback where it was not to be expected.
        interrupted: whether that was an interruption: Ctrl-C, or a signal that ends the process. Be
            quick then: a process that is interrupted ends within two seconds or so.
    """


@hookspec
def convrag_sweep_check(sweep: Sweep) -> Iterable[str]:  # type: ignore[empty-body]
    """What is wrong with a grid, one message each, with what to do; asked before its first cell,
    which is then not run.

    Args:
        sweep: its cells, all still to come.
    """


@hookspec
def convrag_sweep_started(sweep: Sweep) -> None:
    """Called once in the process that started a grid, before its first cell.

    Args:
        sweep: its folder and its cells, all still to come.
    """


@hookspec
def convrag_sweep_report(sweep: Sweep) -> Report | None:
    """Say something about the grid as a whole, when its cells are done; files go into the sweep's
    folder.

    Args:
        sweep: with the state of each cell.
    """


@hookspec
def convrag_runs_compared(
    report: Report, runs: Mapping[str, Path], folder: Path, config: Mapping[str, Any]
) -> None:
    """Called once when runs have been compared: the cells of a grid at its end, or finished runs by
    task=compare.

    Args:
        report: the comparison: its `numbers` are the leaderboard, its `files` are written next.
        runs: the name of each run that ended with results, as the leaderboard has it -> its folder.
        folder: of the grid or of the task. The plots are there; a file that is put there is logged
            with the others.
        config: the configuration of the command.
    """


@hookspec
def convrag_sweep_finished(sweep: Sweep, reports: list[Report]) -> str | None:
    """Called once at the end of a grid in every case, also when cells failed or it was interrupted.

    Args:
        sweep: with the state of each cell (ok, reused, partial, failed, same, or empty), and in
            `error` why it failed or what a partial one lacks; `interrupted` says whether the end
            came before the last one.
        reports: what was reported on it; none where it was interrupted.

    Return a line for the terminal, below the reports (where the grid is logged, say), or None.
    """


# What a plugin may watch of each turn, whichever door its question came through
# -----------------------------------


@hookspec
def convrag_turn_started(question: Question, config: Mapping[str, Any], model: str) -> None:
    """Called before the first stage of a turn, of a run or of a conversation, by the turn's thread:
    be quick.

    Args:
        question: with the history as no memory has seen it yet. The hooks of one turn are given the
            same object.
        config: of the turn's run or pipeline: the options and parameters of its stages.
        model: the name that a server gives to the pipeline; else empty.
    """


@hookspec
def convrag_stage_finished(question: Question, stage: str, record: TurnRecord) -> None:
    """Called after each stage that ended well, by the turn's thread: several turns go on at once.

    Args:
        question: of the turn.
        stage: its group ("rewriter").
        record: of the turn so far.
    """


@hookspec
def convrag_turn_ended(question: Question, record: TurnRecord) -> None:
    """Called once at the end of a turn, by its thread; of a run, before `convrag_turn_finished`.

    Args:
        question: of the turn.
        record: the whole record. It has an `error` where the turn failed or was stopped.
    """


@hookspec
def convrag_conversations_started(config: Mapping[str, Any], model: str) -> None:
    """Called once for each pipeline of task=chat, task=serve and `Pipeline.compose`, before its
    stages are checked.

    Args:
        config: of the pipeline.
        model: the name that a server gives to it; else empty.
    """


@hookspec
def convrag_conversations_ended(seconds: float) -> str | None:
    """Called for each pipeline when task=chat or task=serve ends.

    Args:
        seconds: that it may take at most, to log the turns that have ended, say.

    Return a line for the terminal (where they are logged, say), or None.
    """


@hookspec
def convrag_serve_beside(
    pipelines: Mapping[str, Any], domain: str | None, take_turn: Callable[..., Any]
) -> Any:
    """Called once by task=serve, before it listens: what does the plugin serve beside the page and
    OpenAI's protocol?

    Args:
        pipelines: the `convrag.Pipeline` of each model, by name; the first is the default.
        domain: the corpus that questions are about where a request names none; None where it has
            to.
        take_turn: `await take_turn(model, work)` calls `work()`, which returns a TurnRecord, in a
            thread, as a turn of the model: with the server's limits.

    Return an application of Starlette, whose routes and lifespan are added to the server's, behind
    its checks of host, origin and token; or None.
    """
