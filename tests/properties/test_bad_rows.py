"""A bad row of one host does not keep requests from other hosts."""

import math

from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
import pytest
import sqlalchemy as sa

from nova_sched.db import tables
from nova_sched.plugins import loading as plugins
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables
from tests.builders.drivers import picks
from tests.builders.examples import examples
from tests.builders.requests import a_request

#: All numeric columns except the row's identity.
NUMBERS = [column for table in (tables.compute_nodes, tables.services)
           for column in table.columns
           if isinstance(column.type, (sa.Integer, sa.Float, sa.DateTime,
                                       sa.Boolean))
           and column.name not in ('id', 'deleted')]

#: Texts that compute services report, in JSON.
REPORTS = [tables.compute_nodes.c[name] for name in (
    'cpu_info', 'supported_instances', 'stats', 'metrics', 'pci_stats',
    'numa_topology', 'host_ip')]
BIG = '9' * 400
#: JSON values of a wrong type or of an extreme size.
ODD = ['null', 'true', 'NaN', '-1', '1e400', BIG, '9' * 5000, '"x"', '[]',
       '{}', '[[]]', '[{}]', '[' * 100_000 + ']' * 100_000]
#: Reports with such a value in place of %s.
MEANT = [
    '%s', '[%s]', '[["x86_64", %s, "hvm"]]', '{"maxphysaddr": {"bits": %s}}',
    '{"topology": {"cores": %s}, "features": %s}',
    '{"io_workload": %s, "num_instances": %s, "failed_builds": %s}',
    '[{"name": "cpu.frequency", "value": %s, "timestamp": %s}]',
    '[{"vendor_id": "8086", "product_id": %s, "count": %s, "numa_node": %s}]',
    '{"cells": [{"id": %s, "cpuset": [0, 1], "memory": 512}]}',
    '{"cells": [{"id": 0, "cpuset": [%s], "memory": %s, "cpu_usage": %s}]}']

#: Values that SQLite stores in any column; they include MariaDB's.
HELD = (st.integers(-2 ** 63, 2 ** 63 - 1) | st.integers(-2 ** 31, 2 ** 31)
        | st.floats(allow_nan=False) | st.text() | st.binary()
        | st.sampled_from([0, -1, 1e300, 9e999, -9e999, 2 ** 62, 'inf',
                           'nan', '0x10', b'\xff']))

REQUESTS = [
    {}, {'hints': {'build_near_host_ip': '192.0.2.9'}},
    {'image_properties': {'hw_architecture': 'x86_64',
                          'img_hv_requested_version': '>=1.0'}},
    {'image_properties': {'hw_architecture': 'x86_64',
                          'hw_maxphysaddr_bits': 40}},
    {'memory_mb': 0, 'vcpus': 0, 'root_gb': 0},
    {'extra_specs': {'capabilities:hypervisor_version': '>= 1'}},
    {'hints': {'query': '[">=", "$free_ram_mb", 1]'}}]

#: All filters except those that reject ordinary hosts.
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
                        DEFAULT__service_down_time=86400,
                        hypervisor_version_weight_multiplier=1.0)
    yield made
    made.stop()


@examples(70)
@given(data=st.data())
def test_bad_value_in_a_row_keeps_no_request_from_other_hosts(
        cloud, driver, data):
    column, value = data.draw(st.sampled_from(NUMBERS)), data.draw(HELD)
    if isinstance(value, str):
        # Including texts that are not valid UTF-8.
        value = value.encode('utf-8', 'replace')
        value += data.draw(st.sampled_from([b'', b'', b'\xc3\x28']))
        check_others(cloud, driver, column, value, 'CAST(? AS TEXT)')
    else:
        check_others(cloud, driver, column, value)


def check_others(cloud, driver, column, value, held='?'):
    """Check that all requests find a host with this value in host a's row."""
    table, name = column.table.name, column.name
    [(before,)] = cloud.rows(f"SELECT {name} FROM {table} WHERE host = 'a'")
    cloud.execute(f"UPDATE {table} SET {name} = {held} WHERE host = 'a'",
                  value)
    try:
        for request in REQUESTS:
            assert picks(driver, a_request(**request))[0] in ('a', 'b')
            assert picks(driver, a_request(
                ignore_hosts=['a'], **request)) == ['b']
    finally:
        cloud.execute(f"UPDATE {table} SET {name} = ? WHERE host = 'a'",
                      before)


@examples(40)
@given(column=st.sampled_from(REPORTS), meant=st.sampled_from(MEANT),
       odd=st.sampled_from(ODD))
@example(column=tables.compute_nodes.c.cpu_info, meant=MEANT[3], odd='1e400')
def test_malformed_report_keeps_no_request_from_other_hosts(
        cloud, driver, column, meant, odd):
    check_others(cloud, driver, column, meant.replace('%s', odd))


@pytest.mark.parametrize('version', ['x', 9e999, 1e300, b'\xff', '', -1])
def test_bad_service_version_keeps_no_request_from_other_hosts(
        cloud, driver, version):
    check_others(cloud, driver, tables.services.c.version, version)


def test_drawn_columns_include_each_numeric_kind():
    assert {'vcpus', 'hypervisor_version', 'ram_allocation_ratio',
            'updated_at', 'version', 'forced_down'} <= {
                column.name for column in NUMBERS}
    assert math.isinf(9e999)
