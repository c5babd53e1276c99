"""A new built-in rule needs its file only."""

import importlib
import itertools
import sys
import textwrap

import pytest

from nova_sched import conf as config
from nova_sched import testing
from nova_sched.plugins import loading as plugins
from nova_sched.preflight import startup
from nova_sched.rules import loadables
from nova_sched.rules import nova_classes
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights

FILTER = '''
    from nova_sched.scheduler import filters

    class ExampleFilter(filters.ColumnFilter):
        """Hosts with fewer than ten instances."""

        def mask(self, hosts, spec_obj):
            return hosts.num_instances < 10
'''

WEIGHER = '''
    from nova_sched.scheduler import weights

    class ExampleWeigher(weights.ColumnWeigher):
        """How strongly hosts with many instances are avoided."""

        sign = -1.0
        multiplier_name = 'example_weight_multiplier'
        multiplier_default = 0.5

        def column(self, hosts, spec_obj):
            return hosts.num_instances
'''

CONF = """
[database]
connection = sqlite://
[filter_scheduler]
enabled_filters = ComputeFilter,ExampleFilter
"""


@pytest.fixture(autouse=True)
def example(tmp_path, monkeypatch):
    """(filter class, weigher class) of two new files among the built-ins."""
    modules = {filters: ('example_filter', FILTER),
               weights: ('example', WEIGHER)}
    found = []
    for package, (module, text) in modules.items():
        folder = tmp_path / module
        folder.mkdir()
        folder.joinpath(f'{module}.py').write_text(textwrap.dedent(text))
        monkeypatch.setattr(package, '__path__',
                            [*package.__path__, str(folder)])
        found.append(importlib.import_module(f'{package.__name__}.{module}'))
    yield found[0].ExampleFilter, found[1].ExampleWeigher
    for package, (module, _text) in modules.items():
        del sys.modules[f'{package.__name__}.{module}']
        delattr(package, module)


@pytest.fixture
def parsed(tmp_path):
    """Function: the configuration above with more lines at its end."""
    def parsed(*lines):
        file = tmp_path / 'nova.conf'
        file.write_text(CONF + '\n'.join(lines))
        return config.new_conf([], [str(file)])
    return parsed


def test_is_found_among_the_built_ins(example):
    """A weigher comes after Nova's; neither is in a table."""
    novas = itertools.chain(*nova_classes.WEIGHER_MODULES.values())
    names = [cls.__name__ for cls in plugins.all_weighers()]

    assert 'example_filter' not in nova_classes.FILTER_MODULES
    assert 'example' not in nova_classes.WEIGHER_MODULES
    assert example[0] in plugins.all_filters()
    assert example[1] in plugins.all_weighers()
    assert names.index('ExampleWeigher') > max(map(names.index, novas))


@pytest.mark.parametrize('path', [
    'nova.scheduler.weights.all_weighers',
    'nova_sched.scheduler.weights.example.ExampleWeigher'])
def test_is_loaded_by_its_name_or_path(example, parsed, path):
    conf = parsed(f'weight_classes = {path}')

    assert type(plugins.load_filters(conf)[-1]) is example[0]
    assert example[1] in map(type, plugins.load_weighers(conf))


def test_a_configuration_with_it_is_valid(parsed):
    """Its multiplier counts as no typo of another option."""
    conf = parsed('example_weight_multiplier = 2.0')

    assert startup.problems(conf) == []
    assert config.unknown_options(conf) == []


@pytest.mark.parametrize('lines, multiplier', [
    ([], 0.5), (['example_weight_multiplier = 2.0'], 2.0)])
def test_a_weigher_declares_its_multiplier(example, parsed, lines, multiplier):
    """Also when it is made again of the same configuration."""
    conf = parsed(*lines)

    for _ in range(2):
        made = plugins.make_weigher(example[1], conf)
        assert made.multiplier == multiplier


def test_a_multiplier_that_is_no_number_is_refused(parsed):
    problem, = startup.problems(parsed('example_weight_multiplier = much'))

    assert 'example_weight_multiplier' in str(problem)


def test_an_aggregate_may_set_the_multiplier(example):
    block = testing.hosts(testing.a_host(
        aggregates=[{'example_weight_multiplier': '3'}]))

    assert testing.configured(example[1]).multipliers(block).tolist() == [-3.0]


def test_meets_the_contract_of_rules(example):
    testing.check_filter(example[0])
    testing.check_weigher(example[1])


def test_a_rule_may_be_made_by_its_module(example):
    """The name of its module counts."""
    module = sys.modules[example[0].__module__]
    module.MadeFilter = type('MadeFilter', (example[0],), {
        '__module__': ''.join(list(module.__name__))})

    found = loadables.find_classes(filters.__name__, filters.ColumnFilter)

    assert {example[0], module.MadeFilter} <= {*found}
