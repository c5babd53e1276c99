"""A real Prometheus that scrapes a service and evaluates the alerts."""

import json
import pathlib
import subprocess
from urllib import error
from urllib import parse
from urllib import request

from tests.functional import ports
from tests.functional.processes import PATIENCE
from tests.functional.processes import until

TOP = pathlib.Path(__file__).parents[2]
RULES = TOP / 'etc' / 'nova-sched' / 'prometheus' / 'nova-sched-alerts.yaml'

#: With the documented intervals; JSON is YAML.
_CONFIGURATION = {
    'global': {'scrape_interval': '15s', 'evaluation_interval': '15s'},
    'rule_files': [str(RULES)]}


class Prometheus:
    """A server in a directory that scrapes a port during a block."""

    def __init__(self, directory, port):
        self._directory = pathlib.Path(directory) / 'prometheus'
        self._directory.mkdir()
        self._url = f'http://127.0.0.1:{ports.free_port()}'
        self._scraped = port

    def __enter__(self):
        config = self._directory / 'prometheus.yml'
        config.write_text(json.dumps(_CONFIGURATION | {'scrape_configs': [{
            'job_name': 'nova-sched', 'static_configs': [
                {'targets': [f'127.0.0.1:{self._scraped}']}]}]}))
        with open(self._directory / 'log', 'wb') as log:
            self._process = subprocess.Popen(
                ['prometheus', f'--config.file={config}',
                 f'--storage.tsdb.path={self._directory / "data"}',
                 f'--web.listen-address={self._url.rpartition("/")[2]}'],
                stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(PATIENCE)

    def query(self, expression):
        """Evaluate an expression: list of (labels, number)."""
        query = parse.urlencode({'query': expression})
        try:
            with request.urlopen(
                    f'{self._url}/api/v1/query?{query}') as answer:
                found = json.load(answer)['data']['result']
        except error.URLError:
            return []
        return [(each['metric'], float(each['value'][1])) for each in found]

    def wait_until_scraped(self, times):
        """Return once it has scraped the service ``times`` times."""
        until(lambda: [count for _, count in self.query(
            'count_over_time(nova_sched_workers[10m])') if count >= times],
            f'it is scraped {times} times')

    def firing(self):
        """The names of the firing alerts: set."""
        return {labels['alertname'] for labels, _ in self.query(
            'ALERTS{alertstate="firing"}')}
