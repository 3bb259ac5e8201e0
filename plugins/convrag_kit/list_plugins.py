"""`task=plugins`: lists the installed options."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from convrag import Task, UnknownName
from convrag.sdk.groups import GROUPS


@dataclass(kw_only=True, eq=False)
class ListPluginsTask(Task):
    """List all options: who brought them, their parameters, and what each still needs.

    Args:
        stage: only this group, with every parameter explained.
        json: write JSON to the standard output, and nothing else.
        schema: write this file alone, conf.schema.json: a JSON schema of the configuration, by
            which editors complete and check YAML. With --config-dir, it knows the files there.
    """

    stage: str | None = None
    json: bool = False
    schema: Path | None = None

    def __post_init__(self) -> None:
        if self.stage is not None and self.stage not in GROUPS:
            raise UnknownName("task.stage: group", self.stage, GROUPS)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Print the options, as a table for people or as JSON; or write the schema."""
        if self.schema:
            from convrag_kit.config_schema import write_schema

            write_schema(self.schema)
            return 0
        from convrag_kit.inventory import build_inventory, list_groups
        from convrag_kit.inventory_view import print_inventory

        groups = [self.stage] if self.stage else list_groups()
        if self.json:
            sys.stdout.write(json.dumps(build_inventory(groups), indent=2, default=str) + "\n")
        else:
            print_inventory(groups, in_full=self.stage is not None)
        return 0
