"""Requests for the same, ranked from what was ranked before."""

import collections
import logging
import time

import pytest

from nova_sched import weights
from nova_sched.objects import Aggregate
from nova_sched.plugins import loading as plugins
from nova_sched.rules import kept_rankings
from nova_sched.scheduler.filters.compute_filter import ComputeFilter
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.rules import configured

COUNT = 40
RAM = 'nova.scheduler.weights.ram.RAMWeigher'


class Scene:
    """A scheduler on hosts with ever less free memory.

    anew: how often all hosts were weighed.
    """

    def __init__(self, **options):
        self.driver = MemoryScheduler(
            *(a_host(f'h{number:02}', free_ram_mb=9000 - 100 * number,
                     total_usable_ram_mb=20000) for number in range(COUNT)),
            **{'weight_classes': [RAM], **options})
        self.anew = 0

    def pick(self, **values):
        """The host of a request, one more of the same by default."""
        [host] = picks(self.driver, requests.a_request(
            **{'memory_mb': 512, **values}))
        return host

    def report(self, row, **values):
        """Have a host report other values."""
        self.driver._hosts = self.driver._hosts.replaced({row: values})

    @property
    def steps(self):
        return [(step.name, step.before, step.after)
                for step in self.driver.decision.steps]


@pytest.fixture
def scenes(monkeypatch):
    """Function that makes a Scene with these options."""
    found, weigh = [], weights.WeightHandler.weigh

    def noted(handler, *args):
        found[-1].anew += 1
        return weigh(handler, *args)
    monkeypatch.setattr(weights.WeightHandler, 'weigh', noted)

    def make(**options):
        found.append(Scene(**options))
        return found[-1]
    return make


@pytest.fixture
def scene(scenes):
    return scenes()


class TestTheSameAgain:
    def test_is_not_ranked_anew(self, scene):
        assert [scene.pick(), scene.pick()] == ['h00', 'h00']
        assert scene.anew == 1

    def test_has_the_same_on_record(self, scene):
        scene.pick()
        before = scene.driver.decision
        scene.pick()
        after = scene.driver.decision

        assert after.steps == before.steps
        assert after.picks[0].weight == before.picks[0].weight
        assert after.parts(0) == before.parts(0)
        assert list(after.weighed[0].rows) == list(before.weighed[0].rows)

    def test_follows_what_a_host_reports(self, scene):
        scene.pick()
        scene.report(0, free_ram_mb=1000)
        assert scene.pick() == 'h01'
        scene.report(7, free_ram_mb=9999)
        assert scene.pick() == 'h07'
        assert scene.anew == 1

    def test_is_of_the_instance_that_is_asked_for(self, scene):
        for uuid in ('one', 'two'):
            scene.pick(instance_uuid=uuid)
            assert scene.driver.decision.picks[0].instance_uuid == uuid
        assert scene.anew == 1

    def test_leaves_what_was_ranked_before_as_it_was(self, scene):
        """Another request may be ranked from it at the same time."""
        scene.pick()
        [kept] = scene.driver.ranker._kept._kept.values()
        columns = [kept.weighed.values, *kept.weighed.raw,
                   *kept.weighed.normalized]
        before = [column.copy() for column in columns]
        scene.report(0, free_ram_mb=1000)
        scene.pick()
        assert scene.anew == 1
        for column, was in zip(columns, before, strict=True):
            assert (column == was).all()

    def test_of_several_instances_has_all_that_is_free(self, scenes):
        """What the first request's picks took was its own."""
        scene = scenes(enabled_filters=['RamFilter'])
        first, second = (
            picks(scene.driver, requests.a_request(memory_mb=3000),
                  [f'{name}{number}' for number in range(5)])
            for name in 'ab')
        assert first == second
        assert len(set(first)) > 1

    def test_limits_what_compute_nodes_are_to_take(self, scenes):
        scene = scenes(enabled_filters=['RamFilter'])
        first, second = (
            select(scene.driver, requests.a_request())[0][0].limits
            for _ in range(2))
        assert first.memory_mb == second.memory_mb is not None

    @pytest.mark.parametrize('filter_, report, asked, line', [
        ('CoreFilter', {'vcpus_total': 0}, {}, 'VCPUs not set'),
        ('RetryFilter', {}, {'retry': [('h03', 'h03')]},
         'Previously tried hosts')])
    def test_has_the_same_lines_in_the_log(self, scenes, caplog, filter_,
                                           report, asked, line):
        caplog.set_level(logging.INFO)
        scene = scenes(enabled_filters=[filter_])
        if report:
            scene.report(3, **report)
        for _ in range(2):
            caplog.clear()
            scene.pick(**asked)
            assert len([text for text in caplog.messages if line in text]) == 1
        assert scene.anew == 1


