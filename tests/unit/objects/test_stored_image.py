"""Image properties in the system metadata of instances."""

import pytest

from nova_sched.objects import glance_image
from nova_sched.objects import stored_image


@pytest.mark.parametrize(('wanted', 'names'), [
    (['os_type'], ('os_type',)),
    (['hw_architecture'], ('architecture', 'hw_architecture')),
    (['hw_scsi_model'], ('hw_scsi_model', 'vmware_adaptertype')),
    (['hw_numa_mem'], ('hw_numa_mem', 'hw_numa_mem.*')),
    (['traits_required'], ('trait:*', 'traits_required')),
    ([], ()),
])
def test_stored_names_of_all_releases(wanted, names):
    assert stored_image.names(wanted) == names


@pytest.mark.parametrize('old', glance_image.OLD_NAMES)
def test_old_name_is_a_stored_name(old):
    assert old in stored_image.names([glance_image.OLD_NAMES[old]])


def test_other_properties_are_left_out():
    assert stored_image.typed({'os_type': 'linux', 'os_distro': 'x'},
                              {'os_type': 'windows'}) == {'os_type': 'linux'}


@pytest.mark.parametrize(('name', 'text', 'like', 'value'), [
    ('hw_mem_encryption', 'Yes', False, True),
    ('hw_vm_mode', 'PV', 'hvm', 'xen'),
    ('hw_a_new_flag', 'off', True, False),
    ('hw_a_new_number', ' 7 ', 0, 7),
    ('hw_a_new_share', '0.50', 1.0, 0.5),
    ('hw_a_new_text', 'True', 'x', 'True'),
])
def test_text_has_its_type_or_the_type_of_the_example(name, text, like, value):
    read = stored_image.typed({name: text}, {name: like})

    assert read == {name: value}
    assert type(read[name]) is type(value)


def test_parts_of_lists_are_joined():
    assert stored_image.typed(
        {'hw_numa_cpus.0': '0-1', 'hw_numa_cpus.1': '2', 'trait:B': 'required',
         'trait:A': 'required'},
        {'hw_numa_cpus': [], 'traits_required': []}) == {
        'hw_numa_cpus': [[0, 1], [2]], 'traits_required': ['A', 'B']}


@pytest.mark.parametrize('texts', [
    {'hw_vm_mode': 'none'}, {'hw_numa_nodes': 'two'},
    {'hw_numa_cpus.0': '1-x'}, {'hw_a_new_flag': 'maybe'}])
def test_invalid_text_is_left_out(texts):
    like = {'hw_vm_mode': 'hvm', 'hw_numa_nodes': 2, 'hw_numa_cpus': [[0]],
            'hw_a_new_flag': True, 'os_type': 'linux'}

    assert stored_image.typed({**texts, 'os_type': 'linux'}, like) == {
        'os_type': 'linux'}
