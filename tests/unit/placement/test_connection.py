"""Connections to Placement of threads and processes."""

import concurrent.futures
import dataclasses
import os
import threading

from tests.builders import http_placement
from tests.builders.http_claims import SPEC
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import ask
from tests.builders.http_placement import candidates

THREADS = 64


def test_first_request_opens_connection(client, placement):
    assert not placement.connections


def test_request_is_a_line_of_keystoneauth(client, placement, caplog):
    caplog.set_level('DEBUG', 'keystoneauth')
    placement.on('GET', '/allocation_candidates', dataclasses.replace(
        candidates(), headers={'x-openstack-request-id': 'req-1'}))
    ask(client)
    assert 'GET call to placement for ' in caplog.text


def test_each_thread_keeps_a_connection(client, placement, caplog):
    """As many connections as deciding threads, all reused."""
    together = threading.Barrier(THREADS)

    def met(asked):
        together.wait(30)
        return http_placement.TAKEN

    hosts = [f'host-{number}' for number in range(THREADS)]
    placement.on('GET', '/allocation_candidates',
                 candidates(*map(a_candidate, hosts)))
    placement.on('PUT', '/allocations/', met)
    offers = [ask(client) for _ in hosts]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for number in range(2):
            assert all(pool.map(lambda offer, host, number=number: offer.claim(
                f'{number}-{host}', offer.of(host)[0], SPEC), offers, hosts))

    assert placement.connections <= THREADS
    assert 'pool is full' not in caplog.text


def test_forked_process_opens_own_connection(client, placement):
    """Otherwise processes would read each other's responses."""
    placement.on('GET', '/allocation_candidates', candidates(a_candidate('a')))
    ask(client)
    child = os.fork()
    if not child:
        found = 1
        try:
            found = ask(client).providers != {'a'}
        finally:
            os._exit(found)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert ask(client).providers == {'a'}
    assert placement.connections == 2


def test_clients_may_share_configuration(placement, tmp_path):
    """A reload makes a second client with the same options."""
    conf = http_placement.a_conf(tmp_path, auth_type='admin_token',
                                 token='t', endpoint=placement.url)
    for _ in range(2):
        ask(http_placement.report.SchedulerReportClient(conf))

    assert len(placement.to('GET', '/allocation_candidates')) == 2


def test_changed_auth_type_needs_restart(placement, tmp_path):
    """The new options conflict with registered ones."""
    conf = http_placement.a_conf(
        tmp_path, auth_type='v3token', auth_url='http://127.0.0.1:9/v3',
        token='t')
    ask(http_placement.report.SchedulerReportClient(conf))
    http_placement.a_conf(
        tmp_path, auth_type='admin_token', auth_url='http://127.0.0.1:9/v3',
        token='t', endpoint=placement.url)
    conf.reload_config_files()

    found = ask(http_placement.report.SchedulerReportClient(conf))

    assert found.reason.startswith(
        'The options of [placement] cannot be used. duplicate option: token')
    assert found.reason.endswith('Correct them and restart')
