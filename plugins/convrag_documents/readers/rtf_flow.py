"""The text of an RTF file as blocks: paragraphs, headings, lists and tables, with their notes."""

from convrag_documents.readers.raised_text import Position, join_runs
from convrag_documents.readers.tables import format_named_rows

BODY = 0
"""The level of text that is not a heading."""

Block = tuple[int, str]
"""A level of headings, or that of the body, and a text."""


class Flow:
    """The blocks of the text, or of a text box or a note within it."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._runs: list[tuple[str, Position]] = []
        self._items: list[str] = []
        self._rows: list[list[str]] = []
        self._cells: list[str] = []
        self._cell: list[str] = []
        """The paragraphs of the cell that is being read."""
        self._notes: list[Block] = []
        """The notes of the paragraph or the list that is being read."""
        self.mark = ""
        """The mark of the item that is being read: "10."."""

    def add(self, text: str, position: Position = "") -> None:
        """Add text to the paragraph."""
        self._runs.append((text, position))

    def add_note(self, blocks: list[Block]) -> None:
        """Add a note to the paragraph."""
        self._notes += blocks

    def add_box(self, blocks: list[Block], *, in_table: bool) -> None:
        """Add a text box where it is anchored."""
        if in_table or self._cells:
            self._cell.append(self._take_paragraph())
            self._cell += [text for _, text in blocks]
        else:
            self.end_paragraph(BODY, in_table=False)
            self._end_list()
            self._blocks += blocks

    def end_paragraph(self, level: int, *, in_table: bool) -> None:
        """End a paragraph, which may be a heading, an item, or part of a cell."""
        text = self._take_paragraph()
        mark = self.mark
        self.mark = ""
        if in_table or self._cells:
            self._cell.append(f"{mark} {text}")
            return
        self._end_table()
        if not text.strip() and not self._notes:
            return
        line = " ".join(text.split())
        if mark and line and level == BODY:
            self._items.append(f"{mark} {line}")
            return
        self._end_items()
        self._blocks.append((level, f"{mark} {text}" if mark.strip("-") else text))
        self._end_notes()

    def end_cell(self) -> None:
        """End a cell of a table."""
        self.end_paragraph(BODY, in_table=True)
        self._cells.append(" ".join(self._cell))
        self._cell = []

    def end_row(self) -> None:
        """End a row of a table."""
        if self._cells:
            self._end_items()
            self._rows.append(self._cells)
        self._cells = []

    def finish(self) -> list[Block]:
        """End what was begun, and return the blocks."""
        self.end_row()
        self.end_paragraph(BODY, in_table=False)
        self._end_list()
        self._end_table()
        return self._blocks

    def _take_paragraph(self) -> str:
        text = join_runs(self._runs)
        self._runs = []
        return text

    def _end_list(self) -> None:
        self._end_items()
        self._end_notes()

    def _end_items(self) -> None:
        if self._items:
            self._blocks.append((BODY, "\n".join(self._items)))
        self._items = []

    def _end_table(self) -> None:
        if self._rows:
            self._end_items()
            self._blocks.append((BODY, "\n".join(format_named_rows(self._rows))))
            self._rows = []
            self._end_notes()

    def _end_notes(self) -> None:
        self._blocks += self._notes
        self._notes = []
