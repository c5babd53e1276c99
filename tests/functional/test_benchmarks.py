"""The benchmarks that CI does not measure still run."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.functional import conftest
from tests.functional.processes import PATIENCE

pytestmark = pytest.mark.real

TOP = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize('words', [
    ['soak', '--requests', '60', '--every', '20', '--hosts', '4'],
    ['raw_messages', '--messages', '40', '--every', '20'],
    ['flood', '--messages', '5', '--kinds', 'text,parts'],
    ['beside', 'one=.', '--hosts', '4', '--turns', '1', '--seconds', '0.2',
     '--callers', '1,2']],
    ids=lambda words: words[0])
def test_benchmark_prints_its_table(words):
    """A head, a line and at least two rows."""
    program, *options = words
    database_url, drop = conftest.new_database()
    try:
        found = subprocess.run(
            [sys.executable, '-m', f'benchmarks.{program}', *options],
            cwd=TOP, capture_output=True, text=True, timeout=PATIENCE, env={
                **os.environ, 'NOVA_SCHED_TEST_RABBIT_URL': conftest.broker(),
                'NOVA_SCHED_TEST_MYSQL_URL': database_url})
    finally:
        drop()

    assert found.returncode == 0, found.stderr
    assert len([line for line in found.stdout.splitlines()
                if line.startswith('|')]) >= 4
