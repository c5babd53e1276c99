"""Requests that are decided on candidates of the mirror."""

from concurrent import futures
import threading

import pytest

from nova_sched import exception
from nova_sched.context import RequestContext
from nova_sched.inventory import state
from nova_sched.placement import releases
from nova_sched.placement.mirror import providers as mirror_providers
from nova_sched.placement.mirror import upkeep as mirror_upkeep
from nova_sched.scheduler.filter_scheduler import FilterScheduler
from tests.builders import drivers
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.http_providers import Providers
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer
from tests.builders.waiting import in_threads
from tests.builders.waiting import until

HOSTS = {host: a_uuid(number) for number, host in enumerate('abcdef', 1)}
NAMES = {uuid: host for host, uuid in HOSTS.items()}


@pytest.fixture
def cloud(cloud):
    """Hosts a to f, a with the most free RAM."""
    cloud.load_nodes(*(
        a_compute_node(host, uuid=uuid, free_ram_mb=9000 - 100 * number)
        for number, (host, uuid) in enumerate(HOSTS.items())))
    return cloud


@pytest.fixture
def providers(server):
    """The empty providers of these hosts."""
    providers = Providers(server)
    for uuid in HOSTS.values():
        put(providers, uuid)
    return providers


@pytest.fixture
def manager_of(cloud, server, providers, tmp_path):
    """Function: the RPC endpoint of a driver, with a complete mirror.

    options: of [placement].
    """
    made = []

    def manager_of(driver=None, complete=True, **options):
        conf = http_placement.conf_of(server, tmp_path, **options)
        conf.set_override('candidates', 'mirror', 'nova_sched')
        manager = drivers.door(driver or cloud.driver(), conf)
        manager.candidate_source.start()
        made.append(manager.candidate_source)
        if complete:
            until(lambda: manager.candidate_source._mirror.age is not None,
                  'a complete mirror')
            server.asked.clear()
        return manager
    yield manager_of
    for source in made:
        source.stop()


@pytest.fixture
def manager(manager_of):
    return manager_of()


def put(providers, uuid, **fields):
    providers.add(uuid, traits=['OWNER_NOVA'], **fields)


def fill(manager, providers, *hosts):
    """Fill hosts, unknown to the mirror."""
    manager.candidate_source.stop()
    manager.candidate_source._mirror._upkeep.thread.join(60)
    for host in hosts:
        put(providers, HOSTS[host], used=4)


def ask(manager, count=1, **request):
    """The picked hosts, text; count: of instances."""
    spec = requests.a_request(
        num_instances=count, vcpus=1, memory_mb=0, root_gb=0, **request)
    return ''.join(drivers.hosts_in(drivers.ask(
        manager, spec, [a_uuid() for _ in range(count)],
        return_alternates=True)))


def listings(server):
    """How many listings there were; queries of the mirror have no limit."""
    return sum('limit=' in asked.path for asked
               in server.to('GET', '/allocation_candidates'))


def last_record(manager):
    return manager.recorder.decisions[-1]


