"""Grids, and the files that they leave."""

from convrag.config.hydra import read_result as read_result
from convrag.sweep.folders import OPERATIONAL as OPERATIONAL
from convrag.sweep.grid import ComposedCells as ComposedCells, Grid as Grid
from convrag.sweep.sweep_file import (
    CELL_FILE as CELL_FILE,
    METRICS_FILE as METRICS_FILE,
    find_cell_name as find_cell_name,
    find_sweep_id as find_sweep_id,
    read_json as read_json,
    read_sweep as read_sweep,
)
from convrag.sweep.sweeper import run_grid as run_grid
