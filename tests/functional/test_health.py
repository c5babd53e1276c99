"""A daemon serves its health and its metrics over HTTP."""

import http.client
import json
import os
import signal

from prometheus_client import parser
import pytest

from tests.functional import broker
from tests.functional import ports
from tests.functional import processes
from tests.functional.processes import until

pytestmark = pytest.mark.real


class Endpoint:
    """An HTTP endpoint of a daemon, on a port."""

    def __init__(self, port):
        self._port = port

    def get(self, path, method='GET'):
        """(status, headers, text) of one request."""
        connection = http.client.HTTPConnection('127.0.0.1', self._port,
                                                timeout=30)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return (answer.status, dict(answer.getheaders()),
                    answer.read().decode())
        finally:
            connection.close()

    def health(self):
        """The document of /health: dict; empty while there is no answer."""
        try:
            return json.loads(self.get('/health')[2])
        except OSError:
            return {}

    def status(self, check=None):
        """The status of the service or of a check; None without it."""
        document = self.health()
        return (document.get('checks', {}).get(check, {}) if check
                else document).get('status')

    def metrics(self):
        """The samples of /metrics: (name, labels) -> number."""
        try:
            text = self.get('/metrics')[2]
        except OSError:
            return {}
        return {(sample.name, *sorted(sample.labels.items())): sample.value
                for family in parser.text_string_to_metric_families(text)
                for sample in family.samples}


@pytest.fixture
def serve(stage):
    """Function that starts a daemon with hosts: (Program, Endpoint)."""
    stage.cloud(4)

    def serve(workers=2, **options):
        port = ports.free_port()
        uri = f'tcp://127.0.0.1:{port}'
        daemon = stage.daemon(workers, healthcheck__uri=uri,
                              nova_sched__metrics_uri=uri, **options)
        endpoint = Endpoint(port)
        until(lambda: endpoint.status('consuming') == 'pass'
              and endpoint.metrics()['nova_sched_workers',] == workers,
              'all workers report that they are well')
        return daemon, endpoint
    return serve


PLACED = ('nova_sched_requests_total', ('code', 'none'), ('kind', 'none'),
          ('outcome', 'placed'))


def test_metrics_count_all_workers_and_outlive_them(stage, serve):
    daemon, endpoint = serve()
    ask = stage.client().ask

    def until_counted(number):
        wanted = {
            PLACED: number,
            ('nova_sched_decision_seconds_count',): number,
            ('nova_sched_step_seconds_count', ('step', 'filter')): number,
            **{('nova_sched_filter_hosts_before_total', ('filter', name)):
               4 * number
               for name in ('ComputeFilter', 'ServerGroupAffinityFilter')}}
        until(lambda: wanted.items() <= endpoint.metrics().items(),
              f'{number} are counted')

    ask()
    # Two workers that name a metric at the same time may lose a count.
    until_counted(1)
    for _ in range(5):
        ask()
    until_counted(6)
    found = endpoint.metrics()
    assert found['nova_sched_workers',] == 2
    assert found['nova_sched_hosts', ('state', 'up')] == 4

    for pid in daemon.workers:
        os.kill(pid, signal.SIGKILL)
    daemon.wait_for_lines('Serving requests', times=4)
    assert endpoint.metrics()[PLACED] == 6
    ask()
    until(lambda: endpoint.metrics().get(PLACED) == 7, 'one more is counted')


def test_killed_health_process_is_replaced(stage, serve):
    daemon, endpoint = serve(workers=1)
    stage.client().ask()
    before = daemon.endpoints
    os.kill(before, signal.SIGKILL)

    until(lambda: daemon.endpoints not in (before, None), 'a new process')
    until(lambda: endpoint.status('workers') == 'pass', 'it answers')
    assert endpoint.metrics()[PLACED] == 1


def test_health_fails_while_the_broker_is_away(stage, serve):
    door = stage.door_to_broker()
    door.open()
    _, endpoint = serve(
        workers=1, DEFAULT__transport_url=door.url)
    until(lambda: endpoint.status('message_bus') == 'pass', 'it is there')

    door.close()
    until(lambda: endpoint.status('message_bus') == 'fail', 'it is away')
    status, headers, text = endpoint.get('/health')
    assert (status, headers['Content-Type'], headers['Cache-Control']) == (
        503, 'application/health+json', 'no-cache')
    assert 'Connection refused' in json.loads(text)['checks']['message_bus'][
        'output']

    door.open()
    until(lambda: endpoint.status() == 'pass', 'it is back')


def test_deleted_queue_is_reported_and_declared_again(stage, serve):
    _, endpoint = serve(workers=1)
    with broker.channel(stage.transport_url) as channel:
        channel.queue_delete('scheduler')

    until(lambda: 'was declared again' in endpoint.health()['checks'][
        'consuming'].get('output', ''), 'a report of the new queue')
    assert endpoint.get('/health')[0] == 200
    assert endpoint.metrics()['nova_sched_queue_gone_total',] >= 1
    assert stage.client().ask()


def test_single_process_serves_health_and_metrics(stage):
    stage.cloud(4)
    port = ports.free_port()
    config = stage.config_file(
        healthcheck__uri=f'tcp://[::1]:{port}, tcp://127.0.0.1:{port}',
        nova_sched__metrics_uri=f'tcp://127.0.0.1:{port}')
    with processes.running('nova-sched', [
            '--no-fork', '--config-file', config],
            stage.directory / 'alone.log') as alone:
        alone.wait_for_lines('Serving requests')
        endpoint = Endpoint(port)
        until(lambda: endpoint.status('workers') == 'pass', 'it reports')
        stage.client().ask()
        until(lambda: endpoint.metrics().get(PLACED) == 1, 'it counts')
        assert alone.stop()[0] == 0
