"""Loading filters and weighers."""

import logging
import sys
import textwrap

import pytest

from nova_sched import exception
from nova_sched.filters import FilterHandler
from nova_sched.hosts.decision import Decision
from nova_sched.plugins import loading as plugins
from nova_sched.rules import nova_classes
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights
from nova_sched.scheduler.filters.ram_filter import RamFilter
from nova_sched.scheduler.weights.ram import RAMWeigher
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import names
from tests.builders.requests import a_request
from tests.builders.rules import a_conf

ALL_FILTERS = 'nova.scheduler.filters.all_filters'
ALL_WEIGHERS = [
    'RAMWeigher', 'CPUWeigher', 'DiskWeigher', 'MetricsWeigher',
    'IoOpsWeigher', 'PCIWeigher', 'ServerGroupSoftAffinityWeigher',
    'ServerGroupSoftAntiAffinityWeigher', 'BuildFailureWeigher',
    'CrossCellWeigher', 'HypervisorVersionWeigher', 'NumInstancesWeigher',
    'ImagePropertiesWeigher']


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Function: make a module of this text; returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text, name='site_plugins'):
        (tmp_path / f'{name}.py').write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return make


def class_names(loaded):
    return [type(plugin).__name__ for plugin in loaded]


def refused(load, **options):
    """The ConfigurationError that loading raises."""
    with pytest.raises(exception.ConfigurationError) as caught:
        load(a_conf(**options))
    return caught.value


class TestBuiltIns:
    def test_are_all_filters_that_nova_has_had(self):
        assert {cls.__name__ for cls in plugins.all_filters()} >= {
            name for names in nova_classes.FILTER_MODULES.values()
            for name in names}

    def test_weighers_of_novas_come_first_and_in_its_order(self):
        assert [cls.__name__ for cls in plugins.all_weighers()][
            :len(ALL_WEIGHERS)] == ALL_WEIGHERS

    def test_are_reached_as_functions_of_their_packages_too(self):
        assert filters.all_filters() == plugins.all_filters()
        assert weights.all_weighers() == plugins.all_weighers()

    def test_stand_where_novas_paths_say(self):
        """Module by module, so that class paths in nova.conf stay right."""
        where = {cls.__name__: cls.__module__ for cls in (
            *plugins.all_filters(), *plugins.all_weighers())}

        for package, modules in (('filters', nova_classes.FILTER_MODULES),
                                 ('weights', nova_classes.WEIGHER_MODULES)):
            for module, rules_there in modules.items():
                assert {where[name] for name in rules_there} == {
                    f'nova_sched.scheduler.{package}.{module}'}

    @pytest.mark.parametrize('path', [
        'nova.scheduler.filters.ram_filter.RamFilter',
        'nova_sched.scheduler.filters.ram_filter.RamFilter'])
    def test_have_novas_and_our_own_class_path(self, path):
        assert plugins.available_filters(a_conf(available_filters=[path])) == {
            'RamFilter': RamFilter}


