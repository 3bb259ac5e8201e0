"""Types that few plugins need: parts of documents, of answers, of records and of grids; the others are in `convrag`."""

from convrag.api.documents import CorpusPart as CorpusPart
from convrag.api.documents import Heading as Heading
from convrag.api.records import Cell as Cell
from convrag.api.records import RunState as RunState
from convrag.api.records import Slice as Slice
from convrag.api.records import Sweep as Sweep
from convrag.api.stage import Stage as Stage
from convrag.api.stage import remembered as remembered
from convrag.api.types import PassageSpan as PassageSpan
from convrag.api.types import Role as Role
from convrag.api.types import Support as Support
from convrag.api.types import Usage as Usage
