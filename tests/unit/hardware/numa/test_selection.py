"""What complete selections of host cells must give."""

import pytest

from nova_sched.hardware.numa import selection
from tests.builders.numa import a_cell
from tests.builders.numa import free
from tests.builders.numa import metadata
from tests.builders.numa import requirements
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import some_pools

HOSTS = [a_cell(number, socket=number // 2) for number in range(4)]
POOLS = some_pools(a_pool(numa_node=1), a_pool(numa_node=3))
#: A device of no known node, for selections without the two cells that are
#: near to devices kept for others.
KEPT = some_pools(a_pool(), *(a_pool(numa_node=node, dev_type='type-PF')
                              for node in (1, 3)))


def rules(policy='required', pools=POOLS, **required):
    return selection.SelectionRules.of(HOSTS, requirements(pci=[a_pci_request(
        1, {'vendor_id': '8086'}, numa_policy=policy)], **required), pools,
        free)


def test_guest_without_devices_and_networks_has_no_rules():
    assert selection.SelectionRules.of(
        HOSTS, requirements(), POOLS, free) is None
    assert rules(pools=None) is None


@pytest.mark.parametrize(('policy', 'chosen', 'allowed'), [
    ('required', 0b0001, False), ('required', 0b0011, True),
    ('required', 0b0101, False), ('socket', 0b0001, True),
    ('preferred', 0b0001, True), ('legacy', 0b0001, False)])
def test_devices_are_near_the_chosen_cells(policy, chosen, allowed):
    assert rules(policy).allow(chosen) == allowed


@pytest.mark.parametrize('policy', ['required', 'socket', 'preferred',
                                    'legacy'])
@pytest.mark.parametrize('networks', [None, metadata('p1')])
@pytest.mark.parametrize('pools', [POOLS, KEPT])
def test_allow_some_agrees_with_allow(policy, networks, pools):
    made = rules(policy, pools, networks=networks)

    for others in range(16):
        for chosen in range(16):
            for count in range(3):
                assert made.allow_some(chosen & ~others, others, count) == any(
                    made.allow(chosen & ~others | some) for some in range(16)
                    if some & ~others == 0 and some.bit_count() == count)


@pytest.mark.parametrize(('asked', 'told', 'verdicts'), [
    (True, False, 1), (False, False, 3), (False, True, 3), (True, True, 16)])
def test_selections_with_equal_relevant_cells_are_evaluated_once(
        monkeypatch, asked, told, verdicts):
    """Networks matter where they are asked for, and told of the cells.

    If not, the two cells with devices do; without these nothing else is
    looked at.  Hosts of many cells would take very long otherwise.
    """
    judged, judge = [], selection.networks_allow
    monkeypatch.setattr(selection, 'networks_allow', lambda *args: (
        judged.append(args), judge(*args))[1])
    cells = [a_cell(number, networks=['p2'] if told else None)
             for number in range(4)]
    required = (requirements(networks=metadata('p1')) if asked
                else requirements(pci=[a_pci_request(
                    1, {'vendor_id': '8086'}, numa_policy='required')]))
    made = selection.SelectionRules.of(cells, required, POOLS, free)

    for chosen in [*range(16)] * 2:
        made.allow(chosen)

    assert len(judged) == verdicts
