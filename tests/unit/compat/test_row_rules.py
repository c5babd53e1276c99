"""Adapters run third parties' filters and weighers on host states."""

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.compat import current_hosts
from nova_sched.compat import row_rules
from nova_sched.plugins import loading
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights
from nova_sched.scheduler.filters.core_filter import CoreFilter
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_conf
from tests.builders.rules import configured


class OwnFilter(filters.BaseHostFilter):
    """Reads everything that a plug-in may read."""

    run_filter_once_per_request = True
    RUN_ON_REBUILD = True

    def __init__(self):
        self.given = []

    def host_passes(self, host_state, filter_properties):
        self.given.append(filter_properties)
        assert filter_properties['request_spec']['num_instances'] == 1
        assert objects.AggregateList.get_all(None) is not None
        return host_state.host == 'b'

    def why_not(self, host_state, spec_obj):
        return f'{host_state.host} for {spec_obj["os_type"]}'

    def limits(self, hosts, spec_obj):
        return {'vcpu': spec_obj['instance_type']['vcpus']}


class AskingFilter(filters.BaseHostFilter):
    """Has the method that ran before a request's turn."""

    def asks(self, spec_obj):
        return True

    def host_passes(self, host_state, spec_obj):
        return host_state.host == 'b'


class RefusingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        raise exception.InvalidInput(reason='a secret')


class WritingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        filter_properties['instance_type']['memory_mb'] = 1
        return True


class SilentWeigher(weights.BaseHostWeigher):
    """Returns no weight for one host."""

    def __init__(self, value=None):
        self.value = value

    def _weigh_object(self, host_state, weight_properties):
        return self.value if host_state.host == 'b' else 1.0


class UncountedWeigher(weights.BaseHostWeigher):
    def weight_multiplier(self, host_state=None):
        """Return nothing."""

    def _weigh_object(self, host_state, weight_properties):
        return 1.0


class OwnWeigher(weights.BaseHostWeigher):
    """Prefers the host of a hint in Kilo's form."""

    minval, maxval = 0.0, 2.0

    def weight_multiplier(self, host_state):
        return 3.0

    def _weigh_object(self, host_state, weight_properties):
        return float(weight_properties['scheduler_hints'] == {
            'host': host_state.host})


@pytest.fixture
def block():
    return hosts(a_host('a'), a_host('b'))


def adapted(cls):
    """Return the adapter of a filter class."""
    [adapter] = row_rules.adapted_filters([cls()])
    return adapter


def test_filter_gets_the_request_and_current_hosts(block):
    """Which are gone after it has run."""
    adapter = adapted(OwnFilter)
    current_hosts.clear()

    assert adapter.keep(block, a_request()).tolist() == [False, True]
    assert len({id(given) for given in adapter.rule.given}) == 1
    assert isinstance(adapter.rule.given[0], objects.RequestSpec)
    with pytest.raises(current_hosts.NoCurrentHosts):
        objects.AggregateList.get_all(None)


def test_adapter_has_the_plug_in_s_attributes(block):
    adapter = adapted(OwnFilter)

    assert type(adapter).__name__ == 'OwnFilter'
    assert adapter.RUN_ON_REBUILD
    assert not adapter.run_filter_for_index(1)
    assert adapter.limits(block, a_request(vcpus=4)) == {'vcpu': 4}


def test_refusals_have_its_code():
    adapters = row_rules.adapted_filters([
        OwnFilter(), type('GpuFilter', (OwnFilter,), {'code': 'gpu_model'})(),
        CoreFilter()])
    block = hosts(a_host())

    assert [adapter.codes(block, a_request()) for adapter in adapters] == [
        {'own': 1}, {'gpu_model': 1}, {'vcpus': 1}]


def test_its_reasons_are_for_operators_alone(block):
    adapter = adapted(OwnFilter)
    reason = adapter.reason(block, a_request())

    assert reason == '1 a for None, 1 b for None'
    assert not hasattr(reason, 'request')
    assert adapter.why_not(block.states()[1], a_request()) == 'b for None'


def test_its_error_names_it_to_the_caller(block):
    """Without its reason."""
    with pytest.raises(exception.InvalidInput) as caught:
        adapted(RefusingFilter).keep(block, a_request())

    assert caught.value.for_caller('filters').args == (
        'Invalid input received: RefusingFilter refuses the request',)


def test_method_asks_is_warned_of_once(caplog):
    name = f'{__name__}.AskingFilter'
    driver = MemoryScheduler(
        a_host('a'), a_host('b'), available_filters=[name],
        enabled_filters=['AskingFilter'] * 2)

    assert picks(driver, a_request()) == ['b']
    assert [text for text in caplog.messages if 'AskingFilter' in text] == [
        'Filter AskingFilter has a method asks, which is no longer called: it '
        'queries another service while requests wait for its verdict. Query '
        'in a thread of its own, filter by the latest answer, and remove the '
        'method']


def test_weigher_gets_the_request(block):
    [adapter] = row_rules.adapted_weighers([OwnWeigher()])

    assert adapter.raw(block, a_request(
        hints={'host': ['b']})).tolist() == [0.0, 1.0]
    assert adapter.multipliers(block).tolist() == [3.0, 3.0]
    assert (adapter.minval, adapter.maxval) == (0.0, 2.0)
    assert type(adapter).__name__ == 'OwnWeigher'


def test_built_in_rules_read_changed_filter_properties(block):
    chain = row_rules.adapted_filters(
        [WritingFilter(), configured(RamFilter)])
    spec_obj = a_request(memory_mb=10 ** 6)

    assert [rule.keep(block, spec_obj).tolist() for rule in chain] == [
        [True, True], [True, True]]
    assert spec_obj.memory_mb == 10 ** 6


def test_built_in_rules_alone_have_no_adapters():
    ranker = loading.load_ranker(a_conf())

    assert not [rule for rule in (*ranker.filters, *ranker.weighers)
                if type(rule).__module__.startswith('nova_sched.compat')]


def test_filter_that_runs_twice_has_one_adapter():
    own = OwnFilter()
    first, second, other = row_rules.adapted_filters([own, own, OwnFilter()])

    assert first is second is not other
    assert row_rules.adapted_filters([first]) == [first]


@pytest.mark.parametrize(('weigher', 'match'), [
    *((SilentWeigher(value), r'SilentWeigher gives 1 of 2 hosts None or NaN '
       r'as their weight, which must be a number; the first one is \(b, b\)')
      for value in (None, float('nan'))),
    (UncountedWeigher(), r'weight_multiplier of UncountedWeigher returns None '
     r'for host \(a, a\)')])
def test_weight_that_is_no_number_is_an_error(block, weigher, match):
    """A request must not be decided as if there were no such weigher."""
    [adapter] = row_rules.adapted_weighers([weigher])

    with pytest.raises(ValueError, match=match):
        adapter.raw(block, a_request())
        adapter.multipliers(block)
