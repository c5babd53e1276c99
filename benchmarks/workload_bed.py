"""A cloud in a SQLite file, and a caching driver for it."""

import gc
import logging
import pathlib
import time

import sqlalchemy as sa

from benchmarks import topology
from benchmarks import workload_requests
from benchmarks.asked import Answer
from benchmarks.violations import Room
from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.db import tables
from nova_sched.hosts import decision
from nova_sched.scheduler import caching_scheduler

#: Hosts send no heartbeats, and placed instances never show in the database:
#: only instances in flight use resources.
_OPTIONS = {'DEFAULT': {'service_down_time': 864000},
            'nova_sched': {'pick_lifetime': 864000}}


class Bed:
    """The cloud of one workload.

    workload: workload_data.Workload.  directory: for its database.

    rooms: {host: violations.Room} of the allowed hosts.
    """

    def __init__(self, workload, directory):
        self.workload = workload
        directory = pathlib.Path(directory) / workload.name
        directory.mkdir()
        path = directory / 'scheduler.conf'
        path.write_text(_configuration(
            f'sqlite:///{directory}/cloud.sqlite', workload.options))
        self.conf = config.new_conf([], [str(path)])
        # Creation of the tables is not measured.
        logging.getLogger('alembic').setLevel(logging.WARNING)
        schema.sync(self.conf)
        database = db_engine.database(self.conf)
        try:
            self.rooms = self._fill(database.engine)
        finally:
            database.close()

    def _fill(self, engine):
        """Create the cloud; return the rooms of its hosts."""
        hosts = self.workload.hosts
        if self.workload.kind == 'topology':
            rooms = topology.rooms(self.workload.requests_of['data'], hosts)
            cloud_file.load(engine, topology.cloud(rooms))
            return rooms
        cloud = fake_cloud.FakeCloud(engine, hosts)
        cloud.create()
        closed = {cloud.dead_host, cloud.disabled_host,
                  cloud.forced_down_host}
        return {host: room for host, room in _rooms(engine)
                if host not in closed}

    def run(self):
        """Decide all requests on the empty cloud: (answers, cells).

        answers: list of Answer.
        cells: {host: [(CPUs, MiB) used of each NUMA cell]} at the end,
            counted by the driver; of hosts with known cells.
        """
        driver = caching_scheduler.CachingScheduler(self.conf)
        driver.start()
        # Like the service after the start of its driver.
        gc.collect()
        gc.freeze()
        try:
            answers = self._answers(driver)
            return answers, _cells(driver.host_manager)
        finally:
            gc.unfreeze()
            driver.stop()

    def _answers(self, driver):
        answers, refused = [], 0
        conductor = workload_requests.Conductor()
        for asked in workload_requests.of_kind(self.workload):
            spec_obj, uuids = conductor.request(asked)
            answer = decide(driver, asked, spec_obj, uuids)
            answers.append(answer)
            if answer.hosts:
                conductor.note(asked, uuids, answer.hosts)
            refused = 0 if answer.hosts else refused + 1
            if refused == self.workload.refused_in_a_row:
                break
        return answers


def decide(driver, asked, spec_obj, uuids):
    """Decide one request, with alternates; return the Answer with its time."""
    ctxt = context.RequestContext(is_admin=True)
    record, hosts, reason = decision.Decision(), (), ''
    begin, begin_cpu = time.perf_counter(), time.process_time()
    try:
        lists = driver.select_destinations(
            ctxt, spec_obj, uuids, return_alternates=True, record=record)
    except exception.NoValidHost as error:
        reason = error.kwargs['reason']
    ms, cpu_ms = ((time.perf_counter() - begin) * 1000,
                  (time.process_time() - begin_cpu) * 1000)
    if not reason:
        hosts = tuple(found[0].service_host for found in lists)
    return Answer(asked, hosts, reason, ms, cpu_ms,
                  record.milliseconds.get('state', 0.0))


def _configuration(url, options):
    sections = {section: dict(values) for section, values in _OPTIONS.items()}
    sections['database'] = {'connection': url}
    for section, values in options.items():
        sections.setdefault(section, {}).update(values)
    return ''.join(
        f'[{section}]\n' + ''.join(f'{name} = {value}\n'
                                   for name, value in values.items())
        for section, values in sections.items())


def _rooms(engine):
    """Yield (host, Room) for the row of each compute node."""
    c = tables.compute_nodes.c
    with engine.connect() as connection:
        for row in connection.execute(sa.select(
                c.host, c.vcpus, c.vcpus_used, c.memory_mb, c.memory_mb_used,
                c.local_gb, c.local_gb_used, c.cpu_allocation_ratio,
                c.ram_allocation_ratio, c.disk_allocation_ratio)):
            yield row.host, Room(
                row.vcpus * row.cpu_allocation_ratio - row.vcpus_used,
                row.memory_mb * row.ram_allocation_ratio - row.memory_mb_used,
                row.local_gb * row.disk_allocation_ratio - row.local_gb_used)


def _cells(manager):
    hosts = manager.snapshot(manager.view().table, manager.instances())
    found = {}
    for row in range(manager.count()):
        topology_ = hosts.value('numa_topology', row)
        if topology_ is not None:
            found[hosts.value('host', row)] = [
                (cell.cpu_usage, cell.memory_usage)
                for cell in topology_.cells]
    return found
