"""The scores of a run, and how they are told."""

from convrag.score.measuring import measure as measure
from convrag.score.scoring import LEAST as LEAST
from convrag.score.scoring import RESAMPLES as RESAMPLES
from convrag.score.scoring import TOO_FEW as TOO_FEW
from convrag.score.scoring import bootstrap_intervals as bootstrap_intervals
from convrag.score.summary import describe_ending as describe_ending
from convrag.score.summary import describe_gaps as describe_gaps
from convrag.score.summary import label_state as label_state
from convrag.score.summary import read_summary as read_summary
from convrag.score.summary_page import ADVICE as ADVICE
from convrag.score.summary_page import list_cut_replies as list_cut_replies
from convrag.score.summary_page import list_remarks as list_remarks
from convrag.score.summary_page import make_score_rows as make_score_rows
from convrag.score.summary_page import make_usage_rows as make_usage_rows
from convrag.score.summary_page import print_summary as print_summary
