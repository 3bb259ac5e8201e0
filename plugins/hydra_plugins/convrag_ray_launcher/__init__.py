"""`hydra/launcher=convrag_ray`: the cells of a grid as tasks of Ray.

    python -m convrag -m hydra/launcher=convrag_ray hydra.launcher.num_cpus=2 rewriter=none,last_n,full_history
    python -m convrag -m hydra/launcher=convrag_ray hydra.launcher.address=auto rewriter=none,last_n,full_history

The name leaves `hydra/launcher=ray` to the package hydra-ray-launcher, which wants an old cloudpickle. Hydra imports
this module at each start: Ray is imported when a grid is launched.
"""

# No `from __future__ import annotations`: Hydra executes this module before sys.modules has it, and a dataclass looks
# there for what annotations that are texts mean.
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class ConvragRayLauncher(Launcher):
    """Runs each cell as a task of Ray (see `_tasks`).

    Args:
        address: of a cluster that is there: "auto", or "ray://host:10001". None starts one on this machine, which ends
            with the grid.
        num_cpus: how many cores a cluster that is started here may use; None for all of this machine.
        cpus_per_cell: how many of the cluster's cores a cell takes; with 1, as many cells run at once as it has cores.
        gpus_per_cell: the same of graphics cards.
        max_retries: how often a cell is run again whose process was killed, or whose machine failed.
    """

    def __init__(
        self,
        address: str | None = None,
        num_cpus: int | None = None,
        cpus_per_cell: float = 1,
        gpus_per_cell: float = 0,
        max_retries: int = 3,
    ) -> None:
        super().__init__()
        self.address = address
        self.num_cpus = num_cpus
        self.options = {"num_cpus": cpus_per_cell, "num_gpus": gpus_per_cell, "max_retries": max_retries}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what Hydra knows of the command. Called by Hydra."""
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run cells. Called by Hydra's sweepers.

        Args:
            job_overrides: the overrides of each cell.
            initial_job_idx: the number of the first one.

        Returns:
            How each ended, in the order of `job_overrides`.
        """
        from hydra_plugins.convrag_ray_launcher._tasks import Work, launch_tasks

        work = Work(self.hydra_context, self.task_function, self.config)
        return launch_tasks(work, job_overrides, initial_job_idx, self.address, self.num_cpus, self.options)


@dataclass
class ConvragRayConf:
    """What can be set with `hydra.launcher.<name>=`; the arguments of ConvragRayLauncher."""

    _target_: str = "hydra_plugins.convrag_ray_launcher.ConvragRayLauncher"
    address: str | None = None
    num_cpus: int | None = None
    cpus_per_cell: float = 1
    gpus_per_cell: float = 0
    max_retries: int = 3


_node: Any = ConvragRayConf()
ConfigStore.instance().store(group="hydra/launcher", name="convrag_ray", node=_node, provider="convrag_ray_launcher")