class TestLoadFilters:
    def test_default_list_without_placement(self):
        assert class_names(plugins.load_filters(a_conf())) == [
            'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter',
            'DiskFilter', 'ComputeFilter', 'ComputeCapabilitiesFilter',
            'ImagePropertiesFilter', 'ServerGroupAntiAffinityFilter',
            'ServerGroupAffinityFilter']

    def test_default_list_warns_of_nothing(self, caplog):
        plugins.load_filters(a_conf())

        assert caplog.messages == []

    def test_keeps_the_configured_order(self):
        loaded = plugins.load_filters(a_conf(
            enabled_filters=['ComputeFilter', 'AllHostsFilter']))

        assert class_names(loaded) == ['ComputeFilter', 'AllHostsFilter']

    def test_an_empty_list_runs_no_filter(self):
        assert plugins.load_filters(a_conf(enabled_filters=[])) == []

    def test_a_filter_named_twice_runs_twice(self):
        first, second = plugins.load_filters(a_conf(
            enabled_filters=['ComputeFilter', 'ComputeFilter']))

        assert first is second

    def test_says_nothing_of_filters_that_nova_has_removed(self, caplog):
        """Nobody has to do anything about it; "config check" tells."""
        plugins.load_filters(a_conf(enabled_filters=[
            'RamFilter', 'AvailabilityZoneFilter']))

        assert [record for record in caplog.records
                if record.levelno >= logging.INFO] == []

    @pytest.mark.parametrize(('name', 'hint'), [
        ('RamFiler', 'no such filter; did you mean RamFilter?'),
        ('ramfilter', 'no such filter; did you mean RamFilter?'),
        ('Zzz', 'no such filter; choose from ' + ', '.join(sorted(
            cls.__name__ for cls in plugins.all_filters()))),
        ('nova.scheduler.filters.ram_filter.RamFilter',
         'takes class names; name the path in '
         '[filter_scheduler] available_filters and write '
         'RamFilter here'),
    ])
    def test_refuses_an_unknown_name_with_the_nearest_right_one(
            self, name, hint):
        error = refused(plugins.load_filters, enabled_filters=[name])

        assert str(error) == (
            f"[filter_scheduler] enabled_filters = '{name}': {hint}")

    def test_refuses_a_built_in_that_was_made_unavailable(self):
        """available_filters without its first value."""
        error = refused(
            plugins.load_filters, enabled_filters=['DiskFilter'],
            available_filters=['nova.scheduler.filters.ram_filter.RamFilter'])

        assert error.hint == (
            'not among [filter_scheduler] available_filters; add to that '
            'option a value nova.scheduler.filters.all_filters')

    @pytest.mark.parametrize('path', [
        'no.such.module.Filter', 'undotted', 'os.path.nothing',
        'collections.OrderedDict', 'os.sep'])
    def test_refuses_a_path_that_leads_to_no_filter(self, path):
        error = refused(plugins.load_filters, available_filters=[path])

        assert error.option == '[filter_scheduler] available_filters'
        assert error.value == path

    def test_refuses_a_filter_without_a_method_to_judge_by(self, module):
        """At start, and not at the first request."""
        name = module("""
            from nova_sched.scheduler import filters

            class IdleFilter(filters.BaseHostFilter):
                def host_pass(self, host_state, filter_properties):
                    return True
            """)

        error = refused(plugins.load_filters,
                        available_filters=[f'{name}.IdleFilter'],
                        enabled_filters=['IdleFilter'])

        assert error.value == f'{name}.IdleFilter'
        assert 'defines none of host_passes, mask' in error.hint

    def test_refuses_a_filter_that_cannot_be_made(self, module):
        name = module("""
            from nova_sched.scheduler import filters

            class BrokenFilter(filters.BaseHostFilter):
                def __init__(self):
                    raise RuntimeError('no licence')

                def host_passes(self, host_state, filter_properties):
                    return True
            """)

        error = refused(plugins.load_filters,
                        available_filters=[f'{name}.BrokenFilter'],
                        enabled_filters=['BrokenFilter'])

        assert 'no licence' in error.hint


    @pytest.mark.parametrize('method, hint', [
        ('host_passes(self, host_state): return True',
         'its host_passes(host_state) is called with (host_state, spec_obj); '
         'give it these arguments'),
        ('filter_all(self, hosts): return hosts',
         'its filter_all(hosts) is called with (filter_obj_list, spec_obj); '
         'give it these arguments'),
        ('host_passes(self, host_state, spec_obj): host_state.host == "a"',
         'its host_passes never returns a value; is a return statement '
         'missing?')])
    def test_refuses_a_filter_that_every_request_fails_with(
            self, module, method, hint):
        name = module(f"""
            from nova_sched.scheduler import filters

            class SiteFilter(filters.BaseHostFilter):
                def {method}
            """)

        error = refused(plugins.load_filters,
                        available_filters=[f'{name}.SiteFilter'],
                        enabled_filters=['SiteFilter'])

        assert error.hint == hint

    @pytest.mark.parametrize('method', [
        'host_passes(self, host_state, filter_properties, more=1): return 1',
        'host_passes(*args): return True', 'host_passes(self, a, b): raise X',
        'host_passes(self, a, b): return None or a',
        'filter_all(self, hosts, spec_obj): yield from hosts'])
    def test_takes_a_filter_in_any_other_form(self, module, method):
        name = module(f"""
            from nova_sched.scheduler import filters

            class SiteFilter(filters.BaseHostFilter):
                def {method}
            """)

        assert class_names(plugins.load_filters(a_conf(
            available_filters=[f'{name}.SiteFilter'],
            enabled_filters=['SiteFilter']))) == ['SiteFilter']