class TestRequests:
    def test_cost_their_claim(self, manager, server):
        assert ask(manager) == 'a'

        assert listings(server) == 0
        assert len(server.to('PUT', '/allocations/')) == 1
        record = last_record(manager)
        assert 0 <= record.offer.age < 60
        assert {NAMES[uuid] for uuid in record.offer.providers} == set(HOSTS)

    def test_are_listed_until_the_mirror_is_complete(self, manager_of, server):
        server.on('GET', '/resource_providers', HANG)
        manager = manager_of(complete=False)

        assert ask(manager) == 'a'
        assert listings(server) == 1

    def test_go_on_to_the_next_host_when_a_claim_is_refused(
            self, manager, server, providers):
        fill(manager, providers, 'a')

        assert ask(manager) == 'b'
        assert listings(server) == 0

    def test_are_listed_after_three_refusals(self, manager, server, providers):
        fill(manager, providers, *'abcde')

        assert ask(manager) == 'f'
        assert listings(server) == 1
        assert len(server.to('PUT', '/allocations/')) == 4
        record = last_record(manager)
        assert record.outcome == 'placed' and record.reason is None
        assert [claim.host for claim in record.claims] == [*'abcf']

    def test_without_a_host_in_the_mirror_are_listed(self, manager, server,
                                                     providers):
        """A host was emptied, unknown to the mirror."""
        fill(manager, providers, *'abcdef')
        assert ask_none(manager)
        server.asked.clear()
        put(providers, HOSTS['c'], used=0, generation=1)

        assert ask(manager) == 'c'
        assert listings(server) == 1
        assert last_record(manager).offer.age is None

    def test_refused_by_filters_are_listed(self, manager, server, providers):
        """The mirror may lack a host that passes the filters."""
        new = a_uuid(77)
        server.on('GET', '/resource_providers', HANG)
        del providers.there[HOSTS['f']]
        put(providers, new)
        assert ask_none(manager, ignore_hosts=list('abcdef'))

        assert listings(server) == 1
        record = last_record(manager)
        assert (record.outcome, record.tries) == ('refused', 2)

    def test_are_not_listed_when_placement_hangs(
            self, manager_of, server, monkeypatch):
        monkeypatch.setattr(releases, 'AT_ONCE', 0)
        monkeypatch.setattr(releases, 'LATER_PAUSE', 0.01)
        others = set(threading.enumerate())
        manager = manager_of(timeout=1)
        server.on('PUT', '/allocations/', HANG)
        server.on('GET', '/allocations/', HANG)

        assert 'did not respond in time' in ask_none(manager)
        assert listings(server) == 0
        server.on('GET', '/allocations/', http_placement.held())
        for thread in set(threading.enumerate()) - others:
            if thread.name == 'release claims':
                thread.join(60)

    def test_for_many_instances_skip_hosts_that_are_full_by_then(
            self, manager_of, server, providers):
        put(providers, HOSTS['a'], used=3)

        assert ask(manager_of(), 3) == 'abc'
        assert len(server.to('POST', '/allocations')) == 1
        assert server.to('PUT', '/allocations/') == []

    def test_for_many_instances_are_claimed_one_by_one_after_a_refusal(
            self, manager, server, providers):
        fill(manager, providers, 'a')

        assert ask(manager, 3) == 'bcd'
        assert listings(server) == 0
        assert [len(server.to(method, '/allocations'))
                for method in ('POST', 'PUT')] == [1, 4]
        assert [providers.used(HOSTS[host]) for host in 'abcd'] == [4, 1, 1, 1]

    @pytest.mark.parametrize('cast', ['update_aggregates', 'delete_aggregate'])
    def test_read_aggregates_again_after_a_cast(self, manager, cast):
        providers = manager.candidate_source._mirror.providers
        providers.put_members('one', [])
        getattr(manager, cast)(RequestContext(), [])

        assert providers.oldest_aggregate is None


class TestNewHosts:
    """Hosts that start when the mirror is complete; it is not updated."""

    @pytest.fixture
    def manager(self, manager, providers, server):
        fill(manager, providers)
        server.asked.clear()
        return manager

    @pytest.fixture
    def start(self, cloud, providers):
        """Function: have hosts start, with the most free RAM.

        vcpus: of each host's provider; None for no provider.
        """
        started = dict(HOSTS)

        def start(*hosts, vcpus=4):
            for host in hosts:
                started[host] = a_uuid()
                if vcpus is not None:
                    put(providers, started[host], vcpus=vcpus)
            cloud.load_nodes(*(
                a_compute_node(host, uuid=uuid, free_ram_mb=9000 - 100 * (
                    number if host in HOSTS else -number))
                for number, (host, uuid) in enumerate(started.items())))
            return [started[host] for host in hosts]
        return start

    @staticmethod
    def read(server):
        """The uuids of the providers that were read at requests: list."""
        found = [asked.path.split('/')[2] for asked
                 in server.to('GET', '/resource_providers/')]
        server.asked.clear()
        return list(dict.fromkeys(found))

    def test_are_read_before_the_decision(self, manager, server, start):
        ask(manager)
        new = start('g')

        assert ask(manager) == 'g'
        assert listings(server) == 0
        record = last_record(manager)
        assert set(new) < record.offer.providers
        assert self.read(server) == new
        assert ask(manager) == 'g'
        assert self.read(server) == []

    def test_must_fit_the_request(self, manager, start):
        start('g')
        assert ask(manager, ignore_hosts=['g']) == 'a'
        start('h', vcpus=0)
        assert ask(manager) == 'g'

    def test_are_read_few_request_newest_first(self, manager, server, start):
        old = start(*'ghijklmn', vcpus=None)
        ask(manager)
        first = self.read(server)
        assert len(first) == 4
        new = start('z')

        assert ask(manager) == 'z'

        second = self.read(server)
        assert second[0] == new[0] and len(second) == 4
        ask(manager)
        assert {*first, *second, *self.read(server)} == {*old, *new}
        ask(manager)
        assert self.read(server) == []

    @pytest.mark.parametrize('answer', [
        HANG, DROP, http_placement.error(500), Answer(body='[]')])
    def test_unreadable_do_not_delay_requests(
            self, manager, server, start, monkeypatch, answer):
        monkeypatch.setattr(mirror_upkeep, 'NODE_TIMEOUT', 0.1)
        [new] = start('g')
        server.on('GET', f'/resource_providers/{new}', answer)

        assert ask(manager) == 'a'
        assert self.read(server) == [new]
        assert ask(manager) == 'a'
        assert self.read(server) == []

    @pytest.mark.parametrize('uuid', [None, 'a name', '../a', ''])
    def test_without_a_uuid_are_not_read(self, manager, server, cloud, uuid):
        ask(manager)
        cloud.execute('UPDATE compute_nodes SET uuid = ? WHERE host = ?',
                      uuid, 'f')

        assert ask(manager) == 'a'
        assert self.read(server) == []

    def test_are_not_sought_for_reports(self, manager, cloud, monkeypatch):
        ask(manager)
        monkeypatch.setattr(manager.candidate_source, 'include', None)
        cloud.execute('UPDATE compute_nodes SET free_ram_mb = 9999, '
                      'updated_at = ? WHERE host = ?',
                      '2099-01-01 00:00:00', 'f')

        assert ask(manager) == 'f'

    def test_are_read_once_for_concurrent_requests(self, manager, server,
                                                   start):
        new = start('g', 'h')
        with futures.ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(ask, manager)

        assert [set(new) < record.offer.providers for record
                in manager.recorder.decisions] == [True] * 4
        assert len(server.to('GET', '/resource_providers/')) == 4 * len(new)

    def test_are_read_outside_of_the_decision_lock(
            self, manager, server, start, monkeypatch):
        monkeypatch.setattr(state, 'PATIENCE', 600)
        [new] = start('g')
        is_read, go_on = threading.Event(), threading.Event()
        [read] = server.routes('GET', '/resource_providers')

        def slowly(asked):
            is_read.set()
            assert go_on.wait(60)
            return read(asked)
        server.on('GET', f'/resource_providers/{new}', slowly)
        with futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(ask, manager)
            assert is_read.wait(60)
            with manager.driver.host_manager.state.deciding():
                go_on.set()
            assert first.result() == 'g'


