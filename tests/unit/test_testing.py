"""The test helpers for authors of plug-ins."""

import random
import subprocess
import sys

import pytest

from nova_sched import exception
from nova_sched import testing
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights
from nova_sched.testing import fuzz


class SpecifiedHostFilter(filters.BaseHostFilter):
    """Passes the host in a hint."""

    def host_passes(self, host_state, spec_obj):
        host = spec_obj.get_scheduler_hint('requested_host')
        return host is None or host == host_state.host


class FewestInstances(weights.BaseHostWeigher):
    """Prefers hosts with few instances."""

    def _weigh_object(self, host_state, weight_properties):
        return -host_state.num_instances


class KeepsARequest(SpecifiedHostFilter):
    def __init__(self):
        self.seen = set()

    def host_passes(self, host_state, spec_obj):
        is_new = host_state.host not in self.seen
        self.seen.add(host_state.host)
        return is_new


class ChangesTheRequest(SpecifiedHostFilter):
    def host_passes(self, host_state, spec_obj):
        spec_obj.flavor.extra_specs['seen'] = 'yes'
        return True


class ChangesAHost(SpecifiedHostFilter):
    def host_passes(self, host_state, spec_obj):
        for aggregate in host_state.aggregates:
            aggregate.metadata['seen'] = 'yes'
        return True


