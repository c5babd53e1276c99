"""Deciding among what Placement offers, and claiming it."""

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
    """Leaves the last allocation candidate of each host but d, none of d."""

    def host_passes(self, host_state, spec_obj):
        keep = -1 if host_state.host != 'd' else len(
            host_state.allocation_candidates)
        host_state.allocation_candidates = (
            host_state.allocation_candidates[keep:])
        return True


class BreakingFilter(filters.BaseHostFilter):
    """Fails as soon as an instance was placed."""

    def host_passes(self, host_state, spec_obj):
        if host_state.num_instances:
            raise RuntimeError('broken plug-in')
        return True


class ThirdBreakingFilter(filters.BaseHostFilter):
    """Fails at the third instance."""

    def host_passes(self, host_state, spec_obj):
        if spec_obj.instance_uuid == THIRD:
            raise RuntimeError('broken plug-in')
        return True


class OddLimitFilter(filters.BaseHostFilter):
    """Leaves a limit that no Selection can carry."""

    def host_passes(self, host_state, spec_obj):
        host_state.limits['memory_mb'] = 'plenty'
        return True


@pytest.fixture
def scheduler():
    return a_scheduler()


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


class TestAClaimThatIsNotAnsweredInTime:
    LATE = '; Placement did not answer in time'

    @staticmethod
    def refused(placement, uuids):
        """The NoValidHost, and the reason on record."""
        record = decision.Decision()
        with pytest.raises(exception.NoValidHost) as refused:
            ask(a_scheduler(), placement, uuids, record=record)
        return refused.value, record.reason

    @pytest.mark.parametrize('uuids', [[FIRST], [FIRST, SECOND, THIRD]])
    def test_is_a_refusal_that_says_so_but_in_nova_s_words(self, uuids):
        """Also where it is that of the last of several instances."""
        error, reason = self.refused(
            Placement(['a', 'b'], late=uuids[-1:]), uuids)

        assert {text: str(error.for_caller(text)).endswith(self.LATE)
                for text in ('full', 'counts', 'filters', 'nova')} == {
                    'full': True, 'counts': True, 'filters': True,
                    'nova': False}
        assert reason.endswith(self.LATE)

    def test_is_none_that_was_refused(self):
        error, reason = self.refused(Placement(['a'], refuses=['a']), [FIRST])

        assert self.LATE not in str(error) + reason

    def test_costs_nothing_where_another_host_is_claimed(self):
        assert hosts_of(ask(a_scheduler(), Placement(
            ['a', 'b'], late=['a']))) == [['b']]


class TestOfferedHosts:
    def test_are_the_only_ones_looked_at(self, scheduler):
        assert hosts_of(ask(scheduler, Placement('cb'),
                            return_alternates=True)) == [['b', 'c']]

    def test_are_named_among_the_reasons(self, scheduler):
        with pytest.raises(exception.NoValidHost,
                           match='4 allocation candidates'):
            ask(scheduler, Placement(['elsewhere']))


class TestClaim:
    def test_is_of_the_best_host(self, scheduler):
        placement = Placement('abcd')
        ask(scheduler, placement)
        assert placement.claimed == [(FIRST, 'a')]

    def test_is_told_in_the_answer(self, scheduler):
        [[selection]] = ask(scheduler, Placement('b'))
        assert json.loads(selection.allocation_request) == (
            an_allocation_request('b'))
        assert selection.allocation_request_version == '1.36'

    def test_goes_on_to_the_next_host_when_refused(self, scheduler):
        placement = Placement('abcd', refuses='ab')
        assert hosts_of(ask(scheduler, placement)) == [['c']]
        assert placement.claimed == [(FIRST, 'c')]
        assert scheduler.decision.picks[0].host == 'c'

    def test_leaves_refusing_hosts_as_alternates(self, scheduler):
        assert hosts_of(ask(scheduler, Placement('abc', refuses='a'),
                            return_alternates=True)) == [['b', 'a', 'c']]

    def test_is_made_for_each_instance(self, scheduler):
        placement = Placement('ab')
        ask(scheduler, placement, (FIRST, SECOND))
        assert [uuid for uuid, _ in placement.claimed] == [FIRST, SECOND]

    def test_is_not_made_without_instance_uuids(self, scheduler):
        placement = Placement('b')
        [[selection]] = ask(scheduler, placement, None)
        assert selection.service_host == 'b'
        assert selection.allocation_request == 'null'
        assert placement.claimed == []

    def test_is_not_made_from_a_host_of_which_nothing_is_offered(self):
        offers = {'a': [], 'b': [an_allocation_request('b')]}
        assert hosts_of(ask(a_scheduler(), Placement(offers),
                            return_alternates=True)) == [['b']]

    def test_is_of_the_first_candidate_that_filters_left(self):
        two = [an_allocation_request('a', group=['one']),
               an_allocation_request('a', group=['two'])]
        [[selection]] = ask(a_scheduler(LastCandidateFilter),
                            Placement({'a': two}))
        assert json.loads(selection.allocation_request) == two[1]

    def test_skips_hosts_whose_candidates_were_filtered_away(self):
        with pytest.raises(exception.NoValidHost):
            ask(a_scheduler(LastCandidateFilter), Placement('d'))

    def test_is_counted_among_the_reasons_when_all_are_refused(self):
        with pytest.raises(exception.NoValidHost) as refused:
            ask(a_scheduler(), Placement('abc', refuses='abc'))
        assert refused.value.kwargs['reason'] == (
            'There are not enough hosts available. 0 of 4 hosts: 3 claims '
            'refused, 1 allocation candidates')


class TestRelease:
    def test_happens_when_too_few_hosts_can_be_claimed(self):
        placement = Placement('a')
        scheduler = MemoryScheduler(
            a_host('a', uuid='a', free_ram_mb=600, total_usable_ram_mb=600,
                   ram_allocation_ratio=1.0), enabled_filters=['RamFilter'])
        with pytest.raises(exception.NoValidHost):
            ask(scheduler, placement, (FIRST, SECOND))
        assert placement.released == [FIRST]

    def test_happens_when_a_plugin_fails(self):
        placement = Placement('ab')
        with pytest.raises(RuntimeError):
            ask(a_scheduler(BreakingFilter), placement, (FIRST, SECOND))
        assert placement.released == [FIRST]

    def test_happens_when_the_answer_cannot_be_made(self):
        placement = Placement('ab')
        with pytest.raises(ValueError, match='plenty'):
            ask(a_scheduler(OddLimitFilter), placement)
        assert placement.released == [FIRST]

    def test_goes_on_after_one_that_fails(self, caplog):
        """And the caller learns why the request failed, not this."""
        placement = Placement('ab', keeps=[SECOND])
        with pytest.raises(RuntimeError, match='broken plug-in'):
            ask(a_scheduler(ThirdBreakingFilter), placement,
                (FIRST, SECOND, THIRD))
        assert placement.released == [FIRST]
        assert f'The allocations of instance {SECOND}' in caplog.text

    def test_happens_to_a_claim_that_was_not_answered(self):
        placement = Placement('ab', silent=[SECOND])
        with pytest.raises(TimeoutError):
            ask(a_scheduler(), placement, (FIRST, SECOND))
        assert placement.released == [SECOND, FIRST]

    def test_does_not_happen_after_an_answer(self, scheduler):
        placement = Placement('ab')
        ask(scheduler, placement)
        assert placement.released == []


def test_without_placement_a_host_has_no_candidates(scheduler):
    [[selection]] = select(scheduler, requests.a_request(), [FIRST])
    assert selection.allocation_request == 'null'
    assert selection.allocation_request_version is None
