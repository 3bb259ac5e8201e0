"""A grid as a script: one process, a loop over the cells, a dictionary as the cache.

python grid_script.py PLUGIN CELLS, where CELLS is a JSON list of lists of overrides
"""

import json
import sys
from pathlib import Path

from convrag.config.compose import compose
from convrag.run.runner import run_experiment
from measuring import Clock, answer

if __name__ == "__main__":
    plugin, cells = sys.argv[1], json.loads(sys.argv[2])
    clock = Clock()
    for number, overrides in enumerate(cells):
        base = [
            f"plugins=[{plugin}]",
            "llm=counting",
            "llm.cached=true",
            f"store.path=store{number}",
        ]
        run_experiment(compose(*base, *overrides), Path(f"cell{number}"))
    answer(clock.read("script"))
