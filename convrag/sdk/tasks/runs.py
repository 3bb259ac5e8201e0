"""Runs, and the files that they leave."""

from convrag.run.manifest import (
    MANIFEST as MANIFEST,
    list_run_files as list_run_files,
    read_choices as read_choices,
    read_hydra_config as read_hydra_config,
    read_overrides as read_overrides,
)
from convrag.run.passage_lookup import PassageLookup as PassageLookup
from convrag.run.records import read_records as read_records
from convrag.run.run_result import read_scores as read_scores
from convrag.run.runner import (
    evaluate_records as evaluate_records,
    run_experiment as run_experiment,
)
from convrag.turn.observers import Observers as Observers
