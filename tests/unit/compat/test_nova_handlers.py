"""Nova's innermost base classes, and its handlers.

Handlers load rules and run them on host states.
"""

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
def site_rules(tmp_path, monkeypatch):
    """A package with a module of filters and a module of weighers."""
    package = tmp_path / 'site_rules'
    package.mkdir()
    (package / '__init__.py').write_text(
        'from nova import loadables\n'
        'class Loader(loadables.BaseLoader):\n    pass\n'
        'def some():\n    from site_rules import judging\n'
        '    return [judging.EvenFilter]\n')
    (package / 'judging.py').write_text(FILTERS)
    (package / 'rating.py').write_text(WEIGHERS)
    for name in [*sys.modules]:
        if name.partition('.')[0] == package.name:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    nova_names.provide(a_conf())
    yield
    for name in [name for name in sys.modules if name.startswith('site_')]:
        del sys.modules[name]


def states():
    return testing.hosts(
        *(testing.a_host(name) for name in 'abc')).states()


class TestInnermostBaseClasses:
    @pytest.mark.parametrize(('filters', 'weighers', 'picked'), [
        (['EvenFilter'], [], 'a'), (['LastFilter'], [], 'c'),
        (['EvenFilter', 'LastFilter'], [], 'c'),
        ([], ['LettersWeigher'], 'c'), ([], ['TogetherWeigher'], 'a')])
    def test_rule_decides(self, filters, weighers, picked):
        """Filters also on a rebuild, unless they exclude it."""
        driver = MemoryScheduler(
            *(testing.a_host(name) for name in 'abc'),
            available_filters=[
                f'site_rules.judging.{name}' for name in filters],
            enabled_filters=filters, weight_classes=[
                f'site_rules.rating.{name}' for name in weighers])

        assert picks(driver, testing.a_request()) == [picked]
        assert not filters or picks(driver, testing.a_request(
            hints={'_nova_check_type': ['rebuild']})) == [picked]

    def test_filter_keeps_the_contract(self):
        from site_rules import judging

        testing.check_filter(judging.EvenFilter)


class TestHandlers:
    @pytest.fixture
    def run(self):
        """Function: names of the hosts that pass filters, or None."""
        from nova.scheduler import filters

        def run(chain, objs, *args, **kwargs):
            passing = filters.HostFilterHandler().get_filtered_objects(
                chain, objs, *args, **kwargs)
            return passing if passing is None else ''.join(
                state.host for state in passing)
        return run

    def test_filters_run_one_after_the_other(self, run):
        """Objects, or classes as in Juno; index is that of the instance."""
        from site_rules import judging
        chain = [judging.EvenFilter(), judging.LastFilter()]
        spec = testing.a_request()

        assert run(chain, states(), spec) == 'c'
        assert run(chain, iter(states()), spec, index=1) == 'ac'
        assert run([type(rule) for rule in chain], states(), dict(spec),
                   0) == 'c'
        assert run([judging.StopFilter()], states(), spec) is None
        assert run([], states(), spec) == 'abc'
        assert run(chain, [], spec) == ''

    def test_weights_are_summed_up(self):
        """Best first; a single host is not weighed."""
        from nova.scheduler import weights
        from site_rules import rating
        handler = weights.HostWeightHandler()
        chain = [rating.LettersWeigher(), rating.TogetherWeigher()]
        spec = testing.a_request()

        weighed = handler.get_weighed_objects(chain, states(), spec)

        assert [(host.obj.host, host.weight) for host in weighed] == [
            ('c', 1.75), ('b', 1.25), ('a', 0.25)]
        assert isinstance(weighed[0], weights.WeighedHost)
        single, = handler.get_weighed_objects(
            [rating.LettersWeigher], states()[:1], spec)
        assert single.weight == 0.0

    def test_built_in_rules_run_when_configured(self, run):
        from nova.conf import CONF
        from nova.scheduler import filters
        from nova.scheduler import weights

        chain = [cls() for cls
                 in filters.HostFilterHandler().get_matching_classes([
                     'nova.scheduler.filters.io_ops_filter.IoOpsFilter',
                     'nova.scheduler.filters.ram_filter.RamFilter'])]
        weighers = [cls() for cls in weights.all_weighers()]
        for rule in (*chain, *weighers):
            rule.configure(CONF)

        assert run(chain, states(), testing.a_request(
            memory_mb=100)) == 'abc'
        assert len(weights.HostWeightHandler().get_weighed_objects(
            weighers, states(), testing.a_request())) == 3

    def test_built_in_classes_are_known(self):
        from nova.scheduler import filters
        from nova.scheduler import weights

        for handler, every, path in (
                (filters.HostFilterHandler(), loading.all_filters(),
                 'nova.scheduler.filters.all_filters'),
                (weights.HostWeightHandler(), loading.all_weighers(),
                 'nova.scheduler.weights.all_weighers')):
            assert set(handler.get_all_classes()) == set(every)
            assert set(handler.get_matching_classes([path])) == set(every)


class TestLoader:
    @pytest.fixture
    def loader(self):
        from nova import filters
        import site_rules
        return site_rules.Loader(filters.BaseFilter)

    def test_classes_are_found_in_its_package_and_by_path(self, loader):
        assert {cls.__name__ for cls in loader.get_all_classes()} == {
            'EvenFilter', 'LastFilter', 'StopFilter'}
        assert [cls.__name__ for cls in loader.get_matching_classes(
            ['site_rules.judging.LastFilter', 'site_rules.some'])] == [
            'LastFilter', 'EvenFilter']

    @pytest.mark.parametrize('path', [
        'site_rules.judging.NoSuchFilter', 'no.such.Filter', 'undotted',
        'site_rules.rating.LettersWeigher', 'site_rules.judging'])
    def test_wrong_path_is_named(self, loader, path):
        from nova import exception
        with pytest.raises(exception.ClassNotFound, match=path):
            loader.get_matching_classes([path])
