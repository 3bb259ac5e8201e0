"""How good the answers without a language model are, on documentation of Debian packages.

    python benchmarks/quality/answers_without_a_model.py ~/sets generator=direct

The first run fetches the packages that questions/*.tsv name into the folder, by apt-get and dpkg
(Debian 12). What follows the folder are overrides. A question or a follow-up is answered rightly if
its answer has what the pattern of its line says, in at most 90 words; a question without an answer
in the documents is answered rightly if it is refused. The patterns are short: a person would be
stricter, or kinder. The rules of `convrag.sdk.text.windows` were compared on these sets, so figures
on other documents may be lower.
"""

import gzip
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from convrag import Pipeline
from convrag.sdk.text.citations import strip_citations

QUESTIONS = Path(__file__).parent / "questions"
MOST_WORDS = 90
KINDS = ("question", "follow-up", "none")


@dataclass
class Line:
    """A line of a set.

    Args:
        kind: see KINDS.
        questions: of a conversation; the last one counts.
        pattern: what the answer has; empty where there is none.
    """

    kind: str
    questions: list[str]
    pattern: str


def fetch(package: str, pattern: str, folder: Path) -> None:
    """Put the files of a package that match a pattern into a folder of its name, unpacked."""
    unpacked = folder / ".packages" / package
    if not unpacked.exists():
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", package], cwd=unpacked.parent, check=True)
        (archive,) = unpacked.parent.glob(f"{package}_*.deb")
        subprocess.run(["dpkg", "-x", archive, unpacked], check=True)
    for path in unpacked.rglob(pattern):
        content = path.read_bytes()
        target = folder / "documents" / package / path.name.removesuffix(".gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(content) if path.suffix == ".gz" else content)


def read_set(name: str, folder: Path) -> list[Line]:
    """Fetch the documents of a set, and read its questions."""
    lines = []
    for row in (QUESTIONS / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        kind, *fields = row.split("\t")
        if kind == "documents":
            fetch(*fields, folder=folder)
        else:
            pattern = "" if kind == "none" else fields.pop()
            lines.append(Line(kind, fields, pattern))
    return lines


def measure(lines: list[Line], pipeline: Pipeline, counts: Counter[str]) -> Iterator[str]:
    """Ask the questions of a set, add to the counts, and yield a line for each."""
    for number, line in enumerate(lines):
        for question in line.questions:
            record = pipeline.turn(str(number), question)
        answer = " ".join(record.answer.text.split())
        is_refused = not record.answer.citations
        if line.kind == "none":
            is_right = is_refused
        else:
            is_short = len(strip_citations(answer).split()) <= MOST_WORDS
            is_right = is_short and bool(re.search(line.pattern, record.answer.text, re.DOTALL))
        counts[line.kind] += 1
        counts[f"{line.kind} right"] += is_right
        counts[f"{line.kind} refused"] += is_refused
        mark = "ok" if is_right else "--"
        yield f"{mark} {' / '.join(line.questions)} => {answer[:300]}"


def summarize(name: str, counts: Counter[str]) -> str:
    """Format the counts of a set as a row."""
    rights = [f"{counts[f'{kind} right']} of {counts[kind]}" for kind in KINDS]
    wrongly = counts["question refused"]
    return f"{name:14}" + "".join(f"{each:>14}" for each in rights) + f"{wrongly:>18}"


def main(folder: Path, overrides: list[str]) -> None:
    """Fetch the documents of all sets, and measure."""
    head = f"{'set':14}{'questions':>14}{'follow-ups':>14}{'refused':>14}{'refused wrongly':>18}"
    table = [head]
    total: Counter[str] = Counter()
    for path in sorted(QUESTIONS.glob("*.tsv")):
        here = folder / path.stem
        lines = read_set(path.stem, here)
        given = [
            "dataset=documents",
            f"dataset.path={here}/documents",
            f"store.path={here}/store",
            "tracker=none",
        ]
        counts: Counter[str] = Counter()
        for row in measure(lines, Pipeline.compose(*given, *overrides), counts):
            sys.stdout.write(f"{row}\n")
        table.append(summarize(path.stem, counts))
        total += counts
    sys.stdout.write("\n".join(["", *table, summarize("all", total), ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1]).expanduser().resolve(), sys.argv[2:])
