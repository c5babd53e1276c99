"""Filters and weighers are loaded by the configuration."""

import logging
import sys
import textwrap

import pytest

from nova_sched import exception
from nova_sched.plugins import loading
from nova_sched.rules import nova_classes
from nova_sched.scheduler.weights.ram import RAMWeigher
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.rules import a_conf

ALL_FILTERS = 'nova.scheduler.filters.all_filters'
ALL_WEIGHERS = [
    'RAMWeigher', 'CPUWeigher', 'DiskWeigher', 'MetricsWeigher',
    'IoOpsWeigher', 'PCIWeigher', 'ServerGroupSoftAffinityWeigher',
    'ServerGroupSoftAntiAffinityWeigher', 'BuildFailureWeigher',
    'CrossCellWeigher', 'HypervisorVersionWeigher', 'NumInstancesWeigher',
    'ImagePropertiesWeigher']
BASES = {'Filter': 'filters.BaseHostFilter',
         'Weigher': 'weights.BaseHostWeigher'}


@pytest.fixture
def site_rule(tmp_path, monkeypatch):
    """Function: write a module with a class; return the class's path.

    body: text of the class.  base: its base class, by default by its name.
    """
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, 'site_rules', raising=False)

    def site_rule(body, name='SiteFilter', base=None):
        base = base or next(base for kind, base in BASES.items()
                            if name.endswith(kind))
        (tmp_path / 'site_rules.py').write_text(
            'from nova_sched.scheduler import filters, weights\n'
            'from nova_sched.scheduler.weights import ram\n'
            f'class {name}({base}):\n'
            + textwrap.indent(textwrap.dedent(body), '    '))
        return f'site_rules.{name}'
    return site_rule


def enabled(path, **options):
    """Return a configuration with a filter or a weigher of that path."""
    name = path.rpartition('.')[2]
    return a_conf(**({
        'available_filters': [ALL_FILTERS, path], 'enabled_filters': [name]}
        if name.endswith('Filter') else {'weight_classes': [path]}), **options)


def load(conf):
    return [*loading.load_filters(conf), *loading.load_weighers(conf)]


def class_names(rules):
    return [type(rule).__name__ for rule in rules]


def refusal(load, **options):
    """Return the ConfigurationError that a function raises."""
    with pytest.raises(exception.ConfigurationError) as caught:
        load(a_conf(**options))
    return caught.value


class TestBuiltIns:
    def test_all_filters_of_nova_s_releases_are_built_in(self):
        assert {cls.__name__ for cls in loading.all_filters()} >= {
            name for names in nova_classes.FILTER_MODULES.values()
            for name in names}

    def test_weighers_have_nova_s_order(self):
        assert [cls.__name__ for cls in loading.all_weighers()][
            :len(ALL_WEIGHERS)] == ALL_WEIGHERS

    def test_class_paths_are_nova_s(self):
        where = {cls.__name__: cls.__module__ for cls in (
            *loading.all_filters(), *loading.all_weighers())}

        for package, modules in (('filters', nova_classes.FILTER_MODULES),
                                 ('weights', nova_classes.WEIGHER_MODULES)):
            for module, class_names in modules.items():
                assert {where[name] for name in class_names} == {
                    f'nova_sched.scheduler.{package}.{module}'}

class TestFilters:
    DEFAULT = [
        'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter', 'DiskFilter',
        'ComputeFilter', 'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
        'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter']

    @pytest.mark.parametrize(('options', 'loaded'), [
        ({}, DEFAULT),
        ({'enabled_filters': ['ComputeFilter', 'AllHostsFilter']},
         ['ComputeFilter', 'AllHostsFilter']),
        ({'enabled_filters': []}, []),
        # Nova has removed these two.
        ({'enabled_filters': ['RamFilter', 'AvailabilityZoneFilter']},
         ['RamFilter', 'AvailabilityZoneFilter'])])
    def test_enabled_filters_are_loaded_in_order(self, caplog, options,
                                                 loaded):
        """Without a log line."""
        caplog.set_level(logging.INFO)

        assert class_names(loading.load_filters(a_conf(**options))) == loaded
        assert caplog.messages == []

    def test_filter_named_twice_runs_twice(self):
        first, second = loading.load_filters(a_conf(
            enabled_filters=['ComputeFilter', 'ComputeFilter']))

        assert first is second

    @pytest.mark.parametrize(('name', 'hint'), [
        ('RamFiler', 'no such filter; did you mean RamFilter?'),
        ('ramfilter', 'no such filter; did you mean RamFilter?'),
        ('Zzz', 'no such filter; choose from ' + ', '.join(sorted(
            cls.__name__ for cls in loading.all_filters()))),
        ('nova.scheduler.filters.ram_filter.RamFilter',
         'takes class names; name the path in '
         '[filter_scheduler] available_filters and write '
         'RamFilter here')])
    def test_unknown_name_is_refused_with_the_nearest(self, name, hint):
        assert str(refusal(loading.load_filters, enabled_filters=[name])) == (
            f"[filter_scheduler] enabled_filters = '{name}': {hint}")

    def test_built_in_that_is_not_available_is_refused(self):
        error = refusal(
            loading.load_filters, enabled_filters=['DiskFilter'],
            available_filters=['nova.scheduler.filters.ram_filter.RamFilter'])

        assert error.hint == (
            'not among [filter_scheduler] available_filters; add to that '
            'option a value nova.scheduler.filters.all_filters')

    @pytest.mark.parametrize('method', [
        'host_passes(self, host_state, filter_properties, more=1): return 1',
        'host_passes(*args): return True', 'host_passes(self, a, b): raise X',
        'host_passes(self, a, b): return None or a',
        'filter_all(self, hosts, spec_obj): yield from hosts'])
    def test_methods_may_have_many_forms(self, site_rule, method):
        path = site_rule(f'def {method}')

        assert class_names(loading.load_filters(enabled(path))) == [
            'SiteFilter']

    def test_plug_in_replaces_the_built_in_of_its_name(self, site_rule,
                                                       caplog):
        path = site_rule('host_passes = lambda self, host, spec: True',
                         name='RamFilter')

        [rule] = loading.load_filters(enabled(path))

        assert type(rule).__module__ == 'site_rules'
        assert caplog.messages == []

