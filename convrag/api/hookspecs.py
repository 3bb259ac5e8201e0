"""The hooks that a plugin may implement, marked with `convrag.hookimpl`; docs/ lists them."""

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
# --------------------


@hookspec
def convrag_register(register: Register) -> None:
    """Register the plugin's options: call `register` for each.

    Args:
        register: takes the group ("rewriter"), the option's name ("dhrag"), the class or its path
            ("package.module:Class"), its line of help, and by keyword defaults that replace the
            defaults of the class's constructor.
    """


@hookspec
def convrag_config_packages() -> list[str]:  # type: ignore[empty-body]
    """Name the packages with the plugin's YAML: `["acme.conf"]` for acme/conf/rewriter/gentle.yaml.

    Each folder in such a package is a group; each file in it extends an option. A root config.yaml
    is not allowed.
    """


@hookspec(firstresult=True)
def convrag_open_database(url: str, setting: str) -> Database | None:
    """Open the database server at an address, for `store.url` or for conversations.

    The first plugin that does not return None opens it.

    Args:
        url: "postgresql+psycopg://user@host/database". Return None for an address that the plugin
            does not open.
        setting: the setting that has the address, for messages ("store.url", "conversations").
    """


@hookspec(firstresult=True)
def convrag_open_conversations(database: str) -> ConversationStore | None:
    """Open a database of conversations; the first plugin that does not return None opens it.

    Args:
        database: as in `Conversations(database)`: the path of a file, or an address.
    """


# What a plugin may observe of runs and grids
# -------------------------------------------


@hookspec
def convrag_run_started(run: Run) -> None:
    """Called once before the first turn of a run, when every check has passed.

    Args:
        run: its folder, configuration and size.
    """


@hookspec
def convrag_turn_finished(run: Run, record: TurnRecord) -> None:
    """Called after each turn, also a failed one, from one thread.

    Conversations come as a whole, in the data set's order.

    Args:
        run: the run that the turn belongs to.
        record: the record of the turn.
    """


@hookspec
def convrag_run_measured(run: Run, replies: Sequence[tuple[Prompt, Completion]]) -> None:
    """Called once when the metrics have measured the turns of a run.

    Args:
        run: the run.
        replies: their prompts to language models, with the replies.
    """


@hookspec
def convrag_report(run: Run, records: Iterable[TurnRecord]) -> Report | None:
    """Return a report on the run, or None, when its turns are done and before its summary.

    Args:
        run: the run.
        records: the records of all its turns, read anew at each pass.
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
    """Called once when the files of a run are written, before they take their places.

    A file that is put into `folder` is one of the run: it takes its place with the others, is
    listed in run.json, and goes where the tracker keeps them.

    Args:
        run: the run.
        summary: its scores and counts.
        records: the records of all its turns, domain by domain; read anew at each pass.
        scores: turn id -> measure -> value. Turns without scores are absent.
        find_passages: looks up passages by a domain and ids, without those that would need a
            reading of the whole corpus.
        folder: the folder of the run's files until then.
    """


@hookspec
def convrag_run_finished(run: Run, summary: RunSummary) -> str | None:
    """Called once when a run has ended, its files are written and its results are shown.

    It is not called when an error or an interruption ended the run. Return a line for the terminal,
    below the results (where the run is logged, say), or None.

    Args:
        run: the run.
        summary: its scores and counts; `summary.state` is ok, partial or failed.
    """


@hookspec
def convrag_run_failed(run: Run, error: str, interrupted: bool) -> None:
    """Called once when an error or an interruption ended a run, which has no summary then.

    An interruption during `convrag_run_finished` leads here, too.

    Args:
        run: the run.
        error: the reason, with a traceback for an unexpected error.
        interrupted: whether it was an interruption: Ctrl-C, or a signal that ends the process. Be
            quick then: the process ends within two seconds or so.
    """


@hookspec
def convrag_sweep_check(sweep: Sweep) -> Iterable[str]:  # type: ignore[empty-body]
    """Return the problems of a grid, each with what to do; if there are any, it is not run.

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
    """Return a report on the grid, or None, when its cells are done.

    Its files go into the sweep's folder.

    Args:
        sweep: with the state of each cell.
    """


@hookspec
def convrag_runs_compared(
    report: Report, runs: Mapping[str, Path], folder: Path, config: Mapping[str, Any]
) -> None:
    """Called once when runs have been compared: cells of a grid, or finished runs by task=compare.

    Args:
        report: the comparison: its `numbers` are the leaderboard, its `files` are written next.
        runs: the name in the leaderboard of each run that ended with results -> its folder.
        folder: the folder of the grid or of the task. It has the plots; a file that is put there is
            logged with the others.
        config: the configuration of the command.
    """


@hookspec
def convrag_sweep_finished(sweep: Sweep, reports: list[Report]) -> str | None:
    """Called once at the end of a grid in every case, also when cells failed or it was interrupted.

    Return a line for the terminal, below the reports (where the grid is logged, say), or None.

    Args:
        sweep: the grid with the state of each cell (ok, reused, partial, failed, same, or empty),
            and in `error` why it failed or what a partial one lacks; `interrupted` says whether it
            ended before the last cell.
        reports: the reports on it; none if it was interrupted.
    """


# What a plugin may observe of each turn of a run, a chat or a server
# -------------------------------------------------------------------


@hookspec
def convrag_turn_started(question: Question, config: Mapping[str, Any], model: str) -> None:
    """Called before the first stage of each turn, by the turn's thread: be quick.

    Args:
        question: the question with the whole history, before the memory. The hooks of one turn get
            the same object.
        config: the configuration of the turn's run or pipeline.
        model: the name that a server gives to the pipeline; else empty.
    """


@hookspec
def convrag_stage_finished(question: Question, stage: str, record: TurnRecord) -> None:
    """Called after each stage that ended well, by the turn's thread: several turns go on at once.

    Args:
        question: the question of the turn.
        stage: its group ("rewriter").
        record: the record of the turn so far.
    """


@hookspec
def convrag_turn_ended(question: Question, record: TurnRecord) -> None:
    """Called once at the end of a turn, by its thread; in a run, before `convrag_turn_finished`.

    Args:
        question: the question of the turn.
        record: the whole record. It has an `error` where the turn failed or was stopped.
    """


@hookspec
def convrag_conversations_started(config: Mapping[str, Any], model: str) -> None:
    """Called once for each pipeline of task=chat, task=serve and `Pipeline.compose`.

    Its stages have not been checked yet.

    Args:
        config: the configuration of the pipeline.
        model: the name that a server gives to it; else empty.
    """


@hookspec
def convrag_conversations_ended(seconds: float) -> str | None:
    """Called for each pipeline when task=chat or task=serve ends.

    Return a line for the terminal (where the turns are logged, say), or None.

    Args:
        seconds: the most time that it may take, to log the turns that have ended, say.
    """


@hookspec
def convrag_serve_beside(
    pipelines: Mapping[str, Any],
    domain: str | None,
    take_turn: Callable[..., Any],
    max_characters: int,
) -> Any:
    """Called once by task=serve, before it listens, for further routes of the plugin.

    Return an application of Starlette, or None. Its routes and lifespan are added to the server's,
    after the server's checks of host, origin and token.

    Args:
        pipelines: the `convrag.Pipeline` of each model, by name; the first is the default.
        domain: the corpus of requests that name none; None if each request has to name one.
        take_turn: `await take_turn(model, work)` calls `work()`, which returns a TurnRecord, in a
            thread, as a turn of the model: with the server's limits.
        max_characters: the characters that a text in a request may have (`task.max_characters`).
    """
