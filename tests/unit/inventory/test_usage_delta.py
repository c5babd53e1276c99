"""An entry ends when its host reports the instance."""

import pytest

from nova_sched.inventory import ledger
from tests.unit.inventory.test_state import Cloud


@pytest.fixture
def cloud():
    """Hosts a and b of 4000 MB; instances take 1000."""
    return Cloud()


@pytest.mark.parametrize(('keys', 'taken'), [
    ('k', 1000), ('k', 1100), ('klm', 3000)])
def test_reported_instance_counts_no_more(cloud, keys, taken):
    """A hypervisor may use additional memory for each instance."""
    cloud.assume(*keys)

    cloud.rebase(dict.fromkeys(keys, 'a'), a=taken)

    assert cloud.free() == [4000 - taken, 4000]
    assert cloud.state.pending() == {}


def test_shown_instance_counts_until_host_reports_it(cloud):
    cloud.assume('k')
    cloud.rebase({'k': 'a'})
    assert cloud.free() == [3000, 4000]

    cloud.rebase({'k': 'a'}, a=1000)

    assert cloud.free() == [3000, 4000]
    assert cloud.state.pending() == {}


@pytest.mark.parametrize(('seconds', 'free'), [
    (ledger.GRACE / 2, 3000), (ledger.GRACE, 4000)])
@pytest.mark.parametrize('changed', ['', 'a'])
def test_grace_period_ends_entry(cloud, seconds, free, changed):
    """The earlier report may include it, or another instance has left."""
    cloud.assume('k')
    cloud.rebase({'k': 'a'}, changed=changed)
    cloud.now += seconds

    cloud.rebase({'k': 'a'})

    assert cloud.free() == [free, 4000]


@pytest.mark.parametrize(('first', 'second'), ['kl', 'lk'])
def test_report_is_matched_to_shown_instance(cloud, first, second):
    """The compute writes an instance's host before its usage."""
    cloud.assume('k')
    cloud.assume('l')
    cloud.rebase({first: 'a'})

    cloud.rebase({'k': 'a', 'l': 'a'}, a=1000)

    assert cloud.free() == [2000, 4000]
    assert list(cloud.state.pending()) == [second]
    cloud.rebase({second: 'a'}, a=2000)
    assert cloud.free() == [2000, 4000]
    assert cloud.state.pending() == {}


def test_report_is_matched_to_oldest_pick(cloud):
    cloud.assume('k')
    cloud.now += 1
    cloud.assume('l')

    cloud.rebase({'l': 'a', 'k': 'a'}, a=1000)

    assert list(cloud.state.pending()) == ['l']


def test_returning_host_needs_grace_period(cloud):
    """Its usage from before is unknown."""
    cloud.assume('k')
    cloud.rebase(names='b')

    cloud.rebase({'k': 'a'})

    assert cloud.free() == [3000, 4000]
