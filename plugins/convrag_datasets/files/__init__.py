"""Reads the files of data sets.

Rows, in any format of file:

* `rows`: rows of a file, in the format of its suffix.
* `json_rows`: rows of JSONL files and JSON arrays.
* `csv_rows`: rows of CSV and TSV files.
* `parquet_rows`: rows of Parquet files.
* `row`: a row with its checked fields, and ids that are unique in a file.

What rows describe:

* `conversations`: conversations, as turns or as chat messages.
* `queries`: queries, which may be turns of conversations.
* `turns`: turns that become conversations, and their ids.
* `passages`: the passages of a corpus.
* `qrels`: judgements of relevance.
"""
