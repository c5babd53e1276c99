"""A service releases its connections, threads and replaced drivers."""

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
from tests.builders.services import periodic_work
from tests.builders.services import select


@pytest.fixture
def opened(cloud, opened):
    """Function: counts open connections except for the test's own."""
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
    """A running service; its configuration files do not change."""
    monkeypatch.setattr(conf, 'reload_config_files', lambda: True)
    # It would remove the handlers of caplog.
    monkeypatch.setattr(service.logging, 'setup', lambda *_: None)
    Kept.made.clear()
    scheduler = service.SchedulerService(conf)
    scheduler.start()
    yield scheduler
    scheduler.stop()


@pytest.fixture
def loops(monkeypatch):
    return periodic_work(monkeypatch)


class Kept(caching_scheduler.CachingScheduler):
    """A driver that keeps all its instances alive."""

    made = []

    def __init__(self, conf):
        super().__init__(conf)
        self.made.append(self)


class TestConnections:
    @pytest.mark.parametrize('name', ['filter_scheduler', 'chance_scheduler'])
    @pytest.mark.parametrize('mapped', [False, True])
    def test_stop_closes_connections_of_a_driver(self, cloud, opened, name,
                                                 mapped):
        cloud.load(hosts=2)
        made = cloud.driver(name, **(
            {'api_database__connection': cloud.url} if mapped else {}))
        made.host_manager.aggregates()
        assert opened()

        made.stop()

        assert not opened()

    def test_to_unmapped_cells_are_closed(self, cloud, opened):
        cloud.load(hosts=2)
        hosts = reader.HostReader(cloud.conf())
        hosts.for_each_cell(lambda cell: cell.probe())
        before = opened()

        hosts.set_cells(())

        assert opened() == before - 1

    def test_are_closed_by_reloads_and_the_stop(
            self, opened, serving, monkeypatch):
        by_record, transports = 1, []
        monkeypatch.setattr(serving._transport, 'cleanup',
                            lambda: transports.append('closed'))
        for _ in range(2):
            serving.reset()
        assert len(Kept.made) == 3
        assert opened() > by_record
        assert transports == []

        serving.stop()

        assert opened() == by_record
        assert transports == ['closed']

    def test_to_the_api_database_of_before_newton_are_closed(
            self, cloud, opened):
        made = [engine.Database(cloud.url) for _ in range(2)]
        api = api_reader.ApiReader(*made)
        assert all(database.engine for database in made)

        api.close()

        assert not opened()

    def test_for_the_discovery_of_hosts_are_closed(self, cloud, conf, opened):
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
    def test_survives_a_lost_database(self, cloud, loops, serving, caplog):
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
    #: Classes of the objects that a driver consists of.
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
        # Calls start threads up to this number.
        conf.set_override('executor_thread_pool_size', 1)
        return conf

    @pytest.fixture(autouse=True)
    def others(self, serving):
        """Exclude existing objects from garbage collection."""
        gc.freeze()
        yield
        gc.unfreeze()

    def alive(self):
        """Return the number of objects of each kind."""
        gc.collect()
        found = collections.Counter(
            next((kind.__name__ for kind in self.KINDS
                  if isinstance(each, kind)), None)
            for each in gc.get_objects() if not isinstance(each, type))
        del found[None]
        return found

    @staticmethod
    def decided(serving):
        """Return the number of stored decisions."""
        messages.until_over(serving.server)
        with serving.recorder.reading() as store:
            return len(store.summaries(1000))

    def test_release_the_previous_drivers(self, conf, serving):
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
        # Objects of other tests may come or go: fewer than the reloads.
        grown = self.alive() - before
        assert max(grown.values(), default=0) < self.RELOADS / 2, grown

    def test_collect_cyclic_garbage(self, conf, serving):
        """A driver is megabytes, and full collections are rare."""
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
    """SystemExit during a reload."""

    def test_in_the_start_stops_the_new_driver(self, serving, monkeypatch):
        [old] = Kept.made
        stopped = []
        monkeypatch.setattr(Kept, 'stop', lambda self: stopped.append(self))
        monkeypatch.setattr(Kept, 'start', lambda self: exit())

        with pytest.raises(SystemExit):
            serving.reset()

        assert stopped == [Kept.made[1]]
        assert serving.driver is old

    def test_during_take_over_leaves_the_old_driver_unchanged(self, cloud):
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
