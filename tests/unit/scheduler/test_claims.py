"""Claims of a driver: picks, refusals and releases."""

import json

import pytest

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import hosts_of
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request

FIRST, SECOND, THIRD = (clouds.a_uuid(number) for number in (1, 2, 3))


class LastCandidateFilter(filters.BaseHostFilter):
    """Leaves one allocation candidate of each host, and none of d."""

    def host_passes(self, host_state, spec_obj):
        keep = -1 if host_state.host != 'd' else len(
            host_state.allocation_candidates)
        host_state.allocation_candidates = (
            host_state.allocation_candidates[keep:])
        return True


class BreakingFilter(filters.BaseHostFilter):
    """Fails at the third instance."""

    error = RuntimeError('broken plug-in')

    def host_passes(self, host_state, spec_obj):
        if spec_obj.instance_uuid == THIRD:
            raise self.error
        return True


class ExitingFilter(BreakingFilter):
    error = SystemExit()


class OddLimitFilter(filters.BaseHostFilter):
    """Sets a limit that no Selection can have."""

    def host_passes(self, host_state, spec_obj):
        host_state.limits['memory_mb'] = 'plenty'
        return True


def a_scheduler(*enabled, **options):
    """Hosts a to d, with ever less memory; providers of the same names."""
    return MemoryScheduler(
        *(a_host(name, uuid=name, free_ram_mb=4000 - 100 * number)
          for number, name in enumerate('abcd')),
        weight_classes=['nova.scheduler.weights.ram.RAMWeigher'],
        available_filters=['nova.scheduler.filters.all_filters', *(
            f'{cls.__module__}.{cls.__name__}' for cls in enabled)],
        enabled_filters=[cls.__name__ for cls in enabled], **options)


def ask(scheduler, placement, uuids=(FIRST,), **kwargs):
    spec = requests.a_request(num_instances=len(uuids or 'x'))
    return select(scheduler, spec, list(uuids) if uuids else None,
                  offer=placement.offer(), **kwargs)


class TestLateAnswer:
    LATE = '; Placement did not respond in time'

    @staticmethod
    def refused(placement, uuids):
        """The NoValidHost, and the reason on record."""
        record = decision.Decision()
        with pytest.raises(exception.NoValidHost) as refused:
            ask(a_scheduler(), placement, uuids, record=record)
        return refused.value, record.reason

    @pytest.mark.parametrize('uuids', [[FIRST], [FIRST, SECOND, THIRD]])
    def test_is_part_of_the_reason_but_in_novas_text(self, uuids):
        """Also for the last of several instances."""
        error, reason = self.refused(
            Placement(['a', 'b'], late=uuids[-1:]), uuids)

        assert {text: str(error.for_caller(text)).endswith(self.LATE)
                for text in ('full', 'counts', 'filters', 'nova')} == {
                    'full': True, 'counts': True, 'filters': True,
                    'nova': False}
        assert reason.endswith(self.LATE)

    def test_differs_from_a_refused_claim(self):
        error, reason = self.refused(Placement(['a'], refuses=['a']), [FIRST])

        assert self.LATE not in str(error) + reason

    def test_is_followed_by_the_next_host(self):
        assert hosts_of(ask(a_scheduler(), Placement(
            ['a', 'b'], late=['a']))) == [['b']]


class TestClaim:

    def test_leaves_refusing_hosts_as_alternates(self):
        assert hosts_of(ask(a_scheduler(), Placement('abc', refuses='a'),
                            return_alternates=True)) == [['b', 'a', 'c']]

    def test_skips_hosts_without_candidates(self):
        offers = {'a': [], 'b': [an_allocation_request('b')]}
        assert hosts_of(ask(a_scheduler(), Placement(offers),
                            return_alternates=True)) == [['b']]

    def test_uses_the_first_candidate_after_the_filters(self):
        two = [an_allocation_request('a', group=['one']),
               an_allocation_request('a', group=['two'])]
        [[selection]] = ask(a_scheduler(LastCandidateFilter),
                            Placement({'a': two}))
        assert json.loads(selection.allocation_request) == two[1]

    def test_skips_hosts_without_candidates_after_the_filters(self):
        with pytest.raises(exception.NoValidHost):
            ask(a_scheduler(LastCandidateFilter), Placement('d'))

    def test_is_counted_among_the_reasons_when_all_are_refused(self):
        with pytest.raises(exception.NoValidHost) as refused:
            ask(a_scheduler(), Placement('abc', refuses='abc'))
        assert refused.value.kwargs['reason'] == (
            'There are not enough hosts available. 0 of 4 hosts: 3 claims '
            'refused, 1 allocation candidates')


@pytest.mark.parametrize(('cls', 'error', 'silent', 'released'), [
    (BreakingFilter, RuntimeError, [], [FIRST]),
    (ExitingFilter, SystemExit, [], [FIRST]),
    # The answer cannot be made.
    (OddLimitFilter, ValueError, [], [FIRST]),
    # A claim is not answered.
    (None, TimeoutError, [SECOND], [SECOND, FIRST])])
def test_a_failure_releases_the_claims(cls, error, silent, released, caplog):
    """Also after a failed release; the first error is raised."""
    uuids = [FIRST] if cls is OddLimitFilter else [FIRST, SECOND, THIRD]
    placement = Placement('ab', silent=silent, keeps=[SECOND] * (
        error is RuntimeError))

    with pytest.raises(error):
        ask(a_scheduler(*([cls] if cls else [])), placement, uuids)

    assert [uuid for uuid in placement.released
            if uuid in released] == released
    assert (f'The allocations of instance {SECOND}' in caplog.text) == (
        error is RuntimeError)
