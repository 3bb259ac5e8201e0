"""The scores of a run, and how they are shown."""

from convrag.score.bootstrap import (
    LEAST as LEAST,
    RESAMPLES as RESAMPLES,
    TOO_FEW as TOO_FEW,
    bootstrap_intervals as bootstrap_intervals,
)
from convrag.score.endings import (
    describe_ending as describe_ending,
    describe_gaps as describe_gaps,
    label_state as label_state,
)
from convrag.score.measuring import measure as measure
from convrag.score.summary import read_summary as read_summary
from convrag.score.summary_page import (
    ADVICE as ADVICE,
    list_cut_replies as list_cut_replies,
    list_remarks as list_remarks,
    make_score_rows as make_score_rows,
    make_table as make_table,
    make_usage_rows as make_usage_rows,
    print_summary as print_summary,
)
