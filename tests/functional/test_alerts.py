"""The alerts and the dashboard, with a real Prometheus and a real service.

For each fault its alert fires within a minute, and no other alert.
"""

import contextlib
import datetime
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from nova_sched.db import engine
from nova_sched.db import tables
from tests.builders import http_placement
from tests.builders import http_providers
from tests.functional import broker
from tests.functional import cell_databases
from tests.functional import ports
from tests.functional import processes
from tests.functional.cell_databases import CELL1
from tests.functional.cell_databases import CELL2
from tests.functional.conftest import HOSTS
from tests.functional.mariadb import MariaDB
from tests.functional.prometheus import RULES
from tests.functional.prometheus import TOP
from tests.functional.prometheus import Prometheus

pytestmark = pytest.mark.real

TESTS = TOP / 'tests' / 'data' / 'prometheus' / 'nova-sched-alerts.test.yaml'
DASHBOARD = TOP / 'etc' / 'nova-sched' / 'grafana' / 'nova-sched.json'

NAMES = {'one': ['a', 'b', 'c'], 'two': ['d']}

#: Seconds within which an alert fires, and to wait for further alerts.
FIRES, AFTER = 60, 20
#: Seconds that a slow Placement takes, and that a wrong clock is ahead.
SLOW, AHEAD = 3, 600
#: Options for alerts within a minute.
OPTIONS = {'nova_sched__cell_timeout': 5, 'DEFAULT__service_down_time': 15,
           'nova_sched__pick_lifetime': 0}


class Bed:
    """A service of two workers with its servers and callers.

    There are two cells; the second has a MariaDB of its own.
    """

    def __init__(self, stage, exits):
        self.stage, self._exits = stage, exits
        self._callers, self.skew, self.memory = threading.Event(), {}, 1
        self.beats = True
        self._databases = []

    def start(self):
        """Start everything; return once Prometheus has scraped it."""
        self.placement = self._exits.enter_context(
            http_placement.offering(*HOSTS.values()))
        kept = http_providers.Providers(self.placement)
        for uuid in HOSTS.values():
            kept.add(uuid, vcpus=1 << 20, traits=['OWNER_NOVA'], others={
                'MEMORY_MB': 1 << 30, 'DISK_GB': 1 << 30})
        self.door_to_placement, self.door_to_broker = (
            self._exits.enter_context(processes.door_to(url))
            for url in (self.placement.url, self.stage.transport_url))
        port = ports.free_port()
        uri = f'tcp://127.0.0.1:{port}'
        self.daemon = self.stage.daemon(
            2, api_database__connection=self._cells(),
            healthcheck__uri=uri, nova_sched__metrics_uri=uri,
            DEFAULT__transport_url=self.door_to_broker.url,
            placement__auth_type='none', **OPTIONS,
            placement__endpoint_override=self.door_to_placement.url)
        for _ in range(4):
            self._beside(self._call, self.stage.client(
                DEFAULT__rpc_response_timeout=10,
                DEFAULT__long_rpc_timeout=10))
        self.prometheus = self._exits.enter_context(
            Prometheus(self.stage.directory, port))
        self.prometheus.wait_until_scraped(3)

    def _cells(self):
        """Create the databases; return the URL of the API database."""
        self.mariadb = MariaDB('nova_cell2')
        self.mariadb.start()
        self._exits.callback(self.mariadb.end)
        api_url, one_url = self._exits.enter_context(cell_databases.new(2))
        self.stage.sync()
        cells = [(CELL1, 'one', one_url), (CELL2, 'two', self.mariadb.url)]
        cell_databases.fill(api_url, cells=cells)
        for _, name, url in cells:
            cell_databases.fill(
                url, {host: HOSTS[host] for host in NAMES[name]})
            self._beside(self._beat, engine.Database(url))
        return api_url

    def _beside(self, function, *args):
        """Call a function repeatedly in a thread until the end."""
        def loop():
            while not self._callers.wait(0.4):
                with contextlib.suppress(Exception):
                    function(*args)
        thread = threading.Thread(target=loop)
        thread.start()
        self._exits.callback(thread.join)
        self._exits.callback(self._callers.set)

    def _beat(self, database):
        """Write a heartbeat of each host of a cell."""
        if not self.beats:
            return
        services = tables.services
        with database.writing() as connection:
            for host in HOSTS:
                seen = datetime.datetime.now(
                    datetime.UTC).replace(tzinfo=None, microsecond=0)
                seen += datetime.timedelta(seconds=self.skew.get(host, 0))
                connection.execute(services.update().where(
                    services.c.host == host).values(last_seen_up=seen))

    def _call(self, client):
        client.ask(memory_mb=self.memory)

    # The faults.

    def lose_the_broker(self):
        self.door_to_broker.close()

    def delete_the_queue(self):
        with broker.channel(self.stage.transport_url) as channel:
            channel.queue_delete('scheduler')

    def stop_a_cell(self):
        self.mariadb.stop()

    def hang_a_cell(self):
        self.mariadb.hang()
        self._exits.callback(self.mariadb.resume)

    def stop_placement(self):
        self.door_to_placement.close()

    def slow_placement(self):
        answer = self.placement.answer

        def slowly(asked):
            time.sleep(SLOW)
            return answer(asked)
        self.placement.answer = slowly

    def turn_a_clock(self):
        self.skew = {'a': AHEAD}

    def stop_all_computes(self):
        self.beats = False

    def ask_for_too_much(self):
        self.memory = 1 << 24

    def stop_a_worker(self):
        os.kill(self.daemon.workers[0], signal.SIGSTOP)


