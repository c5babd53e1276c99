"""Callers may call the methods of Nova's interface only."""

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched.scheduler import manager
from tests.builders import messages
from tests.builders import rules

#: Version 4.5 of Nova's interface, and Nova's ``baseapi``.
INTERFACE = {
    'select_destinations', 'update_aggregates', 'delete_aggregate',
    'update_instance_info', 'delete_instance_info', 'sync_instance_info'}
BASE = {'ping', 'get_backdoor_port'}

#: Public names for use within the process, with valid arguments.
WITHIN = {'serve': {'offers': 1, 'text': 'nova', 'limits': None},
          'driver': {}, 'recorder': {},
          'target': {}, 'CALLS': {}, '__init__': {}}


class CandidateSource:
    placement_client = None


class TestScheduler:
    @pytest.fixture
    def endpoint(self):
        return manager.SchedulerManager('the driver', CandidateSource(),
                                        'recorder')

    @pytest.fixture
    def client(self, endpoint):
        conf = rules.a_conf(DEFAULT__control_exchange='of calls')
        base = manager.BaseRPCEndpoint('scheduler')
        with (messages.transport(conf, 'kombu+memory://') as made,
              messages.serving(made, conf, base, endpoint)):
            yield messages.raw_client(made).prepare(timeout=20)

    @pytest.mark.parametrize('name', WITHIN)
    def test_other_names_are_no_methods(self, client, endpoint, name):
        with pytest.raises(messaging.RemoteError) as refused:
            client.call(context.RequestContext(), name, **WITHIN[name])
        assert refused.value.exc_type == 'NoSuchMethod'
        assert endpoint.driver == 'the driver'


@pytest.mark.parametrize(('cls', 'names'), [
    (manager.SchedulerManager, INTERFACE), (manager.BaseRPCEndpoint, BASE)])
def test_calls_match_novas_interface(cls, names):
    assert names == cls.CALLS
    assert all(callable(getattr(cls, name)) for name in names)
