"""Whatever one host's row holds, requests find the other hosts."""

import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_sched.db import tables
from nova_sched.plugins import loading as plugins
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables
from tests.builders.drivers import picks
from tests.builders.requests import a_request

#: All columns of numbers, but those that say which row it is.
NUMBERS = [column.name for column in tables.compute_nodes.columns
           if isinstance(column.type, (sa.Integer, sa.Float, sa.DateTime))
           and column.name not in ('id', 'deleted')]

#: What SQLite holds in any column, and with it all that MariaDB does.
HELD = (st.integers(-2 ** 63, 2 ** 63 - 1) | st.integers(-2 ** 31, 2 ** 31)
        | st.floats(allow_nan=False) | st.text() | st.binary()
        | st.sampled_from([0, -1, 1e300, 9e999, -9e999, 2 ** 62, 'inf',
                           'nan', '0x10', b'\xff']))

REQUESTS = [
    {}, {'hints': {'build_near_host_ip': '192.0.2.9'}},
    {'image_properties': {'hw_architecture': 'x86_64',
                          'img_hv_requested_version': '>=1.0'}},
    {'memory_mb': 0, 'vcpus': 0, 'root_gb': 0},
    {'extra_specs': {'capabilities:hypervisor_version': '>= 1'}},
    {'hints': {'query': '[">=", "$free_ram_mb", 1]'}}]

#: All but those that no ordinary host passes.
FILTERS = [cls.__name__ for cls in plugins.all_filters()
           if not cls.__name__.startswith(('Exact', 'Trusted'))]


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    """A database with the hosts a and b."""
    path = tmp_path_factory.mktemp('bad rows')
    made = CloudDatabase(make_tables(path), path)
    made.load(['a', 'b'])
    yield made
    made.close()


@pytest.fixture(scope='module')
def driver(cloud):
    made = cloud.driver(enabled_filters=FILTERS,
                        hypervisor_version_weight_multiplier=1.0)
    yield made
    made.stop()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_bad_value_in_a_row_leaves_the_other_hosts_placeable(
        cloud, driver, data):
    column, value = data.draw(st.sampled_from(NUMBERS)), data.draw(HELD)
    held = '?'
    if isinstance(value, str):
        # Also what is no text in UTF-8.
        value, held = value.encode('utf-8', 'replace'), 'CAST(? AS TEXT)'
        value += data.draw(st.sampled_from([b'', b'', b'\xc3\x28']))
    [(before,)] = cloud.rows(
        f"SELECT {column} FROM compute_nodes WHERE host = 'a'")
    cloud.execute(f'UPDATE compute_nodes SET {column} = {held} '
                  "WHERE host = 'a'", value)

    try:
        for request in REQUESTS:
            assert picks(driver, a_request(**request))[0] in ('a', 'b')
            assert picks(driver, a_request(
                ignore_hosts=['a'], **request)) == ['b']
    finally:
        cloud.execute(f'UPDATE compute_nodes SET {column} = ? '
                      "WHERE host = 'a'", before)


def test_all_values_that_are_drawn_are_of_numbers():
    assert {'vcpus', 'hypervisor_version', 'ram_allocation_ratio',
            'updated_at'} <= set(NUMBERS)
    assert math.isinf(9e999)
