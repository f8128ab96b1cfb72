"""Reads table.parquet with two readers that are not ours (pyarrow, fastparquet) and compares it with table.csv, value by value.

    pip install pyarrow fastparquet pandas
    OCORL_WRITE_GOLDEN=1 cargo nextest run -p ocorl-study other_readers    # only to write the files anew
    python tests/golden/parquet.py [a longer file of the same table]
"""

import csv
import math
import pathlib
import sys

import fastparquet
import pyarrow.parquet

here = pathlib.Path(__file__).parent


def wanted(row: int) -> tuple:
    """The row as the test makes it."""
    words = ["constant", "", 'ü, "x"']
    return (
        None if row % 3 == 1 else words[row % 3],
        None if row % 7 == 6 else row * row,
        None if row % 5 == 0 else (row + 0.1) * -1e-300,
        None,
    )


def missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("nan", "<NA>")


def check(path: pathlib.Path) -> int:
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == ["model.confidence", "n", "x", "none"], table.column_names
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "double", "double"], table.schema
    rows = list(zip(*table.to_pydict().values()))
    assert rows == [wanted(row) for row in range(len(rows))]
    other = fastparquet.ParquetFile(path).to_pandas()
    for row, values in enumerate(other.itertuples(index=False, name=None)):
        for found, value in zip(values, wanted(row)):
            assert missing(found) if value is None else found == value, (row, found, value)
    assert len(other) == len(rows)
    return len(rows)


with open(here / "table.csv", newline="") as file:
    lines = list(csv.reader(file))
assert [(w, n, x) for w, n, x, _ in lines[1:]] == [
    (w or "", "" if n is None else str(n), "" if x is None else x_text)
    for (w, n, x, _), x_text in ((wanted(row), lines[row + 1][2]) for row in range(30))
]
assert all(x == "" or float(x) == wanted(row)[2] for row, (_, _, x, _) in enumerate(lines[1:]))
for path in [here / "table.parquet", *map(pathlib.Path, sys.argv[1:])]:
    print(f"{path.name}: {check(path)} rows, as they should be, in pyarrow {pyarrow.__version__} and fastparquet {fastparquet.__version__}")
