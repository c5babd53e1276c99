"""The facts in the documents of three commands."""

import pytest

from nova_sched.page import facts
from tests.builders import documents
from tests.builders import schemas

VERDICTS = {'a': (), 'b': (), 'c': ('RamFilter',)}


def test_decisions_and_plans_are_as_their_schemas_say():
    """The documents of these tests have the form of the commands' output."""
    decision = schemas.schema('nova_sched.observe', 'decision_document')
    plan = schemas.schema('nova_sched.cmd.manage', 'plan')

    schemas.check(documents.a_decision(), decision)
    schemas.check(documents.a_decision('refused'), decision)
    schemas.check(documents.a_plan(VERDICTS), plan)
    schemas.check(documents.a_plan(VERDICTS, 'refused'), plan)


@pytest.mark.parametrize('document, title', [
    (documents.a_decision(), 'Decision 7'),
    (documents.an_explanation(documents.a_decision(), VERDICTS), 'Decision 7'),
    (documents.a_plan(VERDICTS), 'Plan of a boot'),
    (documents.a_plan(VERDICTS, operation='live-migration'),
     'Plan of a live migration')])
def test_each_document_has_title_and_request(document, title):
    found = facts.of(document)

    assert (found.title, found.request_id, found.instances) == (
        title, 'req-1', 1)
    assert (found.when, found.uuids) == (documents.WHEN, documents.UUIDS[:1])


def test_an_explanation_is_of_its_decision():
    found = facts.of(documents.an_explanation(
        documents.a_decision(), VERDICTS, notes=['decided by others']))

    assert (found.picks[0]['host'], found.matrix['fitting'], found.notes) == (
        'a', 2, ['decided by others'])


def test_the_request_is_described_in_words():
    document = documents.a_decision()
    document['asked'] = document['asked'] | {
        'swap_mb': 512, 'group_policy': 'affinity', 'force_hosts': ['x'],
        'extra_specs': {'hw:cpu_policy': 'dedicated'}}

    assert facts.requested(facts.of(document)) == [
        '4 VCPUs', '8,192 MB RAM', '80 GB disk', '512 MB swap',
        'flavor m1.large', 'zone az1', 'server group with affinity',
        'forced to x', 'hw:cpu_policy = dedicated']


@pytest.mark.parametrize('asked', [{}, {'asked': None}])
def test_the_request_may_be_unknown(asked):
    document = documents.a_decision()
    del document['asked']

    assert facts.requested(facts.of(document | asked)) == []


def test_the_page_is_about_the_instance_that_got_no_host():
    refused = documents.a_decision('refused', instances=3, filters=[
        *documents.steps(('RamFilter', 6, 2)),
        *documents.steps(('RamFilter', 2, 0), instance=1)])

    assert facts.of(refused).instance == 1
    assert facts.of(documents.a_decision(
        filters=refused['filters'])).instance == 0


@pytest.mark.parametrize('candidates, words', [
    (('none', None, None), 'not asked'),
    (('placement', 1200, None),
     '1,200 resource providers, listed by Placement'),
    (('copy', 3, 1.25), '3 resource providers, from a copy of what '
                        'Placement knows, 1.2 s old')])
def test_has_the_source_of_the_candidates(candidates, words):
    found = facts.of(documents.a_decision(candidates=dict(zip(
        ('source', 'providers', 'age_seconds'), candidates, strict=True))))

    assert facts.state(found)[1] == ('Placement', [words])


def test_a_cell_that_was_lost_is_part_of_the_state():
    document = documents.a_decision()
    document['state']['lost_cells'] = [{'cell': 'cell2', 'why': 'down'}]

    assert facts.state(facts.of(document))[0] == ('State', [
        '6 hosts', 'cell cell1 read at 2026-11-26 09:21:30.042 UTC',
        'without cell cell2: down'])


def test_a_plan_has_notes_on_changes():
    document = documents.a_plan(VERDICTS)
    document['state'] |= {'moved': True, 'changes': ['a: RAM']}
    document['configuration']['changed'] = ['--without RamFilter']
    document['notes'] = ['Nothing reads extra spec a: b']

    assert facts.of(document).notes == [
        'Decided with --without RamFilter.',
        'Nothing reads extra spec a: b',
        'The state has moved since: a: RAM.']
