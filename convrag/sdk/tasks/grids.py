"""Grids, and the files that they leave."""

from convrag.sweep.cells import OPERATIONAL
from convrag.sweep.plan import ComposedCells, Grid
from convrag.sweep.sweep_file import CELL_FILE, METRICS_FILE, find_cell_name, find_sweep_id, read_json, read_sweep
from convrag.sweep.sweeper import run_grid
