"""What the service knows of filters and weighers of somebody else's."""

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.compat import current_hosts
from nova_sched.compat import row_rules
from nova_sched.hosts.decision import Decision
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
    """Looks at all that a plug-in may know."""

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
    """Written when filters were asked before a request's turn."""

    def asks(self, spec_obj):
        return True

    def keep(self, hosts, spec_obj):
        assert hosts.snapshot.may_ask
        return super().keep(hosts, spec_obj)

    def host_passes(self, host_state, spec_obj):
        return host_state.host == 'b'


class RefusingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        raise exception.InvalidInput(reason='a secret')


class SilentWeigher(weights.BaseHostWeigher):
    """Has nothing to say about one host."""

    def __init__(self, value=None):
        self.value = value

    def _weigh_object(self, host_state, weight_properties):
        return self.value if host_state.host == 'b' else 1.0


class UncountedWeigher(SilentWeigher):
    def weight_multiplier(self, host_state=None):
        """Returns nothing."""

    def _weigh_object(self, host_state, weight_properties):
        return 1.0


class OwnWeigher(weights.BaseHostWeigher):
    """Prefers the host that a hint of Kilo's form names."""

    minval, maxval = 0.0, 2.0

    def weight_multiplier(self, host_state):
        return 3.0

    def _weigh_object(self, host_state, weight_properties):
        return float(weight_properties['scheduler_hints'] == {
            'host': host_state.host})


class WritingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        filter_properties['instance_type']['memory_mb'] = 1
        return True


def adapted(cls):
    """The adapter of a filter class, and hosts."""
    [adapter] = row_rules.adapted_filters([cls()])
    return adapter, hosts(a_host('a'), a_host('b'))


def test_a_filter_gets_the_request_and_the_hosts_that_nova_s_get():
    adapter, block = adapted(OwnFilter)
    spec_obj = a_request()
    current_hosts.clear()

    assert adapter.keep(block, spec_obj).tolist() == [False, True]
    assert len({id(given) for given in adapter.rule.given}) == 1
    assert isinstance(adapter.rule.given[0], objects.RequestSpec)
    with pytest.raises(current_hosts.NoCurrentHosts):
        objects.AggregateList.get_all(None)


def test_it_is_known_by_the_name_of_the_plug_in():
    adapter, _ = adapted(OwnFilter)

    assert type(adapter).__name__ == 'OwnFilter'
    assert adapter.RUN_ON_REBUILD
    assert not adapter.run_filter_for_index(1)


def test_refusals_name_it_by_its_code():
    adapted = row_rules.adapted_filters([
        OwnFilter(), type('GpuFilter', (OwnFilter,), {'code': 'gpu_model'})(),
        CoreFilter()])
    block = hosts(a_host())

    assert [filter_.codes(block, a_request()) for filter_ in adapted] == [
        {'own': 1}, {'gpu_model': 1}, {'vcpus': 1}]


def test_its_words_are_told_to_operators_alone():
    adapter, block = adapted(OwnFilter)

    reason = adapter.reason(block, a_request())

    assert reason == '1 a for None, 1 b for None'
    assert not hasattr(reason, 'request')
    assert adapter.why_not(block.states()[1], a_request()) == 'b for None'


def test_its_limits_are_asked():
    adapter, block = adapted(OwnFilter)

    assert adapter.limits(block, a_request(vcpus=4)) == {'vcpu': 4}


@pytest.mark.parametrize('hint', ['yes', 'no'])
@pytest.mark.parametrize('name', ['lists_instances', 'needs_all_instances'])
def test_it_may_say_by_an_older_name_that_it_looks_at_all_instances(
        name, hint):
    rule = type('ListingFilter', (filters.BaseHostFilter,), {
        name: lambda self, spec_obj: (
            spec_obj.get('scheduler_hints') == {'list': 'yes'})})
    ranker = loading.ranker([rule()], [])

    assert ranker.needs_all_instances(
        a_request(hints={'list': [hint]})) == (hint == 'yes')


def test_one_that_asks_others_is_warned_of_once_and_judges(caplog):
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


def test_a_refusal_bears_its_name():
    adapter, block = adapted(RefusingFilter)

    with pytest.raises(exception.InvalidInput) as caught:
        adapter.keep(block, a_request())

    assert caught.value.for_caller('filters').args == (
        'Invalid input received: RefusingFilter refuses the request',)


def test_a_weigher_gets_the_same():
    [adapter] = row_rules.adapted_weighers([OwnWeigher()])
    block = hosts(a_host('a'), a_host('b'))

    assert adapter.raw(block, a_request(
        hints={'host': ['b']})).tolist() == [0.0, 1.0]
    assert adapter.multipliers(block).tolist() == [3.0, 3.0]
    assert (adapter.minval, adapter.maxval) == (0.0, 2.0)
    assert type(adapter).__name__ == 'OwnWeigher'


def test_built_in_rules_judge_by_what_was_written_to_the_request():
    chain = row_rules.adapted_filters(
        [WritingFilter(), configured(RamFilter)])
    block, spec_obj = hosts(a_host('a')), a_request(memory_mb=10 ** 6)

    assert [rule.keep(block, spec_obj).tolist() for rule in chain] == [
        [True], [True]]
    assert spec_obj.memory_mb == 10 ** 6


def test_built_in_rules_alone_have_no_adapters():
    ranker = loading.load_ranker(a_conf())

    assert not [rule for rule in (*ranker.filters, *ranker.weighers)
                if type(rule).__module__.startswith('nova_sched.compat')]


def test_a_filter_that_runs_twice_has_one_adapter():
    own = OwnFilter()
    first, second, other = row_rules.adapted_filters([own, own, OwnFilter()])

    assert first is second is not other
    assert row_rules.adapted_filters([first]) == [first]


def test_what_each_rejected_is_on_record_under_its_name():
    driver = MemoryScheduler(
        a_host('a'), a_host('b'), available_filters=[
            f'{__name__}.OwnFilter', 'nova.scheduler.filters.all_filters'],
        enabled_filters=['AllHostsFilter', 'OwnFilter'])
    block, record = hosts(a_host('a'), a_host('b')), Decision()

    driver.ranker.ranked(block, a_request(), 0, record)

    assert [(step.name, step.before, step.after)
            for step in record.funnel.steps] == [
        ('AllHostsFilter', 2, 2), ('OwnFilter', 2, 1)]


class TestWeightsThatAreNoNumbers:
    """Without its weigher a request is decided wrong, as if it were not."""

    CLOUD = hosts(a_host('a'), a_host('b'), a_host('c'))

    @pytest.mark.parametrize('value', [None, float('nan')])
    def test_are_an_error_that_names_the_weigher_and_a_host(self, value):
        [weigher] = row_rules.adapted_weighers([SilentWeigher(value)])

        with pytest.raises(ValueError, match=(
                r'SilentWeigher gives 1 of 3 hosts None or NaN as their '
                r'weight, which must be a number; the first one is \(b, b\)'
                )):
            weigher.raw(self.CLOUD, a_request())

    def test_are_one_as_a_multiplier_too(self):
        [weigher] = row_rules.adapted_weighers([UncountedWeigher()])

        with pytest.raises(ValueError, match=(
                'weight_multiplier of UncountedWeigher returns None for host '
                r'\(a, a\)')):
            weigher.multipliers(self.CLOUD)

    def test_fail_the_request(self):
        driver = MemoryScheduler(
            a_host('a'), a_host('b'), weight_classes=[
                f'{__name__}.SilentWeigher'])

        with pytest.raises(ValueError, match='SilentWeigher'):
            picks(driver, a_request())
