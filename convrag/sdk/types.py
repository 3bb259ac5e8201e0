"""Types that few plugins need: parts of documents, of answers, of records and of grids; the others are in `convrag`."""

from convrag.api.documents import CorpusPart as CorpusPart, Heading as Heading
from convrag.api.records import Cell as Cell, RunState as RunState, Slice as Slice, Sweep as Sweep
from convrag.api.stage import Stage as Stage, remembered as remembered
from convrag.api.types import PassageSpan as PassageSpan, Role as Role, Support as Support, Usage as Usage
