"""Prints the results of a plugin's checks."""

from collections.abc import Iterable

from rich.padding import Padding
from rich.text import Text

from convrag.sdk.output.console import make_console
from convrag_kit.plugin_check import CheckedOption, Outcome

_STYLES: dict[Outcome, str] = {"passed": "green", "failed": "red", "not run": "yellow"}


def print_report(package: str, failures: Iterable[str], checked: Iterable[CheckedOption]) -> int:
    """Print a report, option by option as they are checked; return the number of failures.

    Args:
        package: the plugin that was checked.
        failures: what failed when it was loaded.
        checked: the results of its options.
    """
    console = make_console()
    failed = 0
    passed = 0
    not_run = 0
    for failure in failures:
        failed += 1
        console.print(Text(failure, style="red"))
    for option in checked:
        failed += option.count("failed")
        passed += option.count("passed")
        not_run += option.count("not run")
        console.print(_format_heading(option))
        for result in option.results:
            if result.outcome != "passed":
                line = f"{result.outcome}: {result.check}: {result.message}"
                console.print(Padding(Text(line, style=_STYLES[result.outcome]), (0, 0, 0, 2)))
    console.print(f"{package}: {passed} checks passed, {failed} failed, {not_run} were not run")
    return failed


def _format_heading(option: CheckedOption) -> Text:
    """Format an option with the number of its checks that passed, failed and were not run."""
    numbers = []
    for outcome in _STYLES:
        count = option.count(outcome)
        if count:
            numbers.append(f"{count} {outcome}")
    return Text.assemble((f"{option.choice}  ", "bold cyan"), ", ".join(numbers))
