"""Values that no compute service writes, in each column of one host's row."""

import math

import pytest

from nova_sched.hosts import values
from tests.builders.drivers import picks
from tests.builders.requests import a_request
from tests.unit.hosts.test_rows import record

BAD = ('text', b'\xff', math.inf, -math.inf, 1.5, 2 ** 31, -2 ** 40, 10 ** 30)
NEEDED = ('vcpus', 'memory_mb', 'local_gb', 'vcpus_used', 'local_gb_used',
          'free_disk_gb')
RATIOS = {'cpu': 16.0, 'ram': 1.5, 'disk': 1.0}

X86 = {'hw_architecture': 'x86_64'}
#: A plain one, one for a version, one for an address.
REQUESTS = (
    {}, {'image_properties': X86 | {'img_hv_requested_version': '>=1.0'}},
    {'hints': {'build_near_host_ip': '192.0.2.9'}})


@pytest.fixture(autouse=True)
def nothing_is_told_yet():
    values._warn.cache_clear()


def told(caplog):
    """What is logged about values; other threads log, too."""
    return [record.getMessage() for record in caplog.records
            if record.name == values.LOG.logger.name]


@pytest.mark.parametrize('value', [*BAD, None])
@pytest.mark.parametrize('column', NEEDED)
def test_a_row_is_none_without_a_number_that_all_need(column, value):
    """Only the free disk may be missing, before the first report."""
    if (column, value) == ('free_disk_gb', None):
        assert record(free_disk_gb=None)['uuid'] is None
        return
    with pytest.raises(values.UnreadableError) as failure:
        record(**{column: value})

    assert str(failure.value).startswith(f'{column} = {value!r}')


@pytest.mark.parametrize('value', BAD)
@pytest.mark.parametrize('column, name, absent', [
    ('free_ram_mb', 'free_ram_mb', 0),
    ('disk_available_least', 'free_disk_mb', 93 * 1024),
    ('hypervisor_version', 'hypervisor_version', None)])
def test_any_other_number_that_is_none_counts_as_absent(
        column, name, absent, value, caplog):
    """With one line for the host, the column and the value."""
    made = [record(**{column: value}) for _ in range(2)]

    assert [one[name] for one in made] == [absent, absent]
    [line] = told(caplog)
    assert line.startswith(
        f'Compute node n of host h has {column} = {value!r}')


@pytest.mark.parametrize('value', [
    'text', b'\xff', math.inf, -math.inf, math.nan, -0.5, 1e300])
@pytest.mark.parametrize('resource', RATIOS)
def test_a_ratio_that_cannot_be_is_that_of_the_configuration(
        resource, value, caplog):
    column = f'{resource}_allocation_ratio'

    for _ in range(2):
        assert record(**{column: value})[column] == RATIOS[resource]
    assert len(told(caplog)) == 1
    assert f'of host h has {column} = {value!r}'[:60] in caplog.text


@pytest.mark.parametrize('column', [
    'hypervisor_type', 'host_ip', 'cpu_info', 'supported_instances'])
def test_bytes_are_no_text(column, caplog):
    assert record(**{column: b'abc'})[column] is None
    assert f"has {column} = b'abc'" in caplog.text


@pytest.mark.parametrize('column', ['uuid', 'host', 'hypervisor_hostname'])
def test_bytes_are_no_name(column):
    with pytest.raises(values.UnreadableError, match=f"{column} = b'abc'"):
        record(**{column: b'abc'})


@pytest.mark.parametrize('value', [0, -1, 2 ** 31 - 1, 4.0])
def test_a_whole_number_of_32_bits_is_one(value, caplog):
    assert record(vcpus=value)['vcpus_total'] == value
    assert not told(caplog)


@pytest.mark.parametrize('value', [
    'text', b'\xff', 9e999, -9e999, 1e300, 1.5, 2 ** 62])
@pytest.mark.parametrize('column', [
    *NEEDED, 'free_ram_mb', 'disk_available_least', 'hypervisor_version',
    'host_ip', 'cpu_allocation_ratio', 'ram_allocation_ratio',
    'disk_allocation_ratio', 'hypervisor_hostname', 'uuid'])
def test_a_bad_value_costs_its_host_alone(cloud, column, value):
    cloud.load(['a', 'b'])
    cloud.execute(f"UPDATE compute_nodes SET {column} = ? WHERE host = 'a'",
                  value)
    driver = cloud.driver(enabled_filters=[
        'RamFilter', 'DiskFilter', 'CoreFilter', 'ImagePropertiesFilter',
        'SimpleCIDRAffinityFilter'])

    for request in REQUESTS:
        for ignored in ([], ['a']):
            [host] = picks(driver, a_request(ignore_hosts=ignored, **request))

            assert host in {'a', 'b'} - {*ignored}


@pytest.mark.parametrize('column', NEEDED)
def test_a_row_that_is_no_host_is_told_of_once(cloud, column, caplog):
    """Not with each report of it."""
    values.warn_left_out.cache_clear()
    cloud.load(['a', 'b'])
    cloud.execute(f"UPDATE compute_nodes SET {column} = 'x' WHERE host = 'a'")
    driver = cloud.driver()

    for number in range(3):
        cloud.execute('UPDATE compute_nodes SET disk_available_least = ?',
                      number + 400)
        assert picks(driver, a_request()) == ['b']

    assert [line for line in caplog.messages if 'left out' in line] == [
        'Compute node a of host a is left out: its row cannot be read: '
        f"{column} = 'x', which is no whole number of 32 bits"]
