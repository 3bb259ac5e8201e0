"""Runs, and the files that they leave."""

from convrag.run.manifest import MANIFEST as MANIFEST
from convrag.run.manifest import list_run_files as list_run_files
from convrag.run.manifest import read_choices as read_choices
from convrag.run.manifest import read_hydra_config as read_hydra_config
from convrag.run.manifest import read_overrides as read_overrides
from convrag.run.records import break_ties as break_ties
from convrag.run.records import format_trec_lines as format_trec_lines
from convrag.run.records import read_records as read_records
from convrag.run.records import round_to_single_precision as round_to_single_precision
from convrag.run.runner import evaluate_records as evaluate_records
from convrag.run.runner import run_experiment as run_experiment
from convrag.run.workers import PassageLookup as PassageLookup
from convrag.turn.observers import Observers as Observers
