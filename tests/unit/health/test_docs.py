"""Each metric, check and alert is documented, and no other.

Alerts, their tests for promtool, and the dashboard use labels of metrics that
services expose: with and without cells, and after requests that were placed
and refused.
"""

import json
import re

from prometheus_client import parser
import pytest
import yaml

from nova_sched import exception
from nova_sched.health import board
from nova_sched.health import reporter
from nova_sched.observe.metrics import Metrics
from tests.builders import drivers
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.cloud_database import CloudDatabase
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.mapped_cloud import MappedCloud
from tests.functional.prometheus import RULES
from tests.functional.prometheus import TOP
from tests.unit import doc_pages
from tests.unit.health.test_reporter import Scheduler
from tests.unit.health.test_reporter import a_contact

ALERTS = {rule['alert']: rule for group
          in yaml.safe_load(RULES.read_text())['groups']
          for rule in group['rules']}
PROMTOOL = yaml.safe_load(TOP.joinpath(
    'tests/data/prometheus/nova-sched-alerts.test.yaml').read_text())['tests']
PANELS = json.loads(TOP.joinpath(
    'etc/nova-sched/grafana/nova-sched.json').read_text())['panels']
EXPRESSIONS = {alert: f'{rule["expr"]} {rule["annotations"]["summary"]}'
               for alert, rule in ALERTS.items()} | {
    panel['title']: ' '.join(target['expr'] for target in panel['targets'])
    for panel in PANELS} | {'runbooks': doc_pages.PAGES['alerts.rst']}
PAGE = doc_pages.PAGES['health-and-metrics.rst']
#: Labels that Prometheus adds to each metric.
ADDED = {'job', 'instance'}
MATCHES = {'=': str.__eq__, '!=': str.__ne__,
           '=~': lambda value, pattern: re.fullmatch(pattern, value)}


@pytest.fixture(scope='module')
def exposed(tables_file, tmp_path_factory):
    """The samples of two services: list of (name, labels)."""
    mapped, single = (kind(tables_file, tmp_path_factory.mktemp('cloud'))
                      for kind in (MappedCloud, CloudDatabase))
    return _exposed(mapped, mapped.one) + _exposed(single, single)


def _exposed(cloud, cell):
    """The samples of a service that placed a request and refused one."""
    cell.load_nodes(a_compute_node('a', uuid=a_uuid(1)))
    metrics, page = Metrics(lambda: 0, 1), board.Board('x', 1, 0)
    metrics.start()
    driver = cloud.driver()
    scheduler = Scheduler(placement=a_contact())
    scheduler.driver = driver
    with http_placement.offering(a_uuid(1)) as server:
        door = drivers.door(driver, http_placement.conf_of(
            server, cell.path.parent))
        drivers.ask(door, requests.a_request(), [a_uuid()])
        with pytest.raises(exception.NoValidHost):
            drivers.ask(door, requests.a_request(memory_mb=1 << 30),
                        [a_uuid()])
    for record in door.recorder.decisions:
        metrics.note(record)
    page.add(reporter.Reporter(scheduler, 300, lambda: 0, None).report())
    driver.stop()
    cloud.close()
    return [(sample.name, sample.labels) for family
            in parser.text_string_to_metric_families(
                metrics.page(page)('text/plain').body.decode())
            for sample in family.samples]


def test_each_metric_is_on_the_page_and_no_other(exposed):
    documented = re.findall(r'``(nova_sched_\w+)(?:\{([\w,]+)\})?``', PAGE)
    assert {(name, *filter(None, sorted(labels.split(','))))
            for name, labels in documented} == {
        (re.sub('_(bucket|sum|count)$', '', name), *sorted({*labels} - {'le'}))
        for name, labels in exposed}


def test_each_check_is_on_the_page_and_no_other(exposed):
    assert {re.sub(':.*', ':NAME', labels['check']) for _, labels in exposed
            if 'check' in labels} - {'database'} == set(re.findall(
        r'^   \* - ``([\w:]+)``\n     - ``(?:fail|warn)``', PAGE, re.M))
    assert 'it is ``database``' in PAGE


@pytest.mark.parametrize('user', EXPRESSIONS)
def test_expression_selects_exposed_samples(exposed, user):
    labels = set(ADDED)
    for name, braces in re.findall(r'\b(nova_sched_\w+)(?:\{([^}]*)\})?',
                                   EXPRESSIONS[user]):
        samples = [labels for found, labels in exposed if found == name]
        assert samples, name
        labels.update(*samples)
        for label, operator, value in re.findall(
                r'(\w+)(=~|!=|=)"([^"]*)"', braces):
            for part in value.split('|'):
                assert label in ADDED or [
                    sample for sample in samples if label in sample
                    and MATCHES[operator](sample[label], part)], (label, part)
    grouped = re.findall(r'\b(?:by|on) \(([^)]*)\)|\$labels\.(\w+)',
                         EXPRESSIONS[user])
    assert {label for words in grouped
            for label in re.findall(r'\w+', ' '.join(words))} <= labels


def test_series_of_promtool_are_exposed(exposed):
    series = {entry['series'] for test in PROMTOOL
              for entry in test['input_series']}
    for text in series:
        name, _, braces = text.partition('{')
        labels = {label: value for label, value
                  in re.findall(r'(\w+)="([^"]*)"', braces)
                  if label not in ADDED}
        assert name == 'up' or (name, labels) in exposed, text


def test_promtool_expects_each_alert():
    fired = [sample['labels'] for test in PROMTOOL
             for expression in test['promql_expr_test']
             for sample in expression.get('exp_samples', ())]
    assert {f'{{alertname="{alert}"}}' for alert in ALERTS} == set(fired)


@pytest.mark.parametrize('alert', sorted(ALERTS))
def test_each_alert_has_a_runbook(alert):
    section = doc_pages.PAGES['alerts.rst'].partition(
        f'\n{alert}\n{"=" * len(alert)}\n')[2].partition('\n===')[0]
    for part in ('**Meaning**', '**Look**', '**Remedy**'):
        assert part in section
    assert ALERTS[alert]['annotations']['runbook'].endswith(f', {alert}')


def test_each_runbook_has_an_alert():
    assert {title for title in doc_pages.headings('alerts.rst')
            if title.startswith('NovaSched')} == set(ALERTS)
