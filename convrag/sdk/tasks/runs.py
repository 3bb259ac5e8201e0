"""Runs, and the files that they leave."""

from convrag.run.manifest import MANIFEST, list_run_files, read_choices, read_hydra_config, read_overrides
from convrag.run.records import break_ties, format_trec_lines, read_records, round_to_single_precision
from convrag.run.run_result import read_scores
from convrag.run.runner import evaluate_records, run_experiment
from convrag.run.workers import PassageLookup
from convrag.turn.observers import Observers
