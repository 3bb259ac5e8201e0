"""What Hydra calls around a grid. It makes this object at every start, also for --help: imports come late."""

from __future__ import annotations

from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class SweepCallback(Callback):
    """Before the first cell and after the last one. Hydra swallows errors here, so the sweep keeps them."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Begin the grid."""
        from convrag.sweep.sweep import current

        current().begin(config)
        if current().error:
            raise SystemExit  # Hydra makes a warning of any other error; the command says what is wrong

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """End it."""
        from convrag.sweep.sweep import current

        current().end()
