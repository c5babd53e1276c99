"""Why not one host."""


import pytest

from nova_sched.explain.host import why_not
from nova_sched.scheduler import filters
from tests.builders.case_tables import case_table
from tests.builders.hosts import a_host
from tests.unit.explain.builders import FaultyWeigher
from tests.unit.explain.builders import a_matrix
from tests.unit.explain.builders import a_ranker
from tests.unit.explain.builders import full


class SilentFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return False

    def why_not(self, host_state, spec_obj):
        raise ValueError('lost for words')


def figures(record, rule, **request):
    """What a host lacks by one rule: list of dicts."""
    verdict, = why_not(a_matrix(record, ranker=a_ranker(rule), **request),
                       0).verdicts
    assert verdict.rule == rule
    return [figure.to_dict() for figure in verdict.figures]


class TestVerdicts:
    def test_all_rejecting_rules_have_reasons(self):
        found = why_not(a_matrix(full('a', service_disabled=True)), 0)

        assert found.sentences() == [
            'a does not fit: 2 rules',
            'ComputeFilter rejects it: service disabled',
            'RamFilter rejects it: needs 512 MB of RAM, has 1 MB left, lacks '
            '511 MB', 'it would be number 1 of 1 host that fits']

    @case_table('explain-host', 'amounts')
    def test_amounts_include_overcommit(self, rule, values, expected):
        assert figures(a_host(**values), rule) == [expected]

    def test_a_host_that_is_too_small_has_its_total(self):
        found = figures(a_host(total_usable_ram_mb=256, free_ram_mb=256,
                               ram_allocation_ratio=16.0), 'RamFilter')

        assert found == [{'what': 'RAM', 'kind': 'in all', 'need_mb': 512,
                          'have_mb': 256, 'lacking_mb': 256}]

    def test_a_rule_has_the_code_by_which_it_rejects_this_host(self):
        found = a_matrix(
            a_host('a', service_disabled=True), a_host('b', service_up=False),
            a_host('c', service_up=False), ignore_hosts=['c'],
            ranker=a_ranker('ComputeFilter'))

        assert [[each.code for each in why_not(found, row).verdicts]
                for row in range(3)] == [
            ['service_disabled'], ['service_down'],
            ['ignored', 'service_down']]

    @pytest.mark.parametrize(('named', 'why'), [
        ({'ignore_hosts': ['a']}, 'ignore_hosts rejects it: the request '
         'ignores it'),
        ({'force_hosts': ['b']}, 'force_hosts rejects it: the request is '
         'forced to host b')])
    def test_stages_have_reasons_too(self, named, why):
        found = why_not(a_matrix(a_host('a'), a_host('b'), **named), 0)

        assert why in found.sentences()

    def test_a_rule_without_a_reason_rejects_the_host(self):
        verdict, = why_not(a_matrix(a_host(), ranker=a_ranker(
            SilentFilter())), 0).verdicts

        assert verdict.rule == 'SilentFilter'
        assert 'lost for words' in verdict.reason


class TestWeighing:
    CLOUD = [a_host('best'), a_host('good', free_ram_mb=20000),
             a_host('busy', free_ram_mb=30000, num_io_ops=4),
             full('full')]

    def test_a_host_that_fits_has_a_rank(self):
        found = why_not(a_matrix(*self.CLOUD), 1)

        assert found.fits
        assert (found.rank, found.among, found.picked) == (2, 3, 'best')
        assert found.sentences() == [
            'good fits', 'it is number 2 of 3 hosts that fit',
            'kept below best by RAMWeigher (-0.39)']

    def test_one_that_does_not_has_the_rank_it_would_have(self):
        found = why_not(a_matrix(*self.CLOUD), 3)

        assert (found.rank, found.among) == (3, 4)
        assert 'it would be number 3 of 4 hosts that fit' in found.sentences()

    def test_as_good_a_host_is_no_better(self):
        found = why_not(a_matrix(a_host('a'), a_host('b'), a_host('c')), 2)

        assert (found.rank, found.picked) == (1, 'a')

    def test_each_weigher_has_both_scores(self):
        gap, = [gap for gap in why_not(a_matrix(*self.CLOUD), 2).gaps
                if gap.weigher == 'IoOpsWeigher']

        assert gap.to_dict() == {'weigher': 'IoOpsWeigher', 'score': -1.0,
                                 'picked_score': 0.0, 'gain': -1.0}

    def test_the_pick_may_be_another_than_the_best(self):
        found = why_not(a_matrix(*self.CLOUD), 0, picked=1)

        assert found.sentences()[-1] == 'gains over good by RAMWeigher (+0.39)'

    def test_a_failing_weigher_is_reported(self):
        found = why_not(a_matrix(*self.CLOUD, ranker=a_ranker(
            weighers=[FaultyWeigher()])), 1)

        assert found.rank is None
        assert found.sentences()[-1] == (
            "the hosts cannot be weighed: ValueError('broken')")
