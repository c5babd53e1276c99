"""Every rule judges every host."""


import numpy as np
import pytest

from nova_sched.explain import matrix as matrices
from nova_sched.scheduler import filters
from nova_sched.scheduler.ranking import Ranker
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.placement import Placement
from tests.builders.placement import an_allocation_request
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.unit.explain.builders import a_matrix
from tests.unit.explain.builders import a_ranker
from tests.unit.explain.builders import full


class OddFilter(filters.BaseHostFilter):
    """Rejects every host with a final vowel."""

    def host_passes(self, host_state, spec_obj):
        return host_state.host[-1] not in 'aeiou'


class StoppingFilter(filters.BaseHostFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return None


class FaultyFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        raise ZeroDivisionError('of the plug-in')


class DrainingFilter(filters.BaseHostFilter):
    """Leaves nothing on a host for the filters after it."""

    def host_passes(self, host_state, spec_obj):
        host_state.free_ram_mb = -1_000_000
        return True


def rejecting(found):
    """{rule: names of the hosts it rejects}"""
    return {name: [found.name(row) for row in np.flatnonzero(rows)]
            for name, rows in zip(found.rules, found.rejected, strict=True)}


CLOUD = [full('a'), full('b', service_up=False), a_host('c'),
         a_host('d', service_disabled=True), full('e')]


class TestFilters:
    def test_each_judges_hosts_that_another_rejects(self):
        found = a_matrix(*CLOUD, ranker=a_ranker('ComputeFilter', 'RamFilter'))

        assert rejecting(found) == {'ComputeFilter': ['b', 'd'],
                                    'RamFilter': ['a', 'b', 'e']}

    def test_one_that_is_enabled_twice_has_one_row(self):
        found = a_matrix(*CLOUD, ranker=a_ranker('RamFilter', 'RamFilter'))

        assert found.by_rule() == [('RamFilter', 3, 3, 'ram', {'ram': 3})]

    def test_one_of_a_plug_in_judges_host_by_host(self):
        found = a_matrix(*CLOUD, ranker=a_ranker('RamFilter', OddFilter()))

        assert rejecting(found) == {'RamFilter': ['a', 'b', 'e'],
                                    'OddFilter': ['a', 'e']}

    def test_one_that_ends_the_run_rejects_all(self):
        found = a_matrix(*CLOUD, ranker=a_ranker(StoppingFilter()))

        assert len(rejecting(found)['StoppingFilter']) == len(CLOUD)

    def test_one_that_fails_is_named_and_others_run(self):
        found = a_matrix(*CLOUD, ranker=a_ranker(FaultyFilter(),
                                                 'ComputeFilter'))

        assert rejecting(found) == {'ComputeFilter': ['b', 'd']}
        assert found.errors == {'FaultyFilter': 'of the plug-in'}
        assert 'FaultyFilter failed: of the plug-in' in found.sentences()

    def test_most_pass_all_hosts_on_a_rebuild(self):
        found = a_matrix(
            *CLOUD, ranker=a_ranker('ComputeFilter', OddFilter()),
            hints={'_nova_check_type': ['rebuild']})

        assert len(found.fitting) == len(CLOUD)

    @pytest.mark.parametrize(('level', 'not_asked'), [
        ('trusted', ('TrustedFilter',)), (None, ())])
    def test_one_that_queries_a_service_is_left_out_if_needed(
            self, level, not_asked):
        found = a_matrix(
            a_host(), ranker=a_ranker('TrustedFilter'),
            extra_specs={'trust:trusted_host': level} if level else {})

        assert (found.not_asked, len(found.fitting)) == (not_asked, 1)

    @pytest.mark.parametrize('ask_others', [False, True])
    def test_one_of_a_plug_in_that_queries_a_service_is_optional(
            self, ask_others):
        class AskingFilter(OddFilter):
            asks_others = True

        found = a_matrix(a_host('a'), ranker=a_ranker(AskingFilter()),
                         asked={'ask_others': ask_others})

        assert found.not_asked == (() if ask_others else ('AskingFilter',))
        assert len(found.fitting) == (0 if ask_others else 1)

    def test_one_that_changes_hosts_affects_no_other_row(self):
        """A host that does not pass all of them in turn does not fit."""
        found = a_matrix(a_host('b'), full('c'), ranker=a_ranker(
            DrainingFilter(), 'RamFilter'))

        assert rejecting(found) == {
            'DrainingFilter': [], 'RamFilter': ['c'],
            'filters together': ['b']}

    def test_nothing_is_changed_for_the_caller(self):
        block = hosts(a_host())
        block.snapshot.consume(0, a_request(), 0.0)
        before = block.snapshot.value('free_ram_mb', 0)

        matrices.judge(block.snapshot, a_request(), a_ranker(DrainingFilter()))

        assert block.snapshot.value('free_ram_mb', 0) == before


class TestStages:
    @pytest.mark.parametrize(('named', 'rejected'), [
        ({'ignore_hosts': ['A']}, {'ignore_hosts': ['a']}),
        ({'requested_destination': a_destination(host='a')},
         {'requested destination': ['b', 'c']}),
        ({'force_hosts': ['a', 'b']}, {'force_hosts': ['c']}),
        ({'force_nodes': ['c']}, {'force_nodes': ['a', 'b']})])
    def test_hosts_that_a_request_names_have_a_row(self, named, rejected):
        found = a_matrix(a_host('a'), a_host('b'), a_host('c'),
                         ranker=a_ranker('RamFilter'), **named)

        assert rejecting(found).items() >= rejected.items()

    def test_no_filter_runs_for_forced_hosts(self):
        found = a_matrix(full('a'), force_hosts=['a'])

        assert found.is_forced
        assert found.rules == ('force_hosts',)
        assert ('the request forces hosts, so no filter runs'
                in found.sentences())

    def test_filters_that_want_other_candidates_reject_together(self):
        class Wants(filters.BaseHostFilter, filters.CandidateFilterMixin):
            def host_passes(self, host_state, spec_obj):
                return bool(self.filter_candidates(
                    host_state, lambda each: each['mappings']['net']
                    == [self.wanted]))

        class OneFilter(Wants):
            wanted = 'p1'

        class OtherFilter(Wants):
            wanted = 'p2'

        offer = Placement({'p': [
            an_allocation_request('p', net=['p1']),
            an_allocation_request('p', net=['p2'])]}).candidates()
        found = a_matrix(a_host('a', uuid='p'), offer=offer,
                         ranker=a_ranker(OneFilter(), OtherFilter()))

        assert found.combinations[0].rules == ('filters together',)


class TestViews:
    RANKER = a_ranker('ComputeFilter', 'RamFilter')

    def test_by_rule_is_what_it_rejects_in_all_and_alone(self):
        assert a_matrix(*CLOUD, ranker=self.RANKER).by_rule() == [
            ('ComputeFilter', 2, 1, 'service_down',
             {'service_down': 1, 'service_disabled': 1}),
            ('RamFilter', 3, 2, 'ram', {'ram': 3})]

    def test_combinations_come_with_most_hosts_first(self):
        found = a_matrix(*CLOUD, ranker=self.RANKER).combinations

        assert [(names, rows.tolist()) for names, rows in found] == [
            (('RamFilter',), [0, 4]), (('ComputeFilter', 'RamFilter'), [1]),
            ((), [2]), (('ComputeFilter',), [3])]

    def test_all_hosts_fit_without_rules(self):
        found = a_matrix(*CLOUD, ranker=Ranker([], []))

        assert [(names, len(rows)) for names, rows
                in found.combinations] == [((), 5)]
        assert found.summary() == '5 of 5 hosts fit'

    def test_no_host_is_an_empty_matrix(self):
        found = a_matrix()

        assert found.combinations == []
        assert found.summary() == 'there are no hosts'

    def test_the_summary_has_the_three_largest_groups(self):
        records = [*(full(f'full{i}') for i in range(4)), a_host('down',
                   service_up=False), full('both', service_up=False),
                   a_host('disk', free_disk_mb=0),
                   full('two', free_disk_mb=0)]

        assert a_matrix(*records).summary() == (
            '0 of 8 hosts fit, rejected: 4 only RamFilter; 1 only '
            'ComputeFilter; 1 ComputeFilter and RamFilter; and 2 more '
            'reasons for 2 hosts')

    def test_sentences_name_three_hosts_at_most(self):
        found = a_matrix(*(full(f'full{i}') for i in range(5)))

        assert found.sentences() == [
            '0 of 5 hosts fit, rejected: 5 only RamFilter',
            'only RamFilter: 5 of 5 hosts, full0, full1, full2 and 2 more']

    def test_sentences_count_hosts_that_one_rule_rejects(self):
        """Except rules of amounts: hosts do not have more room without them.
        """
        found = a_matrix(full('full'), a_host('down', service_up=False))

        assert found.sentences()[-1] == (
            'would fit besides: 1 without ComputeFilter')
