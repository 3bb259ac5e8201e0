"""How good the answers are that no language model writes, on documentation of Debian packages.

    python benchmarks/quality/answers_by_rules.py handbooks ~/handbooks generator=direct

The first run fetches the packages that questions/handbooks.tsv names, by apt-get and dpkg (Debian
12), into the folder; what stands behind it are overrides. The sets are handbooks, manuals,
installation and packages. An answer is right if it has what the pattern of its question says; a
question that has no answer there is right if it is refused. `words` are those of quoted sentences,
right where the sentence is. The patterns are short: a person would be stricter, or kinder.
"""

import gzip
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from convrag import Pipeline

QUESTIONS = Path(__file__).parent / "questions"


def fetch(package: str, pattern: str, folder: Path) -> None:
    """Put the files of a package that match a pattern into a folder of its name, unpacked."""
    unpacked = folder / ".packages" / package
    if not unpacked.exists():
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", package], cwd=unpacked.parent, check=True)
        (archive,) = unpacked.parent.glob(f"{package}_*.deb")
        subprocess.run(["dpkg", "-x", archive, unpacked], check=True)
    for path in unpacked.rglob(pattern):
        content = path.read_bytes()
        target = folder / "documents" / package / path.name.removesuffix(".gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(content) if path.suffix == ".gz" else content)


def measure(rows: list[list[str]], pipeline: Pipeline) -> Iterator[str]:
    """Ask the questions of a set, and yield a line for each and the sums."""
    counts: Counter[str] = Counter()
    for number, (kind, *asked) in enumerate(rows):
        pattern = re.compile(asked.pop() if kind != "none" else r"\A(?!.*\[\d+\])", re.DOTALL)
        answer = [pipeline.turn(str(number), question).answer.text for question in asked][-1]
        sentences = re.split(r"(?<=\])\s+", " ".join(answer.split()))
        right = bool(pattern.search(answer))
        counts.update({kind: 1, f"{kind} right": right})
        if kind == "question":
            counts["first sentence right"] += bool(pattern.search(sentences[0]))
            for sentence in sentences if "[" in answer else ():
                words = len(sentence.split())
                counts.update(
                    {"words": words, "words right": words * bool(pattern.search(sentence))}
                )
        yield f"{'ok' if right else '--'} {' / '.join(asked)} => {' '.join(answer.split())[:200]}"
    for kind in ("question", "none", "follow-up", "words"):
        yield f"{kind}: {counts[f'{kind} right']} of {counts[kind]} right"
    yield f"first sentence: {counts['first sentence right']} of {counts['question']} right"


def main(name: str, folder: Path, overrides: list[str]) -> None:
    """Fetch the documents of a set, and measure."""
    lines = (QUESTIONS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    for package, pattern in (row[1:] for row in rows if row[0] == "documents"):
        fetch(package, pattern, folder)
    given = [
        "dataset=documents",
        f"dataset.path={folder}/documents",
        f"store.path={folder}/store",
        "tracker=none",
    ]
    asked = [row for row in rows if row[0] != "documents"]
    for line in measure(asked, Pipeline.compose(*given, *overrides)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).expanduser().resolve(), sys.argv[3:])
