"""Measures the look-up of instances during a request.

``python -m benchmarks.instances --database-url URL [--hosts N] [--each N]``
on an empty database of a real MariaDB, which it fills.

For each kind of question of the rules: statements sent, rows received, and the
median time, spent once per request.  Two more rows are for comparison: Nova
with track_instance_changes off, which sends one statement per host, and a
process that keeps the instances of all hosts in memory, like Nova with that
option on.  The latter sends nothing; its memory is printed below the table.
"""

import argparse
import logging
import statistics
import time
import tracemalloc
import types

import sqlalchemy as sa

from nova_sched import conf as config
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import engine as db_engine
from nova_sched.db import reader as db_reader
from nova_sched.db import schema
from nova_sched.db import tables
from nova_sched.hosts import instances

_TIMES = 15
_FLAVORS = 5
_PROPERTIES = ('os_distro', 'os_type', 'hw_disk_bus')


class Counter:
    """Counts the statements and rows of an engine."""

    def __init__(self, engine):
        self.statements = self.rows = 0
        sa.event.listen(engine, 'after_cursor_execute', self._count)

    def _count(self, connection, cursor, *args):
        self.statements += 1
        self.rows += max(0, cursor.rowcount)


def main():
    """Fill the database, measure, and print a table."""
    parser = argparse.ArgumentParser('python -m benchmarks.instances')
    parser.add_argument('--database-url', required=True)
    parser.add_argument('--hosts', type=int, default=1000)
    parser.add_argument('--each', type=int, default=20,
                        help='instances per host')
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    conf = config.new_conf([], [])
    conf.set_override('connection', args.database_url, 'database')
    hosts, uuids = _fill(conf, args.hosts, args.each)
    print(f'{args.hosts} hosts, {args.each} instances each\n')
    print('| question | statements | rows | ms |\n|---|---|---|---|')
    reader = db_reader.HostReader(conf)
    [cell] = reader.cells
    engine = reader._readers_by_cell()[cell].db.engine
    for what, question in _questions(reader, engine, hosts, uuids).items():
        _row(what, engine, question)
    _memory(reader, hosts)


def _questions(reader, engine, hosts, uuids):
    """Return the questions of a request: name -> function."""
    def asking():
        return instances.Instances(
            reader.locate_instances,
            lambda *names: reader.instances_on(
                hosts, names or db_reader.INSTANCE_COLUMNS),
            images=reader.image_properties)

    return {
        'a group of 10, or a hint': lambda: asking().located(uuids[::len(
            uuids) // 10]),
        'a group of 1,000': lambda: asking().located(uuids[:1000]),
        'TypeAffinityFilter': lambda: asking().each('instance_type_id'),
        'a plug-in, all hosts': lambda: asking().on_host(hosts[0]),
        'ImagePropertiesWeigher': lambda: asking().image_properties(
            hosts, _PROPERTIES[:1]),
        'Nova, not tracking: uuids of each host': lambda: _each(
            engine, hosts, tables.instances.c.uuid),
        'Nova of before Rocky: rows of each host': lambda: _each(
            engine, hosts, *tables.instances.c),
    }


def _each(engine, hosts, *columns):
    c = tables.instances.c
    with engine.connect() as connection:
        for host in hosts:
            connection.execute(sa.select(*columns).where(
                c.deleted == 0, c.host == host)).all()


def _row(what, engine, question):
    question()
    counter, times = Counter(engine), []
    question()
    sent, received = counter.statements, counter.rows
    for _ in range(_TIMES if sent < 100 else 3):
        begin = time.perf_counter()
        question()
        times.append(time.perf_counter() - begin)
    print(f'| {what} | {sent} | {received} | '
          f'{statistics.median(times) * 1000:.1f} |', flush=True)


def _memory(reader, hosts):
    """Print the memory that keeping all instances would take."""
    tracemalloc.start()
    kept = [types.SimpleNamespace(**row)
            for row in reader.instances_on(hosts)]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f'\nkept as plain objects of {len(db_reader.INSTANCE_COLUMNS)} '
          f'columns they take {size / 2 ** 20:.0f} MiB, '
          f'{size / len(kept):.0f} bytes each')


def _fill(conf, count, each):
    """Create a cloud; return its hosts' names and its instances' uuids."""
    schema.sync(conf)
    database = db_engine.database(conf)
    fake_cloud.FakeCloud(database.engine, count).create()
    with database.writing() as connection:
        hosts = [host for host, in connection.execute(
            sa.select(tables.compute_nodes.c.host).distinct())]
        rows = [{
            'uuid': f'{number:08x}-0000-4000-8000-{place:012x}', 'host': host,
            'node': host, 'project_id': f'{place % 50:032x}',
            'user_id': f'{place % 90:032x}', 'vm_state': 'active',
            'memory_mb': 2048, 'vcpus': 2, 'root_gb': 20, 'ephemeral_gb': 0,
            'instance_type_id': (number + place) % _FLAVORS,
            'image_ref': f'{place:08x}-0000-4000-8000-000000000000',
            'deleted': 0} for number, host in enumerate(hosts)
            for place in range(each)]
        for start in range(0, len(rows), 5000):
            connection.execute(sa.insert(tables.instances),
                               rows[start:start + 5000])
            connection.execute(sa.insert(tables.instance_system_metadata), [
                {'instance_uuid': row['uuid'], 'key': f'image_{name}',
                 'value': name[::-1], 'deleted': 0}
                for row in rows[start:start + 5000] for name in _PROPERTIES])
    database.close()
    return hosts, [row['uuid'] for row in rows]


if __name__ == '__main__':
    main()
