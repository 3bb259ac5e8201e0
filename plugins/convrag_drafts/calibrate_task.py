"""`task=calibrate_answerability`: when to answer, learnt from finished runs with labels."""

from pathlib import Path

from omegaconf import DictConfig

from convrag import ConfigError, DataError, Task
from convrag.sdk.files import write_atomically

_LEAST = 2  # turns of either kind


class CalibrateAnswerabilityTask(Task):
    """Learn when the passages answer a question, from runs of generator=drafts over a data set with labels.

    For example `task=calibrate_answerability task.records=[outputs/2026-11-22/09-00-00-abc] task.path=mine.json`, and
    then `generator=drafts generator.calibration=mine.json`. Turns count whose label `answerability` is ANSWERABLE,
    PARTIAL or UNANSWERABLE. A logistic regression makes a probability of the features in the trace, and a threshold
    decides. Both are fitted to one half of the conversations and tested on the other, each way round, which gives the
    figures that are printed and kept in the file; the file's values are then fitted to all turns. Retrieval scores mean
    another thing in another retriever or reranker: calibrate for the one that you use, and not with the conversations
    that you measure on.

    Args:
        records: folders of finished runs.
        path: the file to write.
    """

    def __init__(self, *, records: list[Path], path: Path) -> None:
        if not records:
            raise ConfigError("task.records is empty: name the folder of a run, task.records=[outputs/...]")
        self.records = list(records)
        self.path = path

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the runs, write the calibration, and print how good it is."""
        from convrag.sdk.console import make_console
        from convrag.sdk.tasks.runs import read_records
        from convrag_drafts.calibration import decide_other_half, fit, format_calibration, measure, read_turns

        for run in self.records:
            if not (run / "intermediate").is_dir():
                raise DataError("this is no folder of a finished run: it has no intermediate/", path=run)
        turns = [turn for run in self.records for turn in read_turns(read_records(run / "intermediate"))]
        kinds = [sum(turn.answerable for turn in turns), sum(not turn.answerable for turn in turns)]
        if min(kinds) < _LEAST:
            raise ConfigError(
                f"these runs have {kinds[0]} answerable and {kinds[1]} unanswerable turns of generator=drafts with a "
                f"label: at least {_LEAST} of either kind are needed"
            )
        calibration = fit(turns)
        figures = {"without": measure(turns, [turn.decided for turn in turns])}
        if (tested := decide_other_half(turns)) is not None:
            figures["other_half"] = measure(*tested)
        about = {
            "turns": len(turns),
            "unanswerable": kinds[1],
            "tested": {name: quality.as_dict() for name, quality in figures.items()},
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, format_calibration(calibration, about))
        console = make_console()
        names = {"without": "as it was decided in these runs", "other_half": "calibrated, each half on the other"}
        for name, quality in figures.items():
            console.print(
                f"{names[name]}: {quality.answerable:.1%} of the answerable and {quality.unanswerable:.1%} of the "
                f"unanswerable turns right, mean {quality.balanced:.1%}, {quality.accuracy:.1%} of all {quality.turns}",
                soft_wrap=True,
            )
        if tested is None:
            console.print("Not tested on other conversations: a half of them has no turns of either kind.")
        console.print(f"Calibration: {self.path}", soft_wrap=True)
        return 0
