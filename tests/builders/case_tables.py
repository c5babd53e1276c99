"""Cases of parametrized tests that stand in a file of tests/data/cases.

Where each case is one line, a table has its columns and rows as lists.
"""

import pathlib
import tomllib

import pytest

CASES = pathlib.Path(__file__).parents[1] / 'data' / 'cases'


def rows(file, table):
    """Return the rows of a table of a file: list of dicts."""
    found = tomllib.loads((CASES / f'{file}.toml').read_text())[table]
    if isinstance(found, list):
        return found
    return [dict(zip(found['columns'], row, strict=True))
            for row in found['rows']]


def case_table(file, table):
    """Return a decorator: run a test for each row of a table.

    The columns of the table are the names of the test's arguments.
    """
    found = rows(file, table)
    names = list(found[0])
    return pytest.mark.parametrize(
        names, [[row[name] for name in names] for row in found])