class TakesTheFirst(SpecifiedHostFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return filter_obj_list[:1]


class NeedsAnImage(SpecifiedHostFilter):
    def host_passes(self, host_state, spec_obj):
        return spec_obj.image.name != 'x'


class ByChance(FewestInstances):
    def _weigh_object(self, host_state, weight_properties):
        return random.random()


class Unweighable(FewestInstances):
    def _weigh_object(self, host_state, weight_properties):
        return float('nan')


class Unweighed(FewestInstances):
    def _weigh_object(self, host_state, weight_properties):
        if host_state.num_instances:
            return 1.0


class Unanswered(SpecifiedHostFilter):
    def host_passes(self, host_state, spec_obj):
        if host_state.num_instances:
            return True


class TooFew(FewestInstances):
    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [1.0]


class Relative(FewestInstances):
    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [float(len(weighed_obj_list)) for _ in weighed_obj_list]


class Unfinished(filters.BaseHostFilter):
    """Has no method that judges."""


class TestContract:
    def test_holds_for_a_good_filter(self):
        testing.check_filter(SpecifiedHostFilter, requests=[
            testing.a_request(hints={'requested_host': 'fuzz0'})])

    def test_holds_for_a_good_weigher(self):
        testing.check_weigher(FewestInstances)

    @pytest.mark.parametrize('check, cls', [
        *((testing.check_filter, cls) for cls in plugins.all_filters()),
        *((testing.check_weigher, cls) for cls in plugins.all_weighers()),
    ], ids=lambda value: value.__name__)
    def test_holds_for_the_built_ins(self, check, cls):
        check(cls)

    @pytest.mark.parametrize('check, cls, words', [
        (testing.check_filter, KeepsARequest, 'the answer was'),
        (testing.check_filter, ChangesTheRequest, 'request were changed'),
        (testing.check_filter, ChangesAHost, 'the hosts or the request were'),
        (testing.check_filter, TakesTheFirst, 'the order of the hosts makes'),
        (testing.check_filter, NeedsAnImage, "no attribute 'name'"),
        (testing.check_weigher, ByChance, 'the answer was'),
        (testing.check_weigher, Unweighable, 'Unweighable gives'),
        (testing.check_weigher, Unweighed, 'None or NaN as their weight'),
        (testing.check_filter, Unanswered, 'None is returned for host fuzz'),
        (testing.check_weigher, Relative, 'when it is alone'),
    ])
    def test_is_broken_with_hosts_and_request_in_the_error(
            self, check, cls, words):
        with pytest.raises(AssertionError) as broken:
            check(cls)

        assert words in str(broken.value)
        assert 'Request: RequestSpec' in str(broken.value)
        assert "Hosts ['fuzz" in str(broken.value)

    def test_is_broken_by_a_weigher_with_too_few_weights(self):
        with pytest.raises(AssertionError, match='1 weights for 0 hosts'):
            testing.check_weigher(TooFew)

    def test_may_exclude_rules_that_compare_hosts(self):
        testing.check_filter(TakesTheFirst, together=True)
        testing.check_weigher(Relative, together=True)

    def test_is_checked_with_hosts_and_requests_of_the_test(self):
        class BreaksOnOne(SpecifiedHostFilter):
            def host_passes(self, host_state, spec_obj):
                return not (host_state.host == 'mine'
                            and 1 / spec_obj.get_scheduler_hint('zero', 1))

        testing.check_filter(BreaksOnOne)
        with pytest.raises(AssertionError, match='unsupported operand'):
            testing.check_filter(
                BreaksOnOne, hosts=[testing.a_host('mine')],
                requests=[testing.a_request(hints={'zero': 'text'})])

    def test_is_checked_with_running_and_missing_instances(self):
        cases = [fuzz.case(number, (), ()) for number in range(20)]

        assert {uuid in case.running for case in cases if case.records
                for uuid in ('m1', 'm2')} == {True, False}

    def test_requires_a_class_that_the_service_loads(self):
        with pytest.raises(exception.ConfigurationError,
                           match='defines none of host_passes'):
            testing.check_filter(Unfinished)

    def test_is_checked_with_options(self):
        class Optional(filters.ColumnFilter):
            def configure(self, conf):
                self.most = conf.filter_scheduler.max_instances_per_host

            def mask(self, hosts, spec_obj):
                assert self.most == 3
                return hosts.num_instances < self.most

        testing.check_filter(Optional, max_instances_per_host=3)


class TestHosts:
    def test_have_all_values_of_a_host_that_reports(self):
        state, = testing.hosts(testing.a_host('a')).states()

        assert state.service['host'] == state.host == 'a'
        assert state.service['last_seen_up'] == state.updated
        assert not state.service['disabled']
        assert not state.service['forced_down']
        assert [name for name, value in state.service.items()
                if value is None] == ['disabled_reason']
        assert state.pci_stats.pools == []
        assert state.uuid

    def test_have_the_state_of_their_service(self):
        state, = testing.hosts(testing.a_host(
            service_disabled=True, disabled_reason='moving',
            service_forced_down=True)).states()

        assert state.service['host'] == state.host
        assert (state.service['disabled'], state.service['forced_down'],
                state.service['disabled_reason']) == (True, True, 'moving')

    def test_have_uuids_of_their_own(self):
        one, other = testing.hosts(testing.a_host(), testing.a_host()).states()

        assert one.uuid != other.uuid
        assert one.service['uuid'] != other.service['uuid']

    def test_may_have_never_reported(self):
        state, = testing.hosts(testing.a_host(
            **testing.NEVER_REPORTED)).states()

        assert state.uuid is state.pci_stats is state.updated is None


class OneFlavorFilter(filters.BaseHostFilter):
    """Passes hosts without instances of other flavors."""

    def host_passes(self, host_state, spec_obj):
        return all(instance.get_flavor().name == spec_obj.flavor.name
                   for instance in host_state.instances.values())


class TestInstances:
    HOSTS = [testing.a_host(name) for name in 'abc']

    def test_have_the_flavors_of_the_test(self):
        hosts = testing.hosts(*self.HOSTS, running={
            'm1': {'host': 'a', 'flavor': {'id': 7, 'name': 'm1.big',
                                           'memory_mb': 8192,
                                           'extra_specs': {'x': 'y'}}},
            'm2': {'host': 'b', 'vcpus': 3, 'flavor': testing.a_flavor(
                name='m1.tiny', vcpus=2)}})
        a, b, _ = hosts.states()

        big, small = a.instances['m1'], b.instances['m2']
        assert big.get_flavor() is big.flavor
        assert big.get_flavor('new') is None
        assert (big.flavor.name, big.flavor.extra_specs) == (
            'm1.big', {'x': 'y'})
        assert (big.memory_mb, big.instance_type_id) == (8192, 7)
        assert (small.flavor.vcpus, small.vcpus) == (2, 3)
        assert testing.survivors(OneFlavorFilter(), hosts,
                                 testing.a_request()) == ['b', 'c']

    def test_have_a_small_flavor_by_default(self):
        hosts = testing.hosts(*self.HOSTS, running={'m1': 'a'})

        instance = hosts.states()[0].instances['m1']
        assert instance.flavor.name == instance.get_flavor().name == 'm1.tiny'

    def test_keep_the_contract(self):
        testing.check_filter(OneFlavorFilter)


def test_novas_names_can_be_imported_without_a_service():
    subprocess.run([sys.executable, '-c', (
        'import nova_sched.testing\n'
        'from nova.scheduler.filters import BaseHostFilter')], check=True)
