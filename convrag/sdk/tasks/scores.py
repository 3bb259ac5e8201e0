"""The scores of a run, and how they are told."""

from convrag.score.measuring import measure
from convrag.score.scoring import LEAST, RESAMPLES, TOO_FEW, bootstrap_intervals
from convrag.score.summary import describe_ending, describe_gaps, label_state, read_summary
from convrag.score.summary_page import (
    ADVICE,
    list_cut_replies,
    list_remarks,
    make_score_rows,
    make_table,
    make_usage_rows,
    print_summary,
)