@pytest.fixture
def bed(stage):
    with contextlib.ExitStack() as exits:
        made = Bed(stage, exits)
        made.start()
        yield made


@pytest.mark.parametrize('fault, alert', [
    (Bed.lose_the_broker, 'NovaSchedBrokerGone'),
    (Bed.delete_the_queue, 'NovaSchedQueueGone'),
    (Bed.stop_a_cell, 'NovaSchedCellDown'),
    (Bed.hang_a_cell, 'NovaSchedCellDown'),
    (Bed.stop_placement, 'NovaSchedPlacementDown'),
    (Bed.slow_placement, 'NovaSchedPlacementSlow'),
    (Bed.turn_a_clock, 'NovaSchedClockOff'),
    (Bed.stop_all_computes, 'NovaSchedAllHostsDown'),
    (Bed.ask_for_too_much, 'NovaSchedRefusals'),
    (Bed.stop_a_worker, 'NovaSchedWorkerStuck')],
    ids=lambda each: getattr(each, '__name__', ''))
def test_fault_fires_its_alert_within_a_minute_and_no_other(
        bed, fault, alert):
    assert bed.prometheus.firing() == set()
    fault(bed)
    begin, fired = time.monotonic(), set()
    processes.until(lambda: bed.prometheus.firing(), 'an alert fires', FIRES)
    took = time.monotonic() - begin
    while time.monotonic() < begin + took + AFTER:
        fired |= bed.prometheus.firing()
        time.sleep(1)
    assert fired == {alert}
    print(f'{alert} fired after {took:.0f} seconds')  # noqa: T201


def test_rules_pass_promtool():
    for command in (['check', 'rules', RULES], ['test', 'rules', TESTS]):
        done = subprocess.run(['promtool', *command], capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_dashboard_query_returns_data(bed):
    bed.prometheus.wait_until_scraped(6)
    bed.ask_for_too_much()
    queries = {target['expr']: panel['title']
               for panel in json.loads(DASHBOARD.read_text())['panels']
               for target in panel['targets']}

    def unanswered():
        return {expression: title for expression, title in queries.items()
                if not bed.prometheus.query(_filled(expression))}
    processes.until(lambda: not unanswered(), 'all queries have data')


def _filled(expression):
    """An expression with Grafana's variables replaced."""
    expression = expression.replace('$__rate_interval', '1m')
    return expression.replace('$job', 'nova-sched').replace('$instance', '.*')
