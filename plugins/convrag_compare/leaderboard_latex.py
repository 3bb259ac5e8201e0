"""leaderboard.tex: the leaderboard as a table for a paper, stars at significant differences."""

from collections.abc import Sequence
from math import isnan

from convrag.sdk.output.printable import make_printable
from convrag_compare.factors import find_factors, format_run, get_level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import PARTIAL, RunResult
from convrag_compare.tables import format_number

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
}

_LEVELS = ((0.01, "**"), (0.05, "*"))
"""Levels of significance with their marks, the strictest first."""

_PARTIAL_MARK = r"$^{\dagger}$"
_MISSING = "--"


def format_latex_table(board: Leaderboard, columns: Sequence[str] = ()) -> str:
    """Format the leaderboard as a tabular for LaTeX; it needs the package booktabs.

    Comments above the table say what its marks mean.

    Args:
        board: the runs.
        columns: compared measures, and factors. Without a measure among them, the table has all
            compared measures; without a factor, all factors.
    """
    factors = [name for name in columns if name in board.factors] or list(board.factors)
    measures = [name for name in columns if name in board.metrics] or board.metrics
    best = {measure: _find_best(board, measure) for measure in measures}
    rows = []
    for row in board.rows:
        scores = [_format_score(board, row, measure, best[measure]) for measure in measures]
        rows.append([*_format_labels(row, factors), *scores])
    names = factors or ["run"]
    heading = [escape_latex(name) for name in [*names, *measures]]
    alignment = "l" * len(names) + "r" * len(measures)
    lines = [
        r"% \usepackage{booktabs}",
        *(f"% {line}" for line in _explain_marks(board)),
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        _join_cells(heading),
        r"\midrule",
        *(_join_cells(cells) for cells in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Escape LaTeX's special characters, and remove control characters."""
    return "".join(_ESCAPED.get(character, character) for character in make_printable(text))


def find_unknown_columns(results: Sequence[RunResult], columns: Sequence[str]) -> str:
    """Describe the first of `task.columns` that is neither a measure nor a factor.

    Empty if all are one or the other.
    """
    measures = list(dict.fromkeys(name for result in results for name in result.overall))
    known = [*measures, *find_factors(results)]
    unknown = [name for name in columns if name not in known]
    if not unknown:
        return ""
    return (
        f"task.columns: {unknown[0]!r} is neither a measure nor a factor of these runs. "
        f"They have {', '.join(known)}."
    )


def _explain_marks(board: Leaderboard) -> list[str]:
    lines = ["Bold: the best score of a column, and scores that are printed alike."]
    if board.baseline:
        marks = ", ".join(f"{mark}: p < {level}" for level, mark in reversed(_LEVELS))
        baseline = format_run(board.baseline, board.factors)
        lines.append(f"Difference to {baseline}: {marks}")
        lines.append("(paired randomisation test over conversations, two-sided, Holm's method).")
    if any(row.result.state == PARTIAL for row in board.rows):
        lines.append("A dagger marks a partial run; leaderboard.md says what it lacks.")
    return [" ".join(make_printable(line).split()) for line in lines]


def _find_best(board: Leaderboard, measure: str) -> str:
    """Return the best score of a measure, as it is printed; empty if no run has one."""
    means = [row.scores[measure].mean for row in board.rows]
    known = [mean for mean in means if not isnan(mean)]
    return format_number(max(known)) if known else ""


def _format_labels(row: Row, factors: Sequence[str]) -> list[str]:
    """Format the levels of a run, or its name if there are no factors; the first has its mark."""
    labels = [get_level(row.result, factor) for factor in factors] or [row.result.name]
    cells = [escape_latex(" ".join(label.split())) for label in labels]
    if row.result.state == PARTIAL:
        cells[0] += _PARTIAL_MARK
    return cells


def _format_score(board: Leaderboard, row: Row, measure: str, best: str) -> str:
    """Format a mean with its mark, which takes no width so that the digits stay aligned."""
    score = row.scores[measure]
    text = format_number(score.mean)
    if not text:
        return _MISSING
    shown = f"$-${text[1:]}" if text.startswith("-") else text
    if text == best and len(board.rows) > 1:
        shown = rf"\textbf{{{shown}}}"
    mark = _mark_significance(score.corrected)
    return rf"{shown}\rlap{{$^{{{mark}}}$}}" if mark else shown


def _mark_significance(p: float) -> str:
    for level, mark in _LEVELS:
        if p < level:
            return mark
    return ""


def _join_cells(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
