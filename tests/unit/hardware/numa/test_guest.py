"""What a guest wants of NUMA cells."""

import pytest

from nova_sched import objects
from nova_sched.hardware.numa import guest as numa_guest
from tests.builders.numa import a_guest
from tests.builders.numa import guest_cell
from tests.builders.numa import metadata
from tests.builders.numa import requirements
from tests.builders.numa import tried
from tests.builders.pci import a_pci_request
from tests.builders.pci import pci_requests
from tests.builders.requests import a_request
from tests.builders.values import is_fixed


def test_request_without_topology_has_no_requirements():
    assert numa_guest.GuestRequirements.of(a_request()) is None


@pytest.mark.parametrize(('emulator', 'isolated'), [
    (None, False), ('share', False), ('isolate', True)])
def test_requirements_have_all_parts_of_the_request(emulator, isolated):
    device = a_pci_request()
    spec = a_request(
        numa_topology=a_guest(guest_cell(3, floating=2, memory=9),
                              emulator=emulator),
        pci_requests=pci_requests(device), network_metadata=metadata('p'))

    required = numa_guest.GuestRequirements.of(spec)

    [cell] = required.cells
    assert (cell.id, cell.memory, cell.cpus) == (3, 9, 2)
    assert required.isolate_emulator is isolated
    assert (required.pci, required.networks.physnets) == ([device], {'p'})
    assert required.device_requests is required.device_requests


def test_requirements_are_immutable():
    """Each host is tried with copies of the cells."""
    required = requirements(guest_cell(floating=1))
    copied, = required.copies()
    copied.id = 7

    assert required.cells[0].id == 0
    assert is_fixed(required)
    assert is_fixed(numa_guest.limits_of(objects.NUMATopologyLimits(
        cpu_allocation_ratio=1.0, ram_allocation_ratio=1.0)))


def test_copy_has_all_attributes_of_its_cell():
    cell = tried(floating=1, pinned=1, cpu_thread_policy='prefer', pagesize=4)
    cell.pins, cell.reserved = {1: 5}, frozenset({2})
    required = numa_guest.GuestRequirements((cell,), False, [], None)

    assert required.copies() == [cell]
    assert required.copies()[0] is not cell
    assert not hasattr(cell, '__dict__')


def test_fitted_topology_is_a_copy():
    asked = a_guest(guest_cell(0, pinned=1), guest_cell(1, floating=1))
    first, second = map(numa_guest.GuestCell.of, asked.cells)
    first.id, first.pagesize = 4, 2048
    first.pins, first.reserved = {0: 5}, frozenset({6})

    made = numa_guest.fitted(asked, [first, second])

    assert [cell.id for cell in made.cells] == [4, 1]
    assert [cell.pagesize for cell in made.cells] == [2048, None]
    assert [cell.cpu_pinning_raw for cell in made.cells] == [{0: 5}, None]
    assert [cell.cpuset_reserved for cell in made.cells] == [{6}, None]
    assert [cell.id for cell in asked.cells] == [0, 1]
    with pytest.raises(ValueError, match='argument 2 is shorter'):
        numa_guest.fitted(asked, [first])