class TestOfADatabase:
    """Which services are up is worked out for each request."""

    @pytest.fixture
    def asked(self, monkeypatch):
        """How often each of two filters has judged hosts."""
        found = collections.Counter()
        for cls in (ComputeFilter, RamFilter):
            def mask(rule, hosts, spec_obj, judge=cls.mask):
                found[type(rule).__name__] += 1
                return judge(rule, hosts, spec_obj)
            monkeypatch.setattr(cls, 'mask', mask)
        return found

    @pytest.fixture
    def driver(self, cloud):
        cloud.load(COUNT)
        return cloud.driver(enabled_filters=['ComputeFilter', 'RamFilter'],
                            DEFAULT__service_down_time=9999)

    @staticmethod
    def pick(driver, number):
        [host] = picks(driver, requests.a_request(),
                       [clouds.a_uuid(number)])
        return host

    def test_asks_those_alone_that_look_at_what_instances_take(self, driver,
                                                               asked):
        for number in range(4):
            self.pick(driver, number)

        assert asked == {'ComputeFilter': 1, 'RamFilter': 4}

    def test_is_ranked_anew_after_a_minute(self, driver, asked):
        began = time.time()
        for number, later in enumerate((0, 1, 59, 61, 62, 120, 0)):
            driver.host_manager.now = lambda now=began + later: now
            self.pick(driver, number)

        assert asked['ComputeFilter'] == 3


class Untouchable:
    """What a rule must not look at: fails where it does."""

    asked = False

    def __getattr__(self, name):
        raise AssertionError(name)


@pytest.mark.parametrize('cls', [*plugins.all_filters(),
                                 *plugins.all_weighers()],
                         ids=lambda cls: cls.__name__)
def test_a_rule_that_looks_elsewhere_says_so(cls):
    rule, spec = configured(cls), requests.a_request(numa_topology=a_guest(
        guest_cell(floating=1)))
    snapshot = table(a_host(numa_topology=cells_text(a_cell())),
                     a_host('b')).snapshot(Untouchable(), Untouchable())
    judge = getattr(rule, 'keep', None) or rule.raw

    if not rule.looks_elsewhere(spec):
        judge(snapshot.block(), spec)


class TestIsRankedAnew:
    @pytest.mark.parametrize('values', [
        {'memory_mb': 600}, {'vcpus': 3}, {'availability_zone': 'elsewhere'},
        {'project_id': 'another'}], ids=lambda values: ''.join(values))
    def test_what_is_asked_for_otherwise(self, scenes, values):
        scene = scenes(enabled_filters=['RamFilter'])
        scene.pick()
        scene.pick(**values)
        assert scene.anew == 2

    def test_a_request_with_hints(self, scene):
        for _ in range(2):
            scene.pick(scheduler_hints={'group': ['g']})
        assert scene.anew == 2

    def test_where_a_host_passes_no_more(self, scenes):
        scene = scenes(enabled_filters=['RamFilter'])
        scene.pick()
        scene.report(0, free_ram_mb=-90000)
        assert scene.pick() == 'h01'
        assert scene.anew == 2
        assert scene.steps[-1] == ('RamFilter', COUNT, COUNT - 1)

    def test_where_a_host_passes_again(self, scenes):
        scene = scenes(enabled_filters=['RamFilter'])
        scene.report(0, free_ram_mb=-90000)
        scene.pick()
        scene.report(0, free_ram_mb=9000)
        assert scene.pick() == 'h00'
        assert scene.anew == 2

    def test_where_a_host_falls_silent(self, scenes):
        scene = scenes(enabled_filters=['ComputeFilter'])
        scene.pick()
        scene.report(0, service_up=False)
        assert scene.pick() == 'h01'
        assert scene.anew == 2

    def test_where_many_hosts_have_changed(self, scene):
        scene.pick()
        for row in range(kept_rankings.MOST_CHANGED + 1):
            scene.report(row, free_ram_mb=100 + row)
        assert scene.pick() == f'h{kept_rankings.MOST_CHANGED + 1:02}'
        assert scene.anew == 2

    def test_where_hosts_are_gone(self, scene):
        scene.pick()
        scene.driver._hosts = scene.driver._hosts.without([0])
        assert scene.pick() == 'h01'
        assert scene.anew == 2

    def test_where_an_aggregate_is_another_one(self, scene):
        scene.pick()
        scene.report(1, aggregates=(Aggregate(
            id=1, name='a', metadata={'ram_weight_multiplier': '-1'}),))
        scene.pick()
        assert scene.anew == 2

    def test_where_lines_are_written_of_all_hosts(self, scene, caplog):
        caplog.set_level(logging.DEBUG)
        scene.pick()
        scene.pick()
        assert scene.anew == 2

    def test_what_rests_on_other_instances(self, scenes):
        scene = scenes(enabled_filters=['TypeAffinityFilter'])
        scene.pick()
        scene.pick()
        assert scene.anew == 2

    def test_what_has_been_kept_longest(self, scene):
        for number in range(kept_rankings.MOST + 1):
            scene.pick(memory_mb=100 + number)
        scene.pick(memory_mb=100)
        assert scene.anew == kept_rankings.MOST + 2

    def test_with_a_plug_in(self, scenes):
        scene = scenes()
        scene.driver.ranker.has_plug_ins = True
        scene.pick()
        scene.pick()
        assert scene.anew == 2
