"""What knowing the language is worth, on German, Chinese and Arabic handbooks.

    python benchmarks/languages.py [FOLDER]

benchmarks/languages has 24 sections and 30 questions in ten conversations for each language,
written for this; no number was chosen by them. They are searched as convrag reads them
(`retriever.language=auto`), as English is read, and by plain words. FOLDER keeps the grids, with
their reports.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "languages"
READINGS = {
    "auto": "retriever.language=auto",
    "english": "retriever.language=english",
    "plain": "retriever.words=plain",
}
FIXED = ["retriever=bm25", "generator=none", "metrics=ranking", "tracker=none", "report=false"]


def write_dataset(language: str, folder: Path) -> list[str]:
    """Write the corpus, the conversations and their qrels; return the overrides that read them."""
    sections = (
        (DATA / f"{language}.md").read_text(encoding="utf-8").removeprefix("## ").split("\n## ")
    )
    passages = (section.strip().partition("\n") for section in sections)
    rows = [
        line.split("\t")
        for line in (DATA / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    ]
    conversations: dict[str, list[str]] = {}
    qrels = ["query-id\tcorpus-id\tscore"]
    for conversation, question, section in rows:
        turns = conversations.setdefault(conversation, [])
        turns.append(question)
        qrels.append(f"{conversation}<::>{len(turns)}\t{section}\t1")
    corpus = [
        {"_id": str(n), "title": title, "text": text}
        for n, (title, _, text) in enumerate(passages, 1)
    ]
    talks = [
        {"id": name, "turns": [{"question": each} for each in turns]}
        for name, turns in conversations.items()
    ]
    for name, lines in (("corpus", corpus), ("conversations", talks)):
        (folder / f"{name}.jsonl").write_text(
            "".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8"
        )
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    files = {"corpus": "corpus.jsonl", "conversations": "conversations.jsonl", "qrels": "qrels.tsv"}
    return ["dataset=jsonl", *(f"dataset.{key}={folder / name}" for key, name in files.items())]


def measure(language: str, folder: Path) -> None:
    """Run a grid of rewriters for each reading, and print nDCG@5."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = write_dataset(language, folder)
    for reading, override in READINGS.items():
        grid = folder / reading
        command = [
            sys.executable,
            "-m",
            "convrag",
            "-m",
            "rewriter=none,auto",
            *dataset,
            override,
            *FIXED,
        ]
        command += [f"store.path={folder / 'store'}", f"hydra.sweep.dir={grid}"]
        subprocess.run(command, check=True, capture_output=True)
        with (grid / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
            rows = {row["rewriter"]: row for row in csv.DictReader(file)}
        cells = [f"{float(rows[name]['nDCG@5']):.3f}" for name in ("none", "auto")]
        ends = [f"{float(rows['auto'][f'nDCG@5_difference_{end}']):.3f}" for end in ("low", "high")]
        sys.stdout.write(
            f"| {language} | {reading} | {' | '.join(cells)} | {' to '.join(ends)} |\n"
        )
        sys.stdout.flush()


def main() -> None:
    sys.stdout.write(
        "| handbook | read as | last turn | rewriter=auto | difference, 95 % |\n| --- | --- | --- | --- | --- |\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(DATA.glob("*.md")):
            measure(
                path.stem,
                Path(sys.argv[1] if len(sys.argv) > 1 else scratch).absolute() / path.stem,
            )


if __name__ == "__main__":
    main()
