"""The client class that conductors import."""

import logging

import pytest

from nova_sched import context
from nova_sched.scheduler.client import query
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import messages
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import MemoryScheduler
from tests.builders.hosts import a_host

CONTEXT = context.RequestContext()
UUIDS = [clouds.a_uuid(1)]


@pytest.fixture(scope='module')
def client():
    """A client of a scheduler with the two hosts a and b."""
    conf = rules.a_conf(DEFAULT__control_exchange='query')
    door = drivers.door(
        MemoryScheduler(a_host('a'), a_host('b')))
    with (messages.transport(conf) as made,
          messages.serving(made, conf, door)):
        yield query.SchedulerQueryClient(conf, made)


class TestSchedulerQueryClient:

    def test_returns_dicts_by_default(self, client):
        [entry] = client.select_destinations(CONTEXT, requests.a_request(),
                                             UUIDS)

        assert entry['host'] == 'a'

    def test_makes_a_transport_from_the_configuration(self, client):
        own = query.SchedulerQueryClient(
            rules.a_conf(DEFAULT__transport_url='fake://',
                         DEFAULT__control_exchange='query'))

        assert len(own.select_destinations(
            CONTEXT, requests.a_request(), UUIDS)) == 1

    def test_logs_the_call(self, client, caplog):
        with caplog.at_level(logging.DEBUG, query.__name__):
            client.select_destinations(CONTEXT, requests.a_request(), UUIDS)

        assert caplog.messages[0] == (
            'SchedulerQueryClient starts to make a RPC call.')
