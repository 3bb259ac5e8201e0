"""Measures convrag beside other libraries, and writes the tables of docs/benchmarks.md.

    python benchmarks/run.py                      all parts
    python benchmarks/run.py lexical start        two of them
    python benchmarks/run.py lexical --passages 200000 1000000
    python benchmarks/run.py --small              all parts in minutes; the page stays as it is
    python benchmarks/run.py --list               what the parts are
    python benchmarks/run.py --page               the page again, from results/*.json

Run it with an interpreter that has convrag with the extras `litellm` and `plots`. The other
libraries are installed into virtual environments of their own, benchmarks/.environments;
environments/*.txt pin the versions.
"""

import argparse
import json
import os
import sys
import tempfile
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from machine import describe_machine
from options import Options
from pages import PAGE, RESULTS, fill_page, format_block, read_results
from plots import draw_bars, name_plot

PARTS = ("lexical", "grid", "chat", "dedup", "start", "rewriting")


def main() -> None:
    """Run the parts that the command names."""
    chosen = _read_arguments()
    if chosen.list:
        for part in PARTS:
            _say(f"{part:10} {(import_module(part).__doc__ or '').splitlines()[0]}")
    elif chosen.page:
        write_page()
    else:
        for part in chosen.parts or PARTS:
            result = run_part(part, chosen)
            _say(format_block(result, import_module(part).format_result(result["measured"])))
            _write_result(
                result, chosen.out or (Path("outputs/benchmarks") if chosen.small else RESULTS)
            )
        if not chosen.small and not chosen.out:
            write_page()


def run_part(part: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure a part: its figures, with the machine and the versions."""
    machine = describe_machine() | {"load_before": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory(prefix="convrag-benchmarks-") as scratch:
        measured = import_module(part).measure(
            Options(
                chosen.small, tuple(chosen.passages), chosen.rounds, chosen.mtrag, Path(scratch)
            )
        )
    sizes = (
        ["--passages", *map(str, chosen.passages)] if part == "lexical" and not chosen.small else []
    )
    rounds = (
        ["--rounds", str(chosen.rounds)] if part in ("chat", "start") and not chosen.small else []
    )
    names = [part, *(["--small"] if chosen.small else []), *sizes, *rounds]
    return {
        "part": part,
        "date": date.today().isoformat(),
        "command": " ".join(
            ["python benchmarks/run.py", *names, *(["--mtrag MTRAG"] if chosen.mtrag else [])]
        ),
        "machine": machine | {"load_after": round(os.getloadavg()[0], 1)},
        "versions": {"convrag": version("convrag"), **measured.pop("versions", {})},
        "measured": measured,
    }


def write_page() -> None:
    """Put the tables of all results into docs/benchmarks.md, and draw its plots."""
    PAGE.write_text(make_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for part, result in read_results().items():
        if list_bars := getattr(import_module(part), "list_bars", None):
            draw_bars(part, list_bars(result["measured"]))


def make_page(page: str) -> str:
    """The page with the tables of all results."""
    return fill_page(
        page, {part: _format_part(part, result) for part, result in read_results().items()}
    )


def _format_part(part: str, result: dict[str, Any]) -> str:
    module = import_module(part)
    shown = module.format_result(result["measured"])
    if hasattr(module, "list_bars"):
        shown += f"\n\n![{module.list_bars(result['measured']).title}](images/{name_plot(part)})"
    return format_block(result, shown)


def _write_result(result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['part']}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none is named"
    )
    parser.add_argument("--list", action="store_true", help="list the parts")
    parser.add_argument(
        "--page", action="store_true", help="write the page from the results that are there"
    )
    parser.add_argument(
        "--small", action="store_true", help="small sizes; results go to outputs/benchmarks"
    )
    sizes = "the sizes of made corpora for lexical search: 200000 1000000"
    parser.add_argument(
        "--passages", type=int, nargs="+", default=[200_000], metavar="N", help=sizes
    )
    rounds = "how often chat and start measure each library"
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help=rounds)
    parser.add_argument(
        "--mtrag", type=Path, help="a clone of github.com/IBM/mt-rag-benchmark, for its pools"
    )
    parser.add_argument(
        "--out", type=Path, help="the folder of the results; the page then stays as it is"
    )
    chosen = parser.parse_args()
    unknown = [part for part in chosen.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if chosen.mtrag and not chosen.mtrag.is_dir():
        parser.error(f"--mtrag {chosen.mtrag}: no such folder")
    return chosen


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