class TestProblems:
    def test_are_none_by_default(self):
        assert plugins.problems(a_conf()) == []

    def test_are_all_wrong_names_at_once(self):
        """One run shows everything there is to mend."""
        found = plugins.problems(a_conf(
            enabled_filters=['RamFliter', 'ComputeFilter', 'JsonFliter',
                             'RamFliter'],
            weight_classes=['nova.scheduler.weights.ram.RamWeigher',
                            'nova.scheduler.weights.all_weighers',
                            'nova.scheduler.weights.pci.PciWeigher']))

        assert [(error.option, error.value) for error in found] == [
            ('[filter_scheduler] enabled_filters', 'RamFliter'),
            ('[filter_scheduler] enabled_filters', 'JsonFliter'),
            ('[filter_scheduler] weight_classes',
             'nova.scheduler.weights.ram.RamWeigher'),
            ('[filter_scheduler] weight_classes',
             'nova.scheduler.weights.pci.PciWeigher')]
        assert {error.option for error in found} < set(plugins.OPTIONS)

    def test_are_paths_before_names(self):
        """Which filters there are is known once all paths are right."""
        found = plugins.problems(a_conf(
            available_filters=['no.such.Filter', 'undotted'],
            enabled_filters=['Filter']))

        assert [error.value for error in found] == ['no.such.Filter',
                                                    'undotted']


class TestPlugInFilters:
    KILO = """
        from nova_sched.scheduler import filters

        class SpecifiedHostFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, filter_properties):
                requested = filter_properties.get(
                    'scheduler_hints', {}).get('requested_host')
                return not requested or requested == host_state.host
        """

    @pytest.mark.parametrize(('hints', 'left'), [
        ({'requested_host': ['b']}, ['b']), ({}, ['a', 'b'])])
    def test_one_written_for_kilo_runs(self, module, hints, left):
        """It is named in available_filters and in enabled_filters."""
        name = module(self.KILO)
        chain = plugins.load_ranker(a_conf(
            available_filters=[ALL_FILTERS, f'{name}.SpecifiedHostFilter'],
            enabled_filters=['ComputeFilter', 'SpecifiedHostFilter'])).filters
        request = a_request(hints=hints)

        passing = FilterHandler().run(
            chain, hosts(a_host('a'), a_host('b')), request, 0,
            Decision())

        assert names(passing) == left

    def test_one_may_take_the_place_of_a_built_in(self, module, caplog):
        """Of two classes with one name the later counts."""
        name = module("""
            from nova_sched.scheduler import filters

            class RamFilter(filters.BaseHostFilter):
                def host_passes(self, host_state, filter_properties):
                    return host_state.free_ram_mb > 0
            """)

        loaded, = plugins.load_filters(a_conf(
            available_filters=[ALL_FILTERS, f'{name}.RamFilter'],
            enabled_filters=['RamFilter']))

        assert type(loaded).__module__ == name
        assert caplog.messages == []

    def test_a_function_may_name_many(self, module):
        name = module("""
            from nova_sched.scheduler import filters

            class OneFilter(filters.BaseHostFilter):
                def filter_all(self, filter_obj_list, spec_obj):
                    return list(filter_obj_list)[:1]

            class TwoFilter(OneFilter):
                pass

            def mine():
                return [OneFilter, TwoFilter]
            """)

        loaded = plugins.load_filters(a_conf(
            available_filters=[f'{name}.mine'],
            enabled_filters=['TwoFilter', 'OneFilter']))

        assert class_names(loaded) == ['TwoFilter', 'OneFilter']


