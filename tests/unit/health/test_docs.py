"""Each metric, check and alert is documented, and no other."""

import json
import re

import pytest
import yaml

from nova_sched.health import board
from nova_sched.observe.metrics import Metrics
from tests.functional.prometheus import RULES
from tests.functional.prometheus import TOP
from tests.unit import doc_pages

RULE_FILE = yaml.safe_load(RULES.read_text())
ALERTS = {rule['alert']: rule for group in RULE_FILE['groups']
          for rule in group['rules']}
PAGE = doc_pages.PAGES['health-and-metrics.rst']
CHECKS = {'message_bus', 'consuming', 'workers', 'cell:a', 'database',
          'api_db', 'placement', 'state_age', 'clock', 'hosts',
          'host_mappings'}


@pytest.fixture(scope='module')
def metrics():
    """The names of all metrics."""
    made = Metrics(lambda: 0, 1)
    reports = board.Board('x', 1, 0)
    body, _ = made.page(reports)('application/openmetrics-text')
    families = dict(re.findall(r'# TYPE (\S+) (\S+)', body.decode()))
    return {name + {'counter': '_total'}.get(kind, '')
            for name, kind in families.items()}


def test_each_metric_is_on_the_page_and_no_other(metrics):
    assert set(re.findall(r'``(nova_sched_\w+)', PAGE)) == metrics


@pytest.mark.parametrize('check', sorted(CHECKS))
def test_each_check_is_on_the_page(check):
    assert f'``{check.replace("cell:a", "cell:NAME")}``' in PAGE


def used(text):
    """The metrics in an expression, without the suffixes of Prometheus."""
    return {re.sub('_(bucket|sum|count)$', '', name)
            for name in re.findall(r'nova_sched_\w+', text)}


def test_alerts_and_dashboard_query_existing_metrics_and_checks(metrics):
    dashboard = (TOP / 'etc/nova-sched/grafana/nova-sched.json').read_text()
    expressions = [rule['expr'] for rule in ALERTS.values()] + [
        target['expr'] for panel in json.loads(dashboard)['panels']
        for target in panel['targets']]
    for expression in expressions:
        assert used(expression) <= metrics
        for pattern in re.findall(r'check=~?"([^"]*)"', expression):
            for part in pattern.split('|'):
                assert [each for each in CHECKS
                        if re.fullmatch(part, each)], part


@pytest.mark.parametrize('alert', sorted(ALERTS))
def test_each_alert_has_a_runbook(alert):
    text = doc_pages.PAGES['alerts.rst']
    section = text.partition(f'\n{alert}\n{"=" * len(alert)}\n')[2]
    section = section.partition('\n===')[0]
    for part in ('**Meaning**', '**Look**', '**Remedy**'):
        assert part in section
    assert ALERTS[alert]['annotations']['runbook'].endswith(f', {alert}')


def test_each_runbook_has_an_alert():
    assert {title for title in doc_pages.headings('alerts.rst')
            if title.startswith('NovaSched')} == set(ALERTS)
