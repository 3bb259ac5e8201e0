"""Types that few plugins need: parts of documents, of answers, of records and of grids; the others are in `convrag`."""

from convrag.api.documents import CorpusPart, Heading
from convrag.api.records import Cell, RunState, Slice, Sweep
from convrag.api.stage import Stage, remembered
from convrag.api.types import PassageSpan, Role, Support, Usage
