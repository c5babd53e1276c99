"""A real Placement that moves to another address while a daemon serves."""

import contextlib

import pytest

from tests.builders import clouds
from tests.builders import http_keystone
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_keystone import set_catalog
from tests.functional.conftest import HOSTS
from tests.interop.placement import TOKEN
from tests.interop.placement import Placement
from tests.interop.placement import open_placement

pytestmark = pytest.mark.real


def test_requests_are_answered_without_a_reload(stage, tmp_path):
    """The old address refuses connections."""
    for name in ('old', 'new'):
        (tmp_path / name).mkdir()
    stage.load(clouds.a_cloud(HOSTS))
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(open_placement(tmp_path / 'old'))
        for host, uuid in HOSTS.items():
            old.provider(host, uuid, {
                'VCPU': 16, 'MEMORY_MB': 1 << 16, 'DISK_GB': 1 << 10},
                traits=['OWNER_NOVA'])
        new = Placement(tmp_path / 'new', old.database_url)
        stack.callback(new.stop)
        new.start()
        keystone = stack.enter_context(http_keystone.keystone())
        set_catalog(keystone, an_endpoint(old.url), token=TOKEN)
        daemon = stage.daemon(
            placement__auth_type='password',
            placement__auth_url=f'{keystone.url}/v3',
            **{f'placement__{name}': value
               for name, value in http_keystone.USER.items()},
            nova_sched__candidates='mirror',
            DEFAULT__service_down_time=10 ** 9)
        daemon.wait_for_lines('resource providers were copied')
        client = stage.client()
        client.pick()

        set_catalog(keystone, an_endpoint(new.url), token=TOKEN)
        old.stop()
        for _ in range(4):
            host = client.pick()

        assert new.consumers(HOSTS[host])
        daemon.wait_for_lines(f'has changed from {old.url} to {new.url}')
        assert new.allocations(client.instances[0]).keys() == {HOSTS[host]}
