"""`hydra/launcher=convrag_ray`: the cells of a grid as tasks of Ray.

    python -m convrag -m hydra/launcher=convrag_ray hydra.launcher.num_cpus=2 rewriter=none,last_n
    python -m convrag -m hydra/launcher=convrag_ray hydra.launcher.address=auto rewriter=none,last_n

`hydra/launcher=ray` is the name of another distribution, hydra-ray-launcher. Hydra imports this
module at each start, so it imports Ray only when a grid is launched. In an editable install Hydra's
search does not find this package; the command registers it.

* `_tasks`: sends the cells to Ray, runs them in its processes, and collects how they ended. Hydra
  does not import a module whose name begins with an underscore.
"""

# No `from __future__ import annotations`: Hydra executes this module before sys.modules has it, and
# a dataclass looks there for the meaning of annotations that are texts.
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class ConvragRayLauncher(Launcher):
    """Runs each cell as a task of Ray.

    Args:
        address: of a running cluster: "auto", "10.0.0.1:6379" or "ray://host:10001". None starts
            one on this machine, which ends with the grid.
        num_cpus: how many cores a cluster that is started here may use; None for all.
        cpus_per_cell: how many of the cluster's cores a cell takes. With 1, as many cells run at
            once as the cluster has cores.
        gpus_per_cell: how many of the cluster's graphics cards a cell takes.
        max_retries: how often a cell is run again whose process was killed, or whose machine
            failed.
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
        self.cpus_per_cell = cpus_per_cell
        self.gpus_per_cell = gpus_per_cell
        self.max_retries = max_retries

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Keep what Hydra knows of the command, and check the cluster. Called by Hydra.

        Raises ConvragError where Ray is not installed, or nothing listens at the address.
        """
        from hydra_plugins.convrag_ray_launcher._tasks import check_cluster

        check_cluster(self.address)
        self.hydra_context = hydra_context
        self.task_function = task_function
        self.config = config

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run cells. Called by Hydra's sweepers.

        Args:
            job_overrides: the overrides of each cell.
            initial_job_idx: the number of the first one.

        Returns:
            How each cell ended, in the order of `job_overrides`.

        Raises:
            ConfigError: the cluster cannot be reached.
        """
        from hydra_plugins.convrag_ray_launcher._tasks import Command, connected, run_cells

        command = Command(self.hydra_context, self.task_function, self.config)
        options = {
            "num_cpus": self.cpus_per_cell,
            "num_gpus": self.gpus_per_cell,
            "max_retries": self.max_retries,
        }
        with connected(self.address, self.num_cpus):
            return run_cells(command, job_overrides, initial_job_idx, options)


@dataclass
class ConvragRayConf:
    """What `hydra.launcher.<name>=` sets; the arguments of ConvragRayLauncher."""

    _target_: str = "hydra_plugins.convrag_ray_launcher.ConvragRayLauncher"
    address: str | None = None
    num_cpus: int | None = None
    cpus_per_cell: float = 1
    gpus_per_cell: float = 0
    max_retries: int = 3


_node: Any = ConvragRayConf()
ConfigStore.instance().store(
    group="hydra/launcher", name="convrag_ray", node=_node, provider="convrag_ray_launcher"
)
