"""Rules that derive from Nova's innermost base classes alone, and Nova's
handlers, which load rules and run them on host states."""

import sys

import pytest

from nova_sched import testing
from nova_sched.compat import nova_names
from nova_sched.plugins import loading
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.rules import a_conf

FILTERS = """
from nova import filters
from nova_sched import filters as ours


class EvenFilter(filters.BaseFilter):

    def _filter_one(self, obj, spec_obj):
        return obj.host in ('a', 'c')


class LastFilter(ours.BaseFilter):
    run_filter_once_per_request = True

    def filter_all(self, filter_obj_list, filter_properties):
        return list(filter_obj_list)[-1:]


class StopFilter(filters.BaseFilter):

    def filter_all(self, filter_obj_list, spec):
        return None
"""
WEIGHERS = """
from nova import weights
from nova_sched import weights as ours


class LettersWeigher(weights.BaseWeigher):

    def weight_multiplier(self):
        return 2.0

    def _weigh_object(self, obj, weight_properties):
        return ord(obj.host)


class TogetherWeigher(ours.BaseWeigher):
    minval, maxval = 0, 4

    def weight_multiplier(self, host_state):
        return -1.0 if host_state.host == 'c' else 1.0

    def weigh_objects(self, weighed_obj_list, weight_properties):
        return [1.0 for weighed in weighed_obj_list]
"""


@pytest.fixture(autouse=True)
def site(tmp_path, monkeypatch):
    """A package of a filter module and a weigher module, and its loaders."""
    package = tmp_path / 'site_rules'
    package.mkdir()
    (package / '__init__.py').write_text(
        'from nova import loadables\n'
        'from nova import filters\n\n\n'
        'class Loader(loadables.BaseLoader):\n    pass\n\n\n'
        'def some():\n    from site_rules import judging\n'
        '    return [judging.EvenFilter]\n')
    (package / 'judging.py').write_text(FILTERS)
    (package / 'rating.py').write_text(WEIGHERS)
    monkeypatch.syspath_prepend(tmp_path)
    nova_names.provide(a_conf())
    yield
    for name in [name for name in sys.modules if name.startswith('site_')]:
        del sys.modules[name]


def driver(*filters, weigher=None, **options):
    return MemoryScheduler(
        *(testing.a_host(name) for name in 'abc'),
        available_filters=[f'site_rules.judging.{name}' for name in filters],
        enabled_filters=list(filters), weight_classes=[
            f'site_rules.rating.{weigher}'] if weigher else [], **options)


def states():
    return testing.hosts(
        *(testing.a_host(name) for name in 'abc')).states()


def hosts_of(found):
    return [state.host for state in found]


class TestInnermostBaseClasses:

    @pytest.mark.parametrize(('filters', 'picked'), [
        (['EvenFilter'], 'a'), (['LastFilter'], 'c'),
        (['EvenFilter', 'LastFilter'], 'c')])
    def test_a_filter_of_base_filter_decides(self, filters, picked):
        """By one host or by all, also on a rebuild, about which it is not
        said to keep quiet."""
        for hints in ({}, {'_nova_check_type': ['rebuild']}):
            assert picks(driver(*filters),
                         testing.a_request(hints=hints)) == [picked]

    def test_it_keeps_to_the_contract_of_filters(self):
        from site_rules import judging

        testing.check_filter(judging.EvenFilter)

    @pytest.mark.parametrize(('weigher', 'picked'), [
        ('LettersWeigher', 'c'), ('TogetherWeigher', 'a')])
    def test_a_weigher_of_base_weigher_decides(self, weigher, picked):
        assert picks(driver(weigher=weigher),
                     testing.a_request()) == [picked]


