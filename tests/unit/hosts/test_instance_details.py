"""Details of instances in databases, read on demand."""

import pytest

from nova_sched import exception
from nova_sched.hosts.instance_details import InstanceDetails
from tests.builders.clouds import a_uuid

A, B = a_uuid(1), a_uuid(2)


def test_a_failed_read_is_not_repeated():
    reads = []

    def read(name):
        reads.append(name)
        raise exception.DatabaseUnavailable('gone')

    kept = InstanceDetails(read)
    for uuid in (A, B, A):
        with pytest.raises(exception.DatabaseUnavailable):
            kept.of(uuid, 'flavor')

    assert reads == ['flavor']


@pytest.mark.parametrize('text', [
    'x', '7', 'null', '[]', '{"cur": 7}', '{"cur": {"nova_object.data": 7}}',
    '{"cur": {"nova_object.name": [], "nova_object.data": {}}}', '[' * 99999])
@pytest.mark.parametrize('name', ['flavor', 'numa_topology', 'pci_requests'])
def test_unreadable_details_are_absent_and_logged_with_their_instance(
        name, text, caplog):
    kept = InstanceDetails(lambda name: {A: text, B: text})

    for uuid in (A, B):
        found = kept.of(uuid, name)
        assert found is None or found.requests == []
    assert len(caplog.records) <= 1
    assert all(f'of instance {A}, and of others' in line
               for line in caplog.messages)
