"""Reads mutated documents of all formats: no crash, no hang, no memory without end.

    python benchmarks/robustness/mutate_documents.py                      # 20,000 documents
    python benchmarks/robustness/mutate_documents.py --count 500 --seed 7 --format pdf --keep found

Each document is a sound one that was changed (document_mutations.py), and is read as
dataset=documents reads it, and cut into passages: in a process with a limit of 1 GB for what it
takes beyond the libraries, and of 10 s of processor time for each document. It must be read, or
refused with a reason in one line, as the list of unread files shows it. The table counts how they
end; the same seed makes the same documents. `--keep` writes those that end badly into a folder.

The exit status is 1 where a document ended badly.
"""

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/support"), str(Path(__file__).parent)]

MEMORY = 1_000_000_000
"""Bytes of memory beyond those of the libraries."""

SECONDS = 10
"""The processor time of a document."""

WALL_SECONDS = 120
"""After which a document is late, however busy the machine is."""

BATCH = 250
"""Documents that a process reads."""

GOOD = ("read", "in part", "refused", "damaged")
"""Read whole; read in part, with a reason; refused with a reason; refused by its library, whose
error is the reason.
"""

BAD = ("fault", "no memory", "late", "crash")
"""Raised by our own code, or the document contradicts itself; took over 1 GB; took over 10 s; ended
the process.
"""


class Result(NamedTuple):
    """How a document ended.

    Args:
        number: of the document.
        name: of its file.
        ending: one of GOOD or BAD.
        reason: why it was not read.
    """

    number: int
    name: str
    ending: str
    reason: str = ""


def make_document(seed: int, number: int, kinds: Sequence[str]) -> tuple[str, bytes]:
    """Make the mutated document of a number: the name of its file, and its bytes."""
    from document_mutations import mutate

    from fuzz.document_readers import SOUND

    chance = random.Random(f"{seed}/{number}")
    names = [name for name in SOUND if not kinds or name.partition(".")[2] in kinds]
    name = names[number % len(names)]
    return name, mutate(SOUND[name], list(SOUND.values()), chance)


def read_document(name: str, content: bytes) -> tuple[str, str]:
    """Read a document and cut it into passages; return how it ended, and why it was not read."""
    from convrag.sdk.text.unreadable import Unreadable
    from convrag_chunkers.section_chunker import SectionChunker
    from convrag_documents.find_files import FoundFile
    from convrag_documents.readers import find_reader
    from convrag_documents.stored_documents import dump_document, parse_document

    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    chunker = SectionChunker()
    count = 0
    try:
        for document in reader.read(content):
            stored = parse_document(name, dump_document(document))
            problem = find_contradiction(stored, chunker.chunk(stored))
            if problem:
                return "fault", problem
            count += 1
    except Unreadable as error:
        if not error.reason or "\n" in error.reason:
            return "fault", f"the reason is {error.reason!r}"
        return ("in part" if count else "refused"), error.reason
    except MemoryError:
        return "no memory", ""
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        is_of_library = type(error).__module__ != "builtins"
        ours = "convrag" in frames[-1].filename and not is_of_library
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return ("fault" if ours else "damaged"), f"{type(error).__name__}: {error} ({place})"
    return "read", ""


def find_contradiction(document: Any, passages: Sequence[Any]) -> str:
    """Return what is wrong with places in a document; empty if nothing is."""
    length = len(document.text)
    starts = [heading.start for heading in document.headings]
    if starts != sorted(starts) or any(not 0 <= start <= length for start in starts):
        return f"its headings are at {starts[:20]}, and it has {length} characters"
    pages = list(document.pages)
    if pages != sorted(pages) or any(not 0 <= page <= length for page in pages):
        return f"its pages are at {pages[:20]}, and it has {length} characters"
    for passage in passages:
        place = slice(passage.metadata["start"], passage.metadata["end"])
        if document.text[place] != passage.text:
            return f"passage {passage.id} is not at {place}"
    return ""


def work(seed: int, numbers: Sequence[int], kinds: Sequence[str]) -> None:
    """Read documents in this process, with a line for each before it is read and after."""
    from fuzz.document_readers import SOUND

    for name, content in SOUND.items():  # the libraries are loaded before the limit is set
        read_document(name, content)
    limit = _read_address_space() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in numbers:
        name, content = make_document(seed, number, kinds)
        _write_line([number, name])
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WALL_SECONDS)
        ending, reason = read_document(name, content)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        _write_line([number, name, ending, reason[:500]])


def _write_line(row: Sequence[object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def _read_address_space() -> int:
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmSize:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmSize")


def run_batch(seed: int, numbers: Sequence[int], kinds: Sequence[str]) -> Iterator[Result]:
    """Read documents in processes; one that ends a process is followed by another process."""
    left = list(numbers)
    while left:
        command = [sys.executable, __file__, "--worker", *map(str, (seed, left[0], left[-1]))]
        command += ["--format", *kinds] if kinds else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        finished = [Result(*row) for row in rows if len(row) > 2]
        yield from finished
        left = left[len(finished) :]
        if not left:
            return
        if not rows or len(rows[-1]) > 2:
            raise RuntimeError(f"a process ended between documents: {done.stderr[-2000:]}")
        number, name = rows[-1]
        is_late = -done.returncode in (signal.SIGPROF, signal.SIGALRM)
        yield Result(number, name, "late" if is_late else "crash", done.stderr[-500:])
        left = left[1:]


def run(count: int, seed: int, processes: int, kinds: Sequence[str]) -> Iterator[Result]:
    """Read all documents, batch by batch."""
    batches = [range(first, min(first + BATCH, count)) for first in range(0, count, BATCH)]
    with ThreadPoolExecutor(processes) as pool:
        for results in pool.map(lambda numbers: list(run_batch(seed, numbers, kinds)), batches):
            yield from results
            sys.stderr.write(".")
            sys.stderr.flush()
    sys.stderr.write("\n")


def format_table(results: Sequence[Result]) -> str:
    """Count the endings of each format, as Markdown."""
    endings = (*GOOD, *BAD)
    counts: dict[str, Counter[str]] = {}
    for result in results:
        kind = result.name.partition(".")[2]
        counts.setdefault(kind, Counter())[result.ending] += 1
    lines = [f"| format | {' | '.join(endings)} |", f"| --- |{' ---: |' * len(endings)}"]
    total: Counter[str] = sum(counts.values(), Counter())
    for kind, found in [*sorted(counts.items()), ("all", total)]:
        lines.append(f"| {kind} | {' | '.join(str(found[each]) for each in endings)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the options, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--format", nargs="+", default=[], help="pdf docx ...; all by default")
    parser.add_argument("--keep", type=Path, help="a folder for documents that end badly")
    parser.add_argument("--worker", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seed, first, last = options.worker
        work(seed, range(first, last + 1), options.format)
        return
    results = list(run(options.count, options.seed, options.processes, options.format))
    sys.stdout.write(f"{format_table(results)}\n")
    bad = [result for result in results if result.ending in BAD]
    for result in bad:
        sys.stdout.write(f"{result.number} {result.name}: {result.ending} {result.reason}\n")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            name, content = make_document(options.seed, result.number, options.format)
            (options.keep / f"{options.seed}-{result.number}-{name}").write_bytes(content)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
