"""Which picks count, at this moment and at those before it."""

from hypothesis import given
from hypothesis import strategies as st

from nova_sched.inventory import pending
from nova_sched.inventory.in_flight import InFlight


def pick(key, host='host1', nodename='node1'):
    return InFlight(key, host, nodename, None, None, None, 0.0)


class TestPendingByHost:
    def test_a_host_has_those_on_all_its_nodes(self):
        picks = pending.PendingByHost()
        picks.add(pick('a'))
        picks.add(pick('b', nodename='node2'))
        assert list(picks.on('host1')) == ['a', 'b']
        assert set(picks.places) == {('host1', 'node1'), ('host1', 'node2')}

    def test_a_host_without_any_is_forgotten(self):
        picks = pending.PendingByHost()
        picks.add(pick('a'))
        picks.add(pick('b'))
        picks.remove(pick('a'))
        assert set(picks.hosts) == {'host1'}
        picks.remove(pick('b'))
        assert not picks.hosts
        assert not picks.places
        assert len(picks) == 0


class TestPendingView:
    def test_does_not_see_what_changes_later(self):
        picks = pending.PendingByHost()
        picks.add(pick('a'))
        moment = picks.view()
        picks.remove(pick('a'))
        picks.add(pick('b'))
        assert list(moment) == [pick('a')]

    def test_leaves_out_what_it_is_told_to(self):
        picks = pending.PendingByHost()
        picks.add(pick('a'))
        picks.add(pick('b'))
        moment = picks.view(without=['a'])
        assert list(moment) == [pick('b')]
        assert pick('a') not in moment

    def test_many_share_what_they_hold(self):
        """A thousand moments of a thousand picks are no million entries."""
        picks, logs = pending.PendingByHost(), {}
        for number in range(10 * pending.CHANGES):
            picks.add(pick(number))
            moment = picks.view()
            logs[id(moment._log)] = moment._log
        entries = sum(len(log.start) + len(log.changes)
                      for log in logs.values())
        assert entries <= 4 * 10 * pending.CHANGES

    @given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 8))
    def test_is_what_counted_then(self, toggled, changes):
        """However often the log begins anew in between."""
        before, pending.CHANGES = pending.CHANGES, changes
        try:
            picks, now, moments = pending.PendingByHost(), {}, []
            for key in toggled:
                if key in now:
                    picks.remove(now.pop(key))
                else:
                    now[key] = pick(key, host=f'host{key % 2}')
                    picks.add(now[key])
                moments.append((picks.view(), set(now)))
            for moment, keys in moments:
                assert {each.key for each in moment} == keys
                assert len(moment) == len(keys)
        finally:
            pending.CHANGES = before
