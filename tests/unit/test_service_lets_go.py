"""What a service holds it lets go: connections, periodic work, claims."""

import collections
import gc
import threading
import weakref

from oslo_config import cfg
import pytest
import sqlalchemy as sa

from nova_sched import service
from nova_sched.db import api_reader
from nova_sched.db import discovery
from nova_sched.db import engine
from nova_sched.db import reader
from nova_sched.hosts import table
from nova_sched.objects import aggregate
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import driver
from tests.builders import clouds
from tests.builders import messages
from tests.builders.drivers import free_ram_mb
from tests.builders.drivers import picks
from tests.builders.in_flight import a_server
from tests.builders.services import select


@pytest.fixture
def opened(cloud, opened):
    """As of all tests, but for the test's own."""
    cloud.rows('SELECT 1')
    own = opened()
    return lambda: opened() - own


@pytest.fixture
def conf(cloud):
    cloud.load(hosts=2)
    return cloud.conf(
        DEFAULT__transport_url='fake://', DEFAULT__host='here',
        scheduler__driver=f'{__name__}.Kept',
        scheduler__periodic_task_interval=1000,
        scheduler__discover_hosts_in_cells_interval=-1)


@pytest.fixture
def serving(conf, monkeypatch):
    """A service on its first driver; its files never say anything new."""
    monkeypatch.setattr(conf, 'reload_config_files', lambda: True)
    # It would take the handlers away that see the lines.
    monkeypatch.setattr(service.logging, 'setup', lambda *_: None)
    Kept.made.clear()
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    yield scheduler
    scheduler.stop()


@pytest.fixture
def loops(monkeypatch):
    """The periodic work that was begun: [Loop]."""
    begun = []

    class Loop:
        def __init__(self, work, *args):
            self.round, self.running = lambda: work(*args), False

        def start(self, interval, initial_delay, stop_on_exception):
            begun.append(self)
            self.running = True

        def stop(self):
            self.running = False
    monkeypatch.setattr(service, 'LoopingCall', Loop)
    return begun


class Kept(caching_scheduler.CachingScheduler):
    """Of which somebody holds every one that was made."""

    made = []

    def __init__(self, conf):
        super().__init__(conf)
        self.made.append(self)


class TestConnections:
    @pytest.mark.parametrize('name', ['filter_scheduler', 'chance_scheduler'])
    @pytest.mark.parametrize('mapped', [False, True])
    def test_of_a_driver_are_closed_by_its_stop(self, cloud, opened, name,
                                                mapped):
        """Those to a database of cells, and those to one that maps them."""
        cloud.load(hosts=2)
        made = cloud.driver(name, **(
            {'api_database__connection': cloud.url} if mapped else {}))
        made.host_manager.aggregates()
        assert opened()

        made.stop()

        assert not opened()

    def test_of_cells_that_are_mapped_no_more_are_closed(self, cloud, opened):
        cloud.load(hosts=2)
        hosts = reader.HostReader(cloud.conf())
        hosts.for_each_cell(lambda cell: cell.probe())
        before = opened()

        hosts.set_cells(())

        assert opened() == before - 1

    def test_of_all_drivers_are_closed_by_a_stop_of_the_service(
            self, opened, serving):
        """Those of the first ones by the reload that replaces them."""
        by_record = 1
        for _ in range(2):
            serving.reset()
        assert len(Kept.made) == 3
        assert opened() > by_record

        serving.stop()

        assert opened() == by_record

    def test_to_a_database_in_the_api_databases_place_are_closed(
            self, cloud, opened):
        """As of before Newton, when the database of the hosts is read."""
        made = [engine.Database(cloud.url) for _ in range(2)]
        api = api_reader.ApiReader(*made)
        assert all(database.engine for database in made)

        api.close()

        assert not opened()

    def test_to_the_broker_are_closed_by_a_stop(self, conf, monkeypatch):
        closed, get_transport = [], service.rpc.get_transport

        def get(conf):
            transport = get_transport(conf)
            cleanup = transport.cleanup
            monkeypatch.setattr(transport, 'cleanup', lambda: (
                closed.append(transport), cleanup()))
            return transport
        monkeypatch.setattr(service.rpc, 'get_transport', get)
        scheduler = service.SchedulerService(conf)
        scheduler.start()
        assert not closed

        scheduler.stop()

        assert len(closed) == 1

    def test_that_looked_whether_a_database_answers_are_closed(
            self, conf, opened):
        engine.wait_for_database(conf, None)

        assert not opened()

    def test_that_looked_for_new_hosts_are_closed(self, cloud, conf, opened):
        conf.set_override('connection', cloud.url, 'api_database')
        cloud.execute('DELETE FROM host_mappings')
        cloud.execute('UPDATE compute_nodes SET mapped = 0')
        cloud.execute('UPDATE cell_mappings SET database_connection = ?',
                      cloud.url)
        looking = discovery.Discovery(conf)
        assert looking.run().mapped
        assert opened() > 1

        looking.close()

        assert not opened()