class TestHandlers:

    def test_filters_are_run_one_after_the_other(self):
        """Objects, or classes as in Juno; index is that of the instance."""
        from nova.scheduler import filters
        from site_rules import judging
        handler = filters.HostFilterHandler()
        chain = [judging.EvenFilter(), judging.LastFilter()]
        spec = testing.a_request()

        assert hosts_of(handler.get_filtered_objects(
            chain, states(), spec)) == ['c']
        assert hosts_of(handler.get_filtered_objects(
            chain, iter(states()), spec, index=1)) == ['a', 'c']
        assert hosts_of(handler.get_filtered_objects(
            [type(rule) for rule in chain], states(), dict(spec), 0)) == ['c']
        assert handler.get_filtered_objects(
            [judging.StopFilter()], states(), spec) is None
        assert handler.get_filtered_objects([], states(), spec) != []
        assert handler.get_filtered_objects(chain, [], spec) == []

    def test_weighers_are_summed_up(self):
        """Best first; one host alone is weighed by none."""
        from nova.scheduler import weights
        from site_rules import rating
        handler = weights.HostWeightHandler()
        chain = [rating.LettersWeigher(), rating.TogetherWeigher()]
        spec = testing.a_request()

        found = handler.get_weighed_objects(chain, states(), spec)

        assert [(weighed.obj.host, weighed.weight) for weighed in found] == [
            ('c', 1.75), ('b', 1.25), ('a', 0.25)]
        assert isinstance(found[0], weights.WeighedHost)
        alone, = handler.get_weighed_objects(
            [rating.LettersWeigher], states()[:1], spec)
        assert alone.weight == 0.0

    def test_built_in_rules_are_run_once_they_are_configured(self):
        from nova.conf import CONF
        from nova.scheduler import filters
        from nova.scheduler import weights

        handler = filters.HostFilterHandler()
        chain = [cls() for cls in handler.get_matching_classes([
            'nova.scheduler.filters.io_ops_filter.IoOpsFilter',
            'nova.scheduler.filters.ram_filter.RamFilter'])]
        weighers = [cls() for cls in weights.all_weighers()]
        for rule in (*chain, *weighers):
            rule.configure(CONF)

        found = handler.get_filtered_objects(
            chain, states(), testing.a_request(memory_mb=100))
        assert hosts_of(found) == ['a', 'b', 'c']
        assert len(weights.HostWeightHandler().get_weighed_objects(
            weighers, found, testing.a_request())) == 3

    def test_they_know_the_built_in_classes(self):
        from nova.scheduler import filters
        from nova.scheduler import weights

        for handler, every, path in (
                (filters.HostFilterHandler(), loading.all_filters(),
                 'nova.scheduler.filters.all_filters'),
                (weights.HostWeightHandler(), loading.all_weighers(),
                 'nova.scheduler.weights.all_weighers')):
            assert set(handler.get_all_classes()) == set(every)
            assert set(handler.get_matching_classes([path])) == set(every)

    @pytest.mark.parametrize('values', [[1.0, 3.0, 2.0], (1.0, 3.0, 2.0)])
    def test_weights_are_normalized_by_their_own_function(self, values):
        from nova import weights

        assert list(weights.normalize(values)) == [0.0, 1.0, 0.5]
        assert list(weights.normalize(values, 0, 4)) == [0.25, 0.75, 0.5]
        assert list(weights.normalize(values, minval=2.0, maxval=2)) == [
            0.0, 0.0, 0.0]
        assert list(weights.normalize([])) == []


class TestLoaders:

    def test_one_finds_the_classes_of_the_package_it_stands_in(self):
        from nova import filters
        import site_rules
        loader = site_rules.Loader(filters.BaseFilter)

        assert {cls.__name__ for cls in loader.get_all_classes()} == {
            'EvenFilter', 'LastFilter', 'StopFilter'}

    def test_one_finds_classes_by_path_and_by_function(self):
        from nova import filters
        import site_rules
        found = site_rules.Loader(filters.BaseFilter).get_matching_classes(
            ['site_rules.judging.LastFilter', 'site_rules.some'])

        assert [cls.__name__ for cls in found] == ['LastFilter', 'EvenFilter']

    @pytest.mark.parametrize('path', [
        'site_rules.judging.NoSuchFilter', 'no.such.Filter', 'undotted',
        'site_rules.rating.LettersWeigher', 'site_rules.judging'])
    def test_what_is_none_is_named(self, path):
        from nova import exception
        from nova import filters
        import site_rules
        with pytest.raises(exception.ClassNotFound, match=path):
            site_rules.Loader(filters.BaseFilter).get_matching_classes(
                [path])