class TestWeighers:
    def test_all_are_loaded_by_default(self):
        assert list(map(type, loading.load_weighers(a_conf()))) == (
            loading.all_weighers())

    def test_order_and_options_are_the_configuration_s(self):
        loaded = loading.load_weighers(a_conf(weight_classes=[
            'nova.scheduler.weights.io_ops.IoOpsWeigher',
            'nova.scheduler.weights.ram.RAMWeigher'],
            ram_weight_multiplier=-3.5))

        assert class_names(loaded) == ['IoOpsWeigher', 'RAMWeigher']
        assert isinstance(loaded[1], RAMWeigher)
        assert loaded[1].multipliers(hosts(a_host())) == -3.5

    def test_multiplier_may_have_both_names(self, site_rule):
        """The name of Havana beside the name of today."""
        path = site_rule("""
            _weight_multiplier = lambda self: -1.0
            weight_multiplier = lambda self, host: self._weight_multiplier()
            _weigh_object = lambda self, host, spec: 1
            """, name='SiteWeigher')

        [weigher] = loading.load_weighers(enabled(path))

        assert weigher.weight_multiplier(None) == -1.0

@pytest.mark.parametrize(('name', 'body', 'base', 'hint'), [
    ('SiteFilter', 'def host_pass(self, host_state, spec): return True', None,
     'defines none of host_passes, mask'),
    ('SiteFilter', 'def __init__(self): raise RuntimeError("no licence")\n'
     'def host_passes(self, host_state, spec): return True', None,
     'no licence'),
    ('SiteFilter', 'def host_passes(self, host_state): return True', None,
     'its host_passes(host_state) is called with (host_state, spec_obj); '
     'give it these arguments'),
    ('SiteFilter', 'def filter_all(self, hosts): return hosts', None,
     'its filter_all(hosts) is called with (filter_obj_list, spec_obj); '
     'give it these arguments'),
    ('SiteFilter', 'def host_passes(self, host_state, spec_obj): '
     'host_state.host == "a"', None,
     'its host_passes never returns a value; is a return statement missing?'),
    ('SiteWeigher', 'idle = lambda self, host, spec: 1', None,
     'defines none of _weigh_object, column'),
    ('SiteWeigher', '_weight_object = lambda self, host, spec: 1', None,
     'it has _weight_object; did you mean _weigh_object?'),
    *(('SiteWeigher', '_weigh_object = lambda self, host, spec: 1\n'
       '_weight_multiplier = lambda self: -1.0', base,
       'rename it to weight_multiplier') for base in (None, 'ram.RAMWeigher'))
])
def test_rule_that_would_fail_each_request_is_refused(site_rule, name, body,
                                                      base, hint):
    path = site_rule(body, name, base)

    with pytest.raises(exception.ConfigurationError) as caught:
        load(enabled(path))

    assert caught.value.value == path
    assert hint in caught.value.hint


class TestProblems:
    def test_default_configuration_has_none(self):
        assert loading.problems(a_conf()) == []

    def test_all_wrong_names_are_reported_at_once(self):
        found = loading.problems(a_conf(
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
        assert {error.option for error in found} < set(loading.OPTIONS)

    def test_wrong_paths_hide_wrong_names(self):
        """The available filters are known once all paths are right."""
        found = loading.problems(a_conf(
            available_filters=['no.such.Filter', 'undotted'],
            enabled_filters=['Filter']))

        assert [error.value for error in found] == [
            'no.such.Filter', 'undotted']
