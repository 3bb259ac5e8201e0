"""`hydra/sweeper=convrag`: Hydra's door to convrag.sweep.

Hydra takes sweepers only from the namespace package `hydra_plugins`, and imports all of it at each
start, so this module imports nothing heavy. In an editable install its search does not find this
package; the command registers it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class ConvragSweeper(Sweeper):
    """Runs the cells of a grid, each experiment once, and reports on them.

    `convrag.sweep.sweeper` does the work.

    Args:
        params: the factors of a ready grid (conf/sweep/): key -> values, joined with commas.
        max_batch_size: how many cells the launcher gets at once; None for all.
    """

    def __init__(
        self, params: Mapping[str, Any] | None = None, max_batch_size: int | None = None
    ) -> None:
        super().__init__()
        self.params = params or {}
        self.max_batch_size = max_batch_size

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep what Hydra knows of the command, and make the launcher. Called by Hydra."""
        from convrag.sdk.tasks.grids import ComposedCells

        self.composed = ComposedCells(hydra_context.config_loader)
        self.hydra_context = replace(hydra_context, config_loader=self.composed)  # type: ignore[arg-type]
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=self.hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> list[float]:
        """Run the grid. Called by Hydra with the overrides of the command line.

        Returns:
            The values of `sweep.metric`; see `convrag.sweep.sweeper.run_grid`, also for errors.
        """
        from convrag.sdk.tasks.grids import Grid, run_grid

        assert self.config is not None
        assert self.launcher is not None
        return run_grid(
            Grid(
                self.config,
                arguments,
                self.params,
                self.composed,
                self.launcher,
                self.max_batch_size,
            )
        )
