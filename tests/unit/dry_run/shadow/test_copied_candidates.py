"""A copy of Placement beside its listing, for requests that a shadow sees."""

import logging

import pytest

from nova_sched.dry_run import copied_candidates as copied
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
    ([A, B], copied.SAME, 0, 0),
    ([A, B, C], copied.FEWER, 1, 0),
    ([A], copied.MORE, 0, 1),
    ([A, C], copied.OTHERS, 1, 1)])
def test_candidates_of_both_and_of_one_alone_are_told(
        listed, verdict, only_listed, only_copied):
    told = copied.compare_copy(candidates(A, B, age=1.5),
                               candidates(*listed), LIMIT)

    assert (told['verdict'], told['age']) == (verdict, 1.5)
    assert (told['only_listed'], told['only_copied']) == (
        only_listed, only_copied)
    assert told['both'] == len({A, B} & set(listed))
    assert set(told['examples']) == {A, B} ^ set(listed)


def test_nothing_that_fits_is_a_listing_too():
    told = copied.compare_copy(candidates(A, age=0.0), NO_CANDIDATES, LIMIT)

    assert (told['verdict'], told['examples']) == (copied.MORE, [A])


def test_a_placement_without_an_answer_is_not_compared():
    assert copied.compare_copy(
        candidates(A, age=0.0), NoCandidates('It hangs'), LIMIT) is None


@pytest.mark.parametrize(('listed', 'verdict'), [
    (A, copied.SAME), (C, copied.FEWER)])
def test_a_full_listing_may_lack_what_the_copy_has(listed, verdict):
    assert copied.compare_copy(
        candidates(A, B, age=0.0), candidates(listed), limit=1)[
            'verdict'] == verdict


@pytest.fixture
def server():
    with http_placement.placement() as server:
        yield server


@pytest.fixture
def providers(server):
    """One of each host, as large as any request."""
    providers = Providers(server)
    for uuid in HOSTS.values():
        providers.add(uuid, vcpus=64, traits=['OWNER_NOVA'], others={
            'MEMORY_MB': 1 << 20, 'DISK_GB': 1 << 20})
    return providers


@pytest.fixture
def stage(hosts, server, providers, tmp_path):
    """A shadow whose copy is complete."""
    made = Stage(hosts(), server, tmp_path, nova_sched__candidates='mirror')
    # What the stage tells of providers, the copy asks as well.
    server.on('GET', '/resource_providers/', _either(
        made.of_provider, providers._read))
    until(lambda: made.decider._candidates._mirror.age is not None,
          'a complete copy')
    yield made
    made.close()


def _either(of_stage, of_copy):
    return lambda asked: (of_stage if asked.path.endswith('/allocations')
                          else of_copy)(asked)


def ask(stage):
    """Have a request decided here and there; what is told of the copy."""
    stage.place('a')
    return stage.entries()[-1]['copy']


def test_a_request_is_decided_on_the_listing_and_compared_with_the_copy(
        stage, server):
    told = ask(stage)

    assert (told['verdict'], told['both']) == (copied.SAME, 3)
    assert stage.verdict()[0] == 'same hosts'
    assert {asked.method for asked in server.asked} == {'GET'}


def test_what_the_copy_has_not_seen_is_told(stage, providers, caplog):
    caplog.set_level(logging.INFO, logger=report.LOG.name)
    copy = stage.decider._candidates
    copy.stop()
    copy._mirror._upkeep.thread.join(60)
    providers.there[A]['used']['VCPU'] = 64

    told = ask(stage)

    assert (told['verdict'], told['examples']) == (copied.MORE, [A])
    assert 'lacks 0 of 2 candidates and has 1 others: ' + A in caplog.text


def test_a_decision_that_has_no_effect_takes_nothing_of_the_copy(stage):
    known = stage.decider._candidates._mirror.providers
    before = known._columns['VCPU'].used.tolist()
    for _ in range(3):
        ask(stage)

    assert known._columns['VCPU'].used.tolist() == before


def test_a_request_that_only_placement_can_judge_is_not_compared(stage):
    [uuid] = stage.request(flavor=requests.a_flavor(
        extra_specs={'resources1:CUSTOM_GPU': '1'}))
    stage.claim(uuid, 'a')
    stage.wait()

    assert stage.entries()[-1]['copy'] is None


def test_the_summary_counts_the_requests_that_agree():
    told = report.Report(None)
    for verdict in (copied.SAME, copied.SAME, copied.MORE):
        told.copies[verdict] += 1

    assert told.summary().endswith(
        '; the copy of Placement has the same candidates for 2 of '
        '3 request(s)')
