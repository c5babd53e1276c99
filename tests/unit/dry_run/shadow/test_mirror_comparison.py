"""The comparison of the mirror of Placement with Placement's listing."""

import logging

import pytest

from nova_sched.dry_run.mirror_comparison import FEWER
from nova_sched.dry_run.mirror_comparison import MORE
from nova_sched.dry_run.mirror_comparison import OTHERS
from nova_sched.dry_run.mirror_comparison import SAME
from nova_sched.dry_run.mirror_comparison import compare_mirror
from nova_sched.dry_run.shadow import report
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.http_providers import Providers
from tests.builders.waiting import until
from tests.unit.dry_run.shadow.stage import HOSTS
from tests.unit.dry_run.shadow.stage import A
from tests.unit.dry_run.shadow.stage import B
from tests.unit.dry_run.shadow.stage import C
from tests.unit.dry_run.shadow.stage import Stage

LIMIT = 1000


def candidates(*uuids, age=None):
    return AllocationCandidates(
        {uuid: [{}] for uuid in uuids}, frozenset(uuids), '1.36',
        age=age)


@pytest.mark.parametrize('listed, verdict, only_listed, only_copied', [
    ([A, B], SAME, 0, 0),
    ([A, B, C], FEWER, 1, 0),
    ([A], MORE, 0, 1), ([], MORE, 0, 2),
    ([A, C], OTHERS, 1, 1)])
def test_differences_are_counted(listed, verdict, only_listed, only_copied):
    result = compare_mirror(
        candidates(A, B, age=1.5),
        candidates(*listed) if listed else NO_CANDIDATES, LIMIT)

    assert result | {'examples': {*result['examples']}} == {
        'verdict': verdict, 'age': 1.5, 'both': len({A, B} & set(listed)),
        'only_listed': only_listed, 'only_copied': only_copied,
        'examples': {A, B} ^ set(listed)}


def test_placement_without_an_answer_is_not_compared():
    assert compare_mirror(
        candidates(A, age=0.0), NoCandidates('It hangs'), LIMIT) is None


@pytest.mark.parametrize(('listed', 'verdict'), [
    (A, SAME), (C, FEWER)])
def test_full_listing_may_lack_candidates(listed, verdict):
    assert compare_mirror(
        candidates(A, B, age=0.0), candidates(listed), limit=1)[
            'verdict'] == verdict


@pytest.fixture
def server():
    with http_placement.placement() as server:
        yield server


@pytest.fixture
def providers(server):
    """A large provider for each host."""
    providers = Providers(server)
    for uuid in HOSTS.values():
        providers.add(uuid, vcpus=64, traits=['OWNER_NOVA'], others={
            'MEMORY_MB': 1 << 20, 'DISK_GB': 1 << 20})
    return providers


@pytest.fixture
def stage(hosts, server, providers, tmp_path):
    """A shadow with a complete mirror."""
    made = Stage(hosts(), server, tmp_path, nova_sched__candidates='mirror')
    # The mirror reads resource providers, too.
    server.on('GET', '/resource_providers/', lambda asked: (
        made.of_provider if asked.path.endswith('/allocations')
        else providers._read)(asked))
    until(lambda: made.decider._candidates._mirror.age is not None,
          'a complete mirror')
    yield made
    made.close()


def compared(stage):
    """Decide a request here and there; return the mirror's comparison."""
    stage.place('a')
    return stage.entries()[-1]['copy']


def test_listing_is_used_and_compared_with_the_mirror(stage, server):
    """Decisions without effect change neither."""
    columns = stage.decider._candidates._mirror.providers._columns
    before = columns['VCPU'].used.tolist()

    for _ in range(3):
        result = compared(stage)
        assert (result['verdict'], result['both']) == (SAME, 3)

    assert stage.entries()[0]['verdict'] == 'same hosts'
    assert {asked.method for asked in server.asked} == {'GET'}
    assert columns['VCPU'].used.tolist() == before


def test_outdated_mirror_is_logged(stage, providers, caplog):
    caplog.set_level(logging.INFO, logger=report.LOG.name)
    candidates = stage.decider._candidates
    candidates.stop()
    candidates._mirror._upkeep.thread.join(60)
    providers.there[A]['used']['VCPU'] = 64

    result = compared(stage)

    assert (result['verdict'], result['examples']) == (MORE, [A])
    assert 'lacks 0 of 2 candidates and has 1 others: ' + A in caplog.text


def test_unsupported_request_is_not_compared(stage):
    """Only Placement can judge it."""
    [uuid] = stage.request(flavor=requests.a_flavor(
        extra_specs={'resources1:CUSTOM_GPU': '1'}))
    stage.claim_and_wait(uuid, 'a')

    assert stage.entries()[-1]['copy'] is None


def test_summary_counts_equal_candidates():
    written = report.Report(None)
    for verdict in (SAME, SAME, MORE):
        written.mirrored[verdict] += 1

    assert written.summary().endswith(
        '; the mirror of Placement has the same candidates for 2 of '
        '3 request(s)')
