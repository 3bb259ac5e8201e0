"""Grids, and the files that they leave."""

from convrag.sweep.cells import OPERATIONAL as OPERATIONAL
from convrag.sweep.plan import ComposedCells as ComposedCells
from convrag.sweep.plan import Grid as Grid
from convrag.sweep.sweep_file import CELL_FILE as CELL_FILE
from convrag.sweep.sweep_file import METRICS_FILE as METRICS_FILE
from convrag.sweep.sweep_file import find_cell_name as find_cell_name
from convrag.sweep.sweep_file import find_sweep_id as find_sweep_id
from convrag.sweep.sweep_file import read_json as read_json
from convrag.sweep.sweep_file import read_sweep as read_sweep
from convrag.sweep.sweeper import run_grid as run_grid
