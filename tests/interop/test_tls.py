"""A real Placement behind TLS."""

import pytest

from tests.builders import authority
from tests.builders import http_placement
from tests.builders import https
from tests.builders import requests
from tests.interop.placement import a_consumer
from tests.interop.placement import open_placement

pytestmark = pytest.mark.real


def test_a_host_is_offered_and_claimed_over_tls(tmp_path):
    """With certificates of an authority of our own on both sides."""
    ours = authority.Authority(tmp_path / 'tls')
    service = ours.issue('scheduler')
    front = https.Server(ours.issue('localhost'), clients_of=ours)
    with open_placement(tmp_path) as placement, front.running():
        https.lead_to(front, placement.url)
        host = placement.provider('a', a_consumer(), {'VCPU': 4})
        client = http_placement.client(
            tmp_path, **placement.options | {
                'endpoint': front.url, 'cafile': ours.file,
                'certfile': service.certificate, 'keyfile': service.key})
        consumer = a_consumer()

        found = http_placement.ask(client)
        taken = found.claim(consumer, found.of(host)[0], requests.a_request(
            project_id='p', user_id='u'))

        assert taken
        assert placement.allocations(consumer) == {host: {'VCPU': 1}}