def ask_none(manager, **request):
    """The error text of a refused request."""
    with pytest.raises(exception.NoValidHost) as caught:
        ask(manager, **request)
    return str(caught.value)


class TestListedHosts:
    """One place is free, on c, unknown to the mirror."""

    @pytest.fixture
    def manager(self, manager_of, providers):
        for uuid in HOSTS.values():
            put(providers, uuid, used=4)
        manager = manager_of()
        fill(manager, providers)
        put(providers, HOSTS['c'], used=3, generation=1)
        return manager

    @pytest.fixture
    def after_listing(self, manager, monkeypatch):
        """Function: have a function called after each listing."""
        listed = manager.candidate_source.listed

        def after_listing(then):
            def slowly(*args):
                found = listed(*args)
                then()
                return found
            monkeypatch.setattr(manager.candidate_source, 'listed', slowly)
        return after_listing

    def test_are_claimed_once(self, manager, server, providers, after_listing):
        """All callers saw the place; Placement refuses no claim."""
        crowd, first = threading.Barrier(4), iter(range(4))
        after_listing(lambda: next(first, None) is None or crowd.wait(60))
        answers = []

        def answer():
            try:
                answers.append(ask(manager))
            except exception.NoValidHost:
                answers.append(None)
        in_threads(*[answer] * 4)

        assert sorted(answers, key=str) == [None, None, None, 'c']
        assert len(server.to('PUT', '/allocations/')) == 1
        assert providers.used(HOSTS['c']) == 4

    @pytest.mark.parametrize('times, listed', [(0, 1), (1, 2), (9, 3)])
    def test_changed_in_between_are_listed_at_most_three_times(
            self, manager, server, after_listing, times, listed):
        """Releases change providers, too."""
        amounts, left = {HOSTS['c']: {'VCPU': 1}}, [None] * times

        def touch():
            if left:
                left.pop()
                manager.candidate_source._mirror.providers.assume(amounts)
                manager.candidate_source._mirror.providers.forget(amounts)
        after_listing(touch)

        assert ask(manager) == 'c'
        assert listings(server) == listed

    def test_under_another_claim_are_not_claimed(
            self, manager, server, after_listing, monkeypatch):
        monkeypatch.setattr(mirror_providers, 'PATIENCE', 0)
        providers = manager.candidate_source._mirror.providers
        after_listing(lambda: providers.assume({HOSTS['c']: {'VCPU': 1}}))

        assert ask_none(manager)
        assert listings(server) == 3
        assert server.to('PUT', '/allocations/') == []


class SummariesScheduler(FilterScheduler):
    WANTS_SUMMARIES = True


def test_summaries_are_of_listings(manager_of, cloud, server, providers):
    manager = manager_of(cloud.driver(f'{__name__}.SummariesScheduler'),
                         complete=False)

    assert ask(manager) == 'a'
    assert listings(server) == 1
    assert manager.candidate_source._mirror is None
