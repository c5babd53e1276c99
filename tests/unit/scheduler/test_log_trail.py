"""DEBUG lines show each step of a request."""

import logging
import re

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.scheduler import host_manager
from tests.builders import drivers
from tests.builders import requests

UUID = '11111111-0000-4000-8000-000000000001'
PLACED = [
    f"Starting to schedule for instances: \\['{UUID}'\\]",
    'Getting compute nodes and services for cell .*',
    r'Starting with 3 host\(s\)',
    r'Filter ComputeFilter returned 3 host\(s\)',
    r'Filter RamFilter returned 3 host\(s\)',
    r'Filtered \[\(node1, node1\) ram: .*',
    r'Weighed \[WeighedHost \[host: \((node\d), \1\) ram: .*',
    r'Selected host: \((node\d), \1\) ram: \d+MB disk: \d+MB io_ops: 0 '
    r'instances: 0']
REFUSED = [
    *PLACED[:4],
    r'\(node1, node1\) .* does not have 100000000 MB usable ram before '
    'overcommit, .*',
    'Filter RamFilter returned 0 hosts',
    'Filtering removed all hosts for the request with instance ID .*',
    'There are 0 hosts available but 1 instances requested to build.']


@pytest.fixture
def ask(cloud, caplog):
    """Function: request an instance, with DEBUG lines."""
    cloud.load(['node1', 'node2', 'node3'])
    driver = cloud.driver(enabled_filters=['ComputeFilter', 'RamFilter'])
    door = drivers.door(driver)

    def asked(**request):
        caplog.clear()
        with caplog.at_level(logging.DEBUG, 'nova_sched'):
            door.select_destinations(
                context.RequestContext(), instance_uuids=[UUID],
                spec_obj=requests.a_request(**request).obj_to_primitive())

    yield asked
    driver.stop()


def missing(caplog, texts):
    """The patterns without a line, in this order."""
    # The texts of that moment: hosts print their free room.
    said = iter([record.message for record in caplog.records])
    return [text for text in texts
            if not any(re.fullmatch(text, line) for line in said)]


def test_lines_of_placed_and_refused_requests_are_novas(ask, caplog):
    ask()
    assert missing(caplog, PLACED) == []

    with pytest.raises(messaging.ExpectedException):
        ask(memory_mb=10 ** 8)
    assert missing(caplog, REFUSED) == []


def test_the_first_line_comes_before_the_read(ask, monkeypatch, caplog):
    """So a request that hangs on the database has a line."""
    def fail(self):
        raise exception.DatabaseUnavailable('gone')

    monkeypatch.setattr(host_manager.HostManager, 'refresh', fail)
    with pytest.raises(messaging.ExpectedException):
        ask()

    assert re.fullmatch(PLACED[0], caplog.messages[0])
