"""leaderboard.tex: a table for a paper, with chosen columns, the best in bold, and significance marked."""

from collections.abc import Sequence

from convrag.sdk.printable import make_printable
from convrag_compare.factors import format_run, get_level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import PARTIAL
from convrag_compare.tables import format_number

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_LEVELS = ((0.01, "**"), (0.05, "*"))
_LEGEND = ", ".join(f"{mark}: p < {level}" for level, mark in reversed(_LEVELS))
_BEST = "Bold: the best of its column, and what is printed alike."
_PARTIAL_MARK = r"$^{\dagger}$"


def format_latex_table(board: Leaderboard, columns: Sequence[str] = ()) -> str:
    """The leaderboard as a tabular for LaTeX; it needs the package booktabs. Comments say what its marks mean.

    Args:
        board: the runs.
        columns: measures that are compared, and factors; without measures all compared ones, without factors all.
    """
    factors = [name for name in columns if name in board.factors] or list(board.factors)
    measures = [name for name in columns if name in board.metrics] or board.metrics
    best = {measure: _find_best(board, measure) for measure in measures}
    rows = [
        [*_format_labels(row, factors), *(_format_score(board, row, name, best[name]) for name in measures)]
        for row in board.rows
    ]
    heading = [escape_latex(name) for name in [*(factors or ["run"]), *measures]]
    lines = [
        "% \\usepackage{booktabs}",
        *(f"% {line}" for line in _explain(board)),
        f"\\begin{{tabular}}{{{'l' * (len(factors) or 1)}{'r' * len(measures)}}}",
        "\\toprule",
        _join_cells(heading),
        "\\midrule",
        *map(_join_cells, rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """A text with LaTeX's special signs escaped, and without control characters."""
    return "".join(_LATEX.get(sign, sign) for sign in make_printable(text))


def _explain(board: Leaderboard) -> list[str]:
    lines = [_BEST]
    if board.baseline:
        lines.append(f"Against {format_run(board.baseline, board.factors)}, {_LEGEND}")
        lines.append("(paired randomisation test over conversations, two-sided, Holm's correction).")
    if any(row.result.state == PARTIAL for row in board.rows):
        lines.append("A dagger marks a partial run: leaderboard.md says what it lacks.")
    return [" ".join(make_printable(line).split()) for line in lines]


def _find_best(board: Leaderboard, measure: str) -> str:
    means = [row.scores[measure].mean for row in board.rows]
    return format_number(max((mean for mean in means if mean == mean), default=float("nan")))


def _format_labels(row: Row, factors: Sequence[str]) -> list[str]:
    labels = [get_level(row.result, factor) for factor in factors] or [row.result.name]
    first, *others = map(escape_latex, labels)
    return [first + (_PARTIAL_MARK if row.result.state == PARTIAL else ""), *others]


def _format_score(board: Leaderboard, row: Row, measure: str, best: str) -> str:
    """A mean; a mark of significance hangs over the right edge, so that the numbers stay aligned."""
    score = row.scores[measure]
    if not (text := format_number(score.mean)):
        return "--"
    shown = f"$-${text[1:]}" if text.startswith("-") else text
    if text == best and len(board.rows) > 1:
        shown = f"\\textbf{{{shown}}}"
    mark = next((mark for level, mark in _LEVELS if score.corrected < level), "")
    return f"{shown}\\rlap{{$^{{{mark}}}$}}" if mark else shown


def _join_cells(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