class TestLoadWeighers:
    def test_all_by_default(self):
        assert list(map(type, plugins.load_weighers(a_conf()))) == (
            plugins.all_weighers())

    def test_in_the_order_of_the_option(self):
        loaded = plugins.load_weighers(a_conf(weight_classes=[
            'nova.scheduler.weights.io_ops.IoOpsWeigher',
            'nova.scheduler.weights.ram.RAMWeigher']))

        assert class_names(loaded) == ['IoOpsWeigher', 'RAMWeigher']

    def test_gives_them_their_options(self):
        ram, = plugins.load_weighers(a_conf(
            weight_classes=['nova.scheduler.weights.ram.RAMWeigher'],
            ram_weight_multiplier=-3.5))

        assert isinstance(ram, RAMWeigher)
        assert ram.multipliers(hosts(a_host())) == -3.5

    def test_a_plug_in_beside_the_built_ins(self, module):
        name = module("""
            from nova_sched.scheduler import weights

            class NameWeigher(weights.BaseHostWeigher):
                def _weigh_object(self, host_state, weight_properties):
                    return len(host_state.host)
            """)

        loaded = plugins.load_weighers(a_conf(weight_classes=[
            'nova.scheduler.weights.all_weighers', f'{name}.NameWeigher']))

        assert class_names(loaded)[-1] == 'NameWeigher'

    @pytest.mark.parametrize('method, hint', [
        ('idle', 'defines none of _weigh_object, column'),
        ('_weight_object',
         'it has _weight_object; did you mean _weigh_object?')])
    def test_refuses_a_weigher_without_a_method_to_weigh_by(
            self, module, method, hint):
        """And names the one that a document misspells."""
        name = module(f"""
            from nova_sched.scheduler import weights

            class SiteWeigher(weights.BaseHostWeigher):
                def {method}(self, host_state, weight_properties):
                    return 1
            """)

        error = refused(plugins.load_weighers,
                        weight_classes=[f'{name}.SiteWeigher'])

        assert hint in error.hint

    @pytest.mark.parametrize('base', [
        'weights.BaseHostWeigher', 'ram.RAMWeigher'])
    def test_refuses_a_multiplier_under_its_name_of_havana(
            self, module, base):
        name = module(f"""
            from nova_sched.scheduler import weights
            from nova_sched.scheduler.weights import ram

            class TurnedWeigher({base}):
                def _weight_multiplier(self):
                    return -1.0

                def _weigh_object(self, host_state, weight_properties):
                    return 1
            """)

        error = refused(plugins.load_weighers,
                        weight_classes=[f'{name}.TurnedWeigher'])

        assert error.value == f'{name}.TurnedWeigher'
        assert 'rename it to weight_multiplier' in error.hint

    def test_a_weigher_may_have_its_multiplier_under_both_names(self, module):
        name = module("""
            from nova_sched.scheduler import weights

            class TurnedWeigher(weights.BaseHostWeigher):
                def _weight_multiplier(self):
                    return -1.0

                def weight_multiplier(self, host_state):
                    return self._weight_multiplier()

                def _weigh_object(self, host_state, weight_properties):
                    return 1
            """)

        [weigher] = plugins.load_weighers(
            a_conf(weight_classes=[f'{name}.TurnedWeigher']))

        assert weigher.weight_multiplier(None) == -1.0

    def test_refuses_a_path_that_leads_to_no_weigher(self):
        error = refused(plugins.load_weighers, weight_classes=[
            'nova.scheduler.weights.ram.RamWeigher'])

        assert error.option == '[filter_scheduler] weight_classes'
        assert 'nova.scheduler.weights.ram.RAMWeigher' in error.hint
