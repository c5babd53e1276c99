"""Claims under way count in the mirror of each worker."""

import pytest

from nova_sched.inventory import shared_picks
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.inventory.state import SchedulingState
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.placement.mirror.providers import Provider
from nova_sched.placement.mirror.providers import Providers
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.requests import a_request

DEMAND, LIFETIME = a_request(memory_mb=1).demand(), 100


class Worker:
    """A worker that places instances on host a with provider p.

    It has four VCPUs.
    """

    def __init__(self, shared):
        self.now = 1000.0
        self.state = SchedulingState(LIFETIME, lambda: self.now,
                                     monotonic=lambda: self.now)
        self.state.sharing = shared.sharing()
        self.state.rebase(table(a_host('a', uuid='p')), {})
        self.providers = Providers(lambda: self.now)
        self.state.count_claims(self.providers)
        self.read()

    def read(self, used=0, generation=1, since=None):
        """Read the usage into the mirror; return the skipped uuids."""
        return self.providers.put([Provider(
            'p', generation, None, {'VCPU': Amounts(4, used)})],
            self.now if since is None else since)

    def assume(self, key, vcpus=1, group=None):
        self.now += 0.1
        view = self.state.view([key])
        pick = PlacedInstance(key, 'a', 'a', DEMAND, None, group, self.now,
                              {'p': {'VCPU': vcpus}})
        snapshot = view.table.snapshot(None)
        assert self.state.assume(view, [pick], snapshot, force=True)
        return pick

    @property
    def free(self):
        """VCPUs that a request may still take."""
        self.now += 0.1
        room = self.state.view(()).room
        return next(number for number in range(4, -1, -1)
                    if room.take({'p': {'VCPU': number}}))

    @property
    def is_current(self):
        """Return whether the mirror has generation 2."""
        self.state.catch_up()
        return self.providers.differing({'p': 2}) == []


@pytest.fixture
def workers():
    shared = shared_picks.SharedPicks(2)
    return [Worker(shared), Worker(shared)]


@pytest.fixture
def one(workers):
    return workers[0]


@pytest.fixture
def other(workers):
    return workers[1]


def test_claim_counts_from_pick(one, other):
    one.assume('i', vcpus=3)

    assert (one.free, other.free) == (1, 1)


def test_granted_claim_counts_once(one, other):
    one.state.claimed([one.assume('i', vcpus=3)], {'p': 1})

    assert (one.free, other.free) == (1, 1)
    assert one.is_current and other.is_current


def test_refused_claim_frees_room(one, other):
    one.state.forget([one.assume('i', vcpus=3)])

    assert (one.free, other.free) == (4, 4)


def test_repeated_claim_counts_once(one, other):
    one.assume('i', vcpus=3)
    other.now += 1
    other.assume('i', vcpus=1)

    assert (one.free, other.free) == (3, 3)


def test_granted_claim_of_group_member_counts_once(one, other):
    pick = one.assume('i', vcpus=3, group='g')
    one.state.claimed([pick], {'p': 1})
    one.read(used=3, generation=2)
    one.now += LIFETIME + 1
    one.state.rebase(one.state.as_read, {})

    assert one.free == 1


def test_unfinished_claim_expires(one, other):
    """Its worker may have been killed."""
    one.assume('i', vcpus=3)
    assert other.free == 1
    other.now += LIFETIME + 1

    other.state.uuids_to_look_up(set())
    other.state.rebase(other.state.as_read, {})

    assert other.free == 4


def test_read_during_claim_is_skipped(one, other):
    """Also a claim by another worker after the read began."""
    since = other.now
    one.state.claimed([one.assume('i', vcpus=3)], {'p': 1})
    other.now += 1

    assert other.read(used=3, generation=2, since=since) == ['p']
    assert other.free == 1
    other.now += 1
    assert other.read(used=3, generation=2) == []
    assert other.free == 1


def test_reload_keeps_claim(one, other):
    pick = one.assume('i', vcpus=3)
    fresh = Worker(shared_picks.SharedPicks(1))

    fresh.state.take_over(one.state)

    assert fresh.free == 1
    one.state.forget([pick])
    assert fresh.free == 4
