"""Rows of CSV, TSV, JSON and JSONL files, as people and programs write them."""

import csv
import time

import pytest

from convrag_documents.find_files import FoundFile
from convrag_documents.readers import find_reader


def read(name: str, content: str | bytes) -> dict[str, str]:
    """Read a file: part -> text."""
    reader = find_reader(FoundFile(name, name))
    assert reader is not None
    encoded = content.encode() if isinstance(content, str) else content
    return {document.id: document.text for document in reader.read(encoded)}


def lines(name: str, content: str | bytes) -> list[str]:
    return read(name, content)[""].split("\n")


class TestDelimiter:
    ADDRESSES = "name\taddress\nMara\t12 Oak Street, Hull, Kent\nJon\t4 Mill Lane, Bath, Kent\n"

    @pytest.mark.parametrize("name", ["a.tsv", "a.tab", "a.csv"])
    def test_tabs_next_to_commas(self, name):
        assert lines(name, self.ADDRESSES) == [
            "name: Mara; address: 12 Oak Street, Hull, Kent",
            "name: Jon; address: 4 Mill Lane, Bath, Kent",
        ]

    def test_a_tsv_with_other_signs_in_its_cells(self):
        ragged = "name\tlinks\nA\tx;y;z\nB\tx;y\nC\nD\tz;w\n"
        assert lines("a.tsv", ragged)[0] == "name: A; links: x;y;z"

    def test_a_tsv_that_is_a_csv(self):
        assert lines("a.tsv", "name,town\nA,Hull\n") == ["name: A; town: Hull"]

    def test_semicolons_with_decimal_commas(self):
        assert lines("a.csv", "name;price\nsaw, small;1,50\nax, big;2,50\n") == [
            "name: saw, small; price: 1,50",
            "name: ax, big; price: 2,50",
        ]
        assert lines("a.csv", "item;price,EUR\nsaw;1,50\n") == ["item: saw; price,EUR: 1,50"]

    @pytest.mark.parametrize(
        ("declaration", "delimiter"),
        [("sep=;", ";"), ("SEP=|", "|"), ('"sep=\t"', "\t"), ("\ufeffsep=^", "^")],
    )
    def test_a_first_line_declares_it(self, declaration, delimiter):
        table = f"{declaration}\r\nname{delimiter}price\r\nA, B{delimiter}1,5\r\n"
        assert lines("a.csv", table) == ["name: A, B; price: 1,5"]

    def test_a_title_above_the_header_row(self):
        table = "Ferries, 2026\n\nport;boats;crew\nHull;3;9\nBath;1;2\n"
        assert lines("a.csv", table)[-1] == "port: Bath; boats: 1; crew: 2"

    def test_a_single_column_with_commas_in_its_texts(self):
        texts = ["quote", "To be, or not", "It was the best"]
        assert lines("a.csv", "\n".join(texts)) == texts

    def test_utf16_of_excel(self):
        assert lines("a.csv", "name\tpreis\nSäge\t1,5\n".encode("utf-16")) == [
            "name: Säge; preis: 1,5"
        ]


class TestQuotes:
    def test_quoted_cells(self):
        table = 'name,note\n"Smith, J","He said ""hi, you"""\nB, "two\nlines"\n'
        assert lines("a.csv", table) == [
            'name: Smith, J; note: He said "hi, you"',
            "name: B; note: two lines",
        ]

    def test_a_quote_that_is_left_open_is_a_character(self):
        assert lines("a.csv", 'name,size\npipe,"5\nrod,6\nbar,7\n') == [
            'name: pipe; size: "5',
            "name: rod; size: 6",
            "name: bar; size: 7",
        ]

    def test_a_quote_within_a_text(self):
        assert lines("a.csv", 'name,size\n"Big" Joe,5\nSam "S" Lee,4"\n') == [
            'name: "Big" Joe; size: 5',
            'name: Sam "S" Lee; size: 4"',
        ]

    @pytest.mark.parametrize("row", ['"x,y\n', '"x,""y,', '"""a,', '"a,""b"', '"', '""', "  ,"])
    def test_many_quotes_take_time_in_proportion(self, row):
        def measure(copies: int) -> float:
            start = time.process_time()
            read("a.csv", f"a,b\n{row * copies}")
            return time.process_time() - start

        assert measure(40_000) < 20 * max(measure(10_000), 0.02)


def test_a_cell_has_no_limit_and_no_limit_is_changed():
    limit = csv.field_size_limit()
    long_text = "x" * (limit * 2)
    assert lines("a.csv", f'name,note\nA,"{long_text}"\nB,{long_text}\nC,z\n')[2] == (
        "name: C; note: z"
    )
    assert read("a.csv", f"name,note\nA,{long_text}\n")[""].endswith(long_text)
    assert csv.field_size_limit() == limit


class TestJson:
    def test_an_array_of_rows(self):
        assert read("a.json", '[["town", "ferries"], ["Hull", "12"], ["Bath", null]]') == {
            "": "town: Hull; ferries: 12\ntown: Bath"
        }

    def test_rows_without_names(self):
        assert read("a.json", '[["Hull", 12], ["Bath", 3]]') == {"": "Hull | 12\nBath | 3"}

    def test_rows_in_an_object(self):
        table = '{"columns": ["town", "open"], "data": [["Hull", true], ["Bath", false]]}'
        assert read("a.json", table) == {"": "town: Hull; open: true\ntown: Bath; open: false"}
        assert read("a.json", '{"ports": [["town", "n"], ["Hull", 12]]}') == {
            "": "town: Hull; n: 12"
        }

    def test_items_of_any_kind(self):
        items = '[{"town": "Hull", "ferries": 12}, 7, "x", null, [1, [2]], {"a": [3, {"b": 4}]}]'
        assert read("a.json", items) == {
            "1": "town: Hull\nferries: 12",
            "2": "7",
            "3": "x",
            "4": "",
            "5": "1\n2",
            "6": "a: 3\na.b: 4",
        }

    @pytest.mark.parametrize(("value", "text"), [("7", "7"), ('"x"', "x"), ("null", "")])
    def test_a_single_value(self, value, text):
        assert read("a.json", value) == {"": text}


class TestJsonl:
    def test_rows_with_names(self):
        rows = '\ufeff["town", "ferries"]\n\n["Hull", 12]\n["Bath", {"n": 3}]\n'
        assert read("a.jsonl", rows) == {
            "1": "",  # a document without text is left out
            "3": "town: Hull; ferries: 12",
            "4": "town: Bath; ferries: n: 3",
        }

    def test_lines_of_any_kind(self):
        assert read("a.jsonl", '["Hull", 12]\n["Bath", 3]\n7\n"x"\n{"text": "t"}\nnull\n1.5\n') == {
            "1": "Hull | 12",
            "2": "Bath | 3",
            "3": "7",
            "4": "x",
            "5": "t",
            "6": "",
            "7": "1.5",
        }
