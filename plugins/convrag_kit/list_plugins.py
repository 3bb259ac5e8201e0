"""`task=plugins`: lists the installed options."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from omegaconf import DictConfig

from convrag import Task, UnknownName
from convrag.sdk.groups import GROUPS


class ListPluginsTask(Task):
    """List all options: who brought them, their parameters, and what each still needs.

    Args:
        stage: only this group, with every parameter explained.
        json: write JSON to the standard output, and nothing else.
        schema: write this file alone, conf.schema.json: a JSON schema of the configuration, by
            which editors complete and check YAML; true names that file here. With --config-dir,
            it knows the files there.
        check: run the contracts of convrag.testing against the options of this plugin alone, and
            print a report: the name of an installed distribution, entry point or package. Each
            option is built as the command would build it. The exit status is 1 where a check fails.
    """

    def __init__(
        self,
        *,
        stage: str | None = None,
        json: bool = False,
        schema: Path | bool | None = None,
        check: str | None = None,
    ) -> None:
        if stage is not None and stage not in GROUPS:
            raise UnknownName("task.stage: group", stage, GROUPS)
        self.stage = stage
        self.json = json
        self.schema = schema
        self.checked = check

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Print the options, as a table for people or as JSON; or write the schema, or check a
        plugin.
        """
        if self.schema:
            from convrag_kit.config_schema import write_schema

            write_schema(Path("conf.schema.json") if self.schema is True else self.schema)
            return 0
        if self.checked:
            return int(check_plugin(self.checked, self.stage) > 0)
        from convrag_kit.inventory import build_inventory, list_groups
        from convrag_kit.inventory_view import print_inventory

        groups = [self.stage] if self.stage else list_groups()
        if self.json:
            sys.stdout.write(json.dumps(build_inventory(groups), indent=2, default=str) + "\n")
        else:
            print_inventory(groups, in_full=self.stage is not None)
        return 0


def check_plugin(package: str, stage: str | None = None) -> int:
    """Check the options of a plugin, print a report, and return the number of failures.

    Args:
        package: the name of a distribution, of an entry point or of a Python package.
        stage: only the options of this group.

    Raises:
        UnknownName: no installed plugin has the name.
    """
    from convrag_kit.plugin_check import check_option, find_options, list_load_failures
    from convrag_kit.plugin_check_view import print_report

    options = find_options(package, stage)
    failures = list_load_failures(package)
    with TemporaryDirectory() as folder:  # indexes and replies of the checks alone
        checked = (check_option(option, [f"store.path={folder}"]) for option in options)
        return print_report(package, failures, checked)
