"""Coverage-guided fuzzing of a reader: `python tests/fuzz/run.py corpus -max_total_time=3600`.

It needs `pip install atheris` (Linux). An input that ends badly is written to
tests/fuzz/found/<target>-<hash>, and is from then on a test of test_fuzz.py. Options with one dash
are libFuzzer's. Without a target, the names of all are printed.
"""

import sys
from pathlib import Path

import atheris

FOUND = Path(__file__).with_name("found")
READ_IN = "basics chunkers compare condense datasets dhrag documents ginger judging litellm metrics replay tasks"

with atheris.instrument_imports(
    include=["convrag", *(f"convrag_{name}" for name in READ_IN.split())]
):
    tests = Path(__file__).parents[1]
    sys.path[:1] = [str(tests), str(tests / "support")]
    from fuzz.targets import TARGETS, make_folder


def main() -> None:
    """Fuzz one target until the time is over or something is found."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"{__doc__}\nTargets: {' '.join(TARGETS)}")
    name = sys.argv.pop(1)
    target = TARGETS[name]
    FOUND.mkdir(exist_ok=True)
    corpus = make_folder() / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [
        "-timeout=20",
        "-max_len=8192",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={FOUND}/{name}-",
    ]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:], str(corpus)], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