class TestPeriodicWork:
    def test_of_the_driver_before_ends_with_a_reload(self, loops, serving):
        """And that of the new one begins, which ends with the service."""
        serving.reset()
        assert [loop.running for loop in loops] == [False, True]

        serving.stop()

        assert [loop.running for loop in loops] == [False, False]

    def test_is_that_of_the_driver_that_serves(self, cloud, loops, serving):
        serving.reset()
        old, fresh = Kept.made
        cloud.execute('DELETE FROM compute_nodes WHERE host = ?', 'host1')

        loops[-1].round()

        assert old.host_count() == fresh.host_count() == 1

    def test_survives_a_lost_database(self, cloud, loops, serving, caplog):
        """It says so, and reads again when the database is back."""
        [old] = Kept.made
        cloud.execute('ALTER TABLE services RENAME TO moved')
        cloud.execute('DELETE FROM compute_nodes WHERE host = ?', 'host1')

        loops[-1].round()

        assert 'next try in 1000 seconds' in caplog.text
        assert old.host_count() == 2
        cloud.execute('ALTER TABLE moved RENAME TO services')
        loops[-1].round()
        assert old.host_count() == 1


class TestReloads:
    #: What a driver is made of, and what it reads.
    KINDS = (driver.Scheduler, reader.HostReader, sa.Engine, table.HostTable,
             aggregate.Aggregate, cfg.ConfigOpts, threading.Thread)

    RELOADS = 6

    @pytest.fixture
    def conf(self, cloud, conf):
        cloud.load(hosts=2, aggregates=[clouds.an_aggregate(
            hosts=['host1'], metadata={'key': 'value'})])
        conf.set_override('driver', 'filter_scheduler', 'scheduler')
        conf.set_override('enabled_filters', [
            'AvailabilityZoneFilter', 'AggregateRamFilter',
            'AggregateImagePropertiesIsolation', 'AggregateTypeAffinityFilter',
            'AggregateMultiTenancyIsolation'], 'filter_scheduler')
        # Calls make threads until there are so many.
        conf.set_override('executor_thread_pool_size', 1)
        return conf

    @pytest.fixture(autouse=True)
    def others(self, serving):
        """What is there before is not looked through each time."""
        gc.freeze()
        yield
        gc.unfreeze()

    def alive(self):
        """How many objects of each kind there are."""
        gc.collect()
        found = collections.Counter(
            next((kind.__name__ for kind in self.KINDS
                  if isinstance(each, kind)), None)
            for each in gc.get_objects() if not isinstance(each, type))
        del found[None]
        return found

    @staticmethod
    def decided(serving):
        """How many decisions are kept, once all are written."""
        messages.until_over(serving.server)
        with serving.recorder.reading() as store:
            return len(store.summaries(1000))

    def test_leave_nothing_of_the_drivers_before(self, conf, serving):
        """Whatever was decided in between, of which there are records."""
        def reload():
            select(conf)
            serving.reset()
        for _ in range(3):
            reload()
        self.decided(serving)
        before = self.alive()

        for _ in range(self.RELOADS):
            reload()

        assert self.decided(serving) == 3 + self.RELOADS
        # Something of other tests may come or go meanwhile: fewer than these.
        grown = self.alive() - before
        assert max(grown.values(), default=0) < self.RELOADS / 2, grown

    def test_wait_for_no_round_of_the_garbage_collector(self, conf, serving):
        """Which are rare in a worker, and a driver is megabytes."""
        class Cycle:
            pass

        cycle = Cycle()
        cycle.itself, gone = cycle, weakref.ref(cycle)
        gc.disable()
        try:
            del cycle
            serving.reset()
            assert gone() is None
        finally:
            gc.enable()


class TestExit:
    """An exit that something asks for in the midst of a request or reload."""

    def test_in_its_start_stops_the_new_driver(self, serving, monkeypatch):
        [old] = Kept.made
        stopped = []
        monkeypatch.setattr(Kept, 'stop', lambda self: stopped.append(self))
        monkeypatch.setattr(Kept, 'start', lambda self: exit())

        with pytest.raises(SystemExit):
            serving.reset()

        assert stopped == [Kept.made[1]]
        assert serving.driver is old

    def test_when_it_takes_over_leaves_the_old_driver_as_it_was(self, cloud):
        cloud.load(hosts=1)
        old, fresh = cloud.driver(), cloud.driver()
        before = free_ram_mb(old)
        fresh.host_manager.take_over = lambda predecessor: exit()

        with pytest.raises(SystemExit):
            fresh.take_over(old)

        [(host, free)] = before.items()
        assert picks(old, a_server()) == [host]
        assert free_ram_mb(old) == {host: free - 1000}
        assert free_ram_mb(fresh) == before


def test_a_driver_of_ones_own_is_stopped_by_the_class_it_derives_from(cloud):
    """Whatever its host manager keeps."""
    cloud.load(hosts=1)
    made, closed = cloud.driver(), []
    made.host_manager.close = lambda: closed.append(True)

    driver.HostScheduler.stop(made)

    assert closed
