"""Fake compute services that report at Nova's default intervals.

Each service sends a heartbeat every 10 seconds. Each compute node looks at its
usage every 60 seconds, and saves it if it has changed, in one of ten cases.
Both are spread evenly over the time. Runs as a separate process:
``python -m benchmarks.compute_services DATABASE_URL``.
"""

import itertools
import sys
import time

import sqlalchemy as sa

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

TICKS = 10                   # per second
HEARTBEAT, AUDIT = 10, 60    # seconds
CHANGED = 10                 # one in this many audits finds a change


def main(url):
    """Report until killed, for an equal share of the hosts in each tick."""
    database = db_engine.Database(url)
    with database.reading() as connection:
        hosts = connection.execute(sa.select(sa.func.max(
            tables.compute_nodes.c.id))).scalar()
    begin = time.monotonic()
    for tick in itertools.count():
        with database.writing() as connection:
            for statement in _reports(tick, hosts):
                connection.execute(statement)
        time.sleep(max(0, begin + (tick + 1) / TICKS - time.monotonic()))


def _reports(tick, hosts):
    """Yield the statements of a tick, for hosts with ids up to ``hosts``."""
    now = cloud_file.utcnow()
    services, nodes = tables.services, tables.compute_nodes
    yield services.update().where(
        services.c.id.in_(_due(tick, HEARTBEAT, hosts))).values(
            report_count=services.c.report_count + 1, last_seen_up=now,
            updated_at=now)
    yield nodes.update().where(
        nodes.c.id.in_(_due(tick, AUDIT * CHANGED, hosts))).values(
            running_vms=tick % 100, updated_at=now)


def _due(tick, seconds, hosts):
    """Return the ids that are due in a tick, with ``seconds`` as interval."""
    every = seconds * TICKS
    turn = tick % every
    return range(1 + turn * hosts // every,
                 1 + (turn + 1) * hosts // every)


if __name__ == '__main__':
    main(sys.argv[1])
