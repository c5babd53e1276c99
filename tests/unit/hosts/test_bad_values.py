"""Invalid values in each column of a host's row."""

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


@pytest.fixture(autouse=True)
def forgotten_warnings():
    values._warn.cache_clear()


def lines(caplog):
    """The lines about values; other threads log, too."""
    return [record.getMessage() for record in caplog.records
            if record.name == values.LOG.logger.name]


@pytest.mark.parametrize('value', [*BAD, None])
@pytest.mark.parametrize('column', NEEDED)
def test_a_row_without_a_needed_number_is_no_host(column, value):
    """Only the free disk may be null, before the first report."""
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
def test_another_invalid_number_counts_as_absent(
        column, name, absent, value, caplog):
    """One line names the host, the column and the value."""
    made = [record(**{column: value}) for _ in range(2)]

    assert [one[name] for one in made] == [absent, absent]
    [line] = lines(caplog)
    assert line.startswith(
        f'Compute node n of host h has {column} = {value!r}')


@pytest.mark.parametrize('value', [
    'text', b'\xff', math.inf, -math.inf, math.nan, -0.5, 1e300])
@pytest.mark.parametrize('resource', RATIOS)
def test_an_invalid_ratio_is_that_of_the_configuration(
        resource, value, caplog):
    column = f'{resource}_allocation_ratio'

    for _ in range(2):
        assert record(**{column: value})[column] == RATIOS[resource]
    assert len(lines(caplog)) == 1
    assert f'of host h has {column} = {value!r}'[:60] in caplog.text


@pytest.mark.parametrize('column', [
    'hypervisor_type', 'host_ip', 'cpu_info', 'supported_instances'])
def test_bytes_count_as_absent_text(column, caplog):
    assert record(**{column: b'abc'})[column] is None
    assert f"has {column} = b'abc'" in caplog.text


@pytest.mark.parametrize('column', ['uuid', 'host', 'hypervisor_hostname'])
def test_bytes_for_a_name_make_no_host(column):
    with pytest.raises(values.UnreadableError, match=f"{column} = b'abc'"):
        record(**{column: b'abc'})


@pytest.mark.parametrize('value', [0, -1, 2 ** 31 - 1, 4.0])
def test_integers_of_32_bits_are_valid(value, caplog):
    assert record(vcpus=value)['vcpus_total'] == value
    assert not lines(caplog)


@pytest.mark.parametrize('column', NEEDED)
def test_a_row_that_is_no_host_is_logged_once(cloud, column, caplog):
    """Not with each of its reports."""
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
