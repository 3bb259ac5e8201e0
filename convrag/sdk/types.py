"""Types that few plugins need: parts of documents, answers, records and grids.

The others are in `convrag`.
"""

from convrag.api.answers import PassageSpan as PassageSpan, Support as Support
from convrag.api.completions import Role as Role, Usage as Usage
from convrag.api.documents import CorpusPart as CorpusPart, Heading as Heading
from convrag.api.records import Cell as Cell, RunState as RunState, Slice as Slice, Sweep as Sweep
from convrag.api.stage import Stage as Stage, remembered as remembered
