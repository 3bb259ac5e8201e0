"""`task=score_nuggets`: nugget scores from files of labels."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from convrag import ConfigError, Task


class ScoreNuggetsTask(Task):
    """Compute nugget scores from files of importance and assignment labels, such as published ones.

    A line is {"turn_id": ..., "importance": ["vital", ...], "assignment": ["support", ...]}, or has
    "nuggets" with text, importance and assignment each, as castorini's nuggetizer writes them
    ("qid" will do for the id). Each file is an assessor, unless its lines name theirs; scores are
    averaged over assessors. The files of a run are written to the folder of this command, so that
    task=compare can compare it with runs.

    Args:
        judgements: JSONL files of labels.
    """

    def __init__(self, *, judgements: list[Path]) -> None:
        if not judgements:
            raise ConfigError("task.judgements is empty: task.judgements=[FILE]")
        self.judgements = list(judgements)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Score the judgements, write the files of a run and print the summary."""
        from convrag import TurnRecord
        from convrag.sdk.groups import OPTION_KEY
        from convrag.sdk.tasks.runs import evaluate_records
        from convrag.sdk.tasks.scores import print_summary
        from convrag_judging.nugget_files import read_nugget_labels
        from convrag_judging.turn_ids import get_conversation_id

        turns = read_nugget_labels(self.judgements)
        metric = {OPTION_KEY: "nuggets", "judgements": [str(path) for path in self.judgements]}
        config = OmegaConf.masked_copy(config, [str(name) for name in config])
        with open_dict(config):
            config.metrics = {"nuggets": metric}
        records = [
            TurnRecord(get_conversation_id(turn_id), turn_id, "default", 1, "") for turn_id in turns
        ]
        _, summary = evaluate_records(config, folder, records, show=print_summary)
        return summary.exit_status
