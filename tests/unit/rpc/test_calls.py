"""Callers may call the methods of Nova's interface only."""

import pytest

from nova_sched.scheduler import manager

#: Version 4.5 of Nova's interface, and Nova's ``baseapi``.
INTERFACE = {
    'select_destinations', 'update_aggregates', 'delete_aggregate',
    'update_instance_info', 'delete_instance_info', 'sync_instance_info'}
BASE = {'ping', 'get_backdoor_port'}


@pytest.mark.parametrize(('cls', 'names'), [
    (manager.SchedulerManager, INTERFACE), (manager.BaseRPCEndpoint, BASE)])
def test_calls_match_novas_interface(cls, names):
    assert names == cls.CALLS
    assert all(callable(getattr(cls, name)) for name in names)
