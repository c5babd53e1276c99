"""Requirements of a guest's CPUs and devices, by flavor and image."""

import pytest

from nova_sched import exception
from tests.builders.pci import a_pci_request
from tests.builders.pci import pci_requests
from tests.builders.queries import amounts
from tests.builders.queries import resource_request
from tests.builders.queries import unnumbered
from tests.builders.requests import a_request

MIXED = {'hw:cpu_policy': 'mixed'}
REALTIME = {**MIXED, 'hw:cpu_realtime': 'yes'}
ISOLATE = {'hw:emulator_threads_policy': 'isolate'}
UEFI = {'hw_firmware_type': 'uefi'}
ENCRYPTED = {'hw:mem_encryption': 'true'}


def guest(extra_specs, image_properties=None, vcpus=4):
    return a_request(vcpus=vcpus, root_gb=0, extra_specs=extra_specs,
                     image_properties=image_properties)


def cpus(extra_specs, image_properties=None):
    """(VCPU, PCPU) of a guest of four CPUs."""
    found = amounts(guest(extra_specs, image_properties))
    return found.get('VCPU', 0), found.get('PCPU', 0)


def traits(extra_specs, image_properties=None):
    return unnumbered(guest(extra_specs, image_properties)).required


def refusal(extra_specs, image_properties=None, vcpus=4):
    with pytest.raises(exception.InvalidInput) as refused:
        resource_request(guest(extra_specs, image_properties, vcpus))
    return str(refused.value)


@pytest.mark.parametrize(('flavor', 'image', 'found'), [
    (None, None, (4, 0)), (None, 'mixed', (3, 1)), (None, 'dedicated', (0, 4)),
    ('shared', 'shared', (4, 0)), ('mixed', None, (3, 1)),
    ('mixed', 'shared', (3, 1)), ('mixed', 'mixed', (3, 1)),
    ('dedicated', 'shared', (0, 4)), ('dedicated', 'mixed', (0, 4))])
def test_the_flavors_cpu_policy_goes_before_the_images(flavor, image, found):
    specs = {'hw:cpu_dedicated_mask': '0', 'hw:cpu_policy': flavor or ''}

    assert cpus(specs, image and {'hw_cpu_policy': image}) == found


@pytest.mark.parametrize(('flavor', 'image'), [
    ('shared', 'mixed'), ('shared', 'dedicated'), ('mixed', 'dedicated')])
def test_an_image_may_not_pin_more_than_the_flavor(flavor, image):
    assert refusal({'hw:cpu_policy': flavor}, {'hw_cpu_policy': image}) == (
        'Invalid input received: flavor.extra_specs.hw:cpu_policy = '
        f"'{flavor}': must not differ from the image's hw_cpu_policy = "
        f"'{image}'; change one of them")


@pytest.mark.parametrize(('specs', 'found'), [
    ({'hw:cpu_policy': 'dedicated', **ISOLATE}, (0, 5)),
    ({'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'share'},
     (0, 4)),
    ({**MIXED, 'hw:cpu_dedicated_mask': '0', **ISOLATE}, (3, 2)),
    (ISOLATE, (4, 0)), ({'hw:cpu_policy': 'shared', **ISOLATE}, (4, 0))])
def test_isolated_emulator_threads_take_one_more_pinned_cpu(specs, found):
    assert cpus(specs) == found


def test_pinned_cpus_replace_the_flavors_resource_classes():
    classes = {'resources:PCPU': '2', 'resources:VCPU': '7'}

    assert cpus({'hw:cpu_policy': 'dedicated', **classes}) == (7, 4)
    assert cpus({**MIXED, 'hw:cpu_dedicated_mask': '0', **classes}) == (3, 1)


@pytest.mark.parametrize(('mask', 'pinned'), [
    ('0', 1), ('0-2', 3), ('1-2,^2', 1), ('^0', 3), ('^0-1', 2),
    ('^0,^1', 2), (' ^0 , 3 ', 3), ('0-9,^2-9', 2), ('', 0)])
def test_a_mask_names_pinned_cpus_or_all_but_some(mask, pinned):
    assert cpus({**MIXED, 'hw:cpu_dedicated_mask': mask}) == (
        4 - pinned, pinned)
    if mask:
        assert cpus({**REALTIME, 'hw:cpu_realtime_mask': mask}) == (
            4 - pinned, pinned)


@pytest.mark.parametrize(('mask', 'must'), [
    ('0-3', 'not all of the 4 CPUs'), ('^9', 'not all of the 4 CPUs'),
    ('^0-9', 'must name some'), (',', 'must name some'),
    ('0,9', 'CPUs of 0-3 alone'), ('^0,9', 'CPUs of 0-3 alone'),
    ('x', 'such as 0-3,^2,8'), ('3-0', 'such as 0-3,^2,8'),
    ('0-99999', 'such as 0-3,^2,8')])
def test_a_mask_of_no_or_all_or_unknown_cpus_is_refused(mask, must):
    for specs, key in ((MIXED, 'hw:cpu_dedicated_mask'),
                       (REALTIME, 'hw:cpu_realtime_mask')):
        text = refusal({**specs, key: mask})

        assert f"flavor.extra_specs.{key} = '{mask}': " in text
        assert must in text


@pytest.mark.parametrize(('specs', 'image', 'found'), [
    ({**MIXED, 'hw:cpu_realtime_mask': '^0'}, {}, (4, 0)),
    ({**REALTIME, 'hw:cpu_realtime_mask': '^0'}, {}, (1, 3)),
    ({**REALTIME, 'hw:cpu_realtime_mask': '^0'},
     {'hw_cpu_realtime_mask': '^0-1'}, (2, 2)),
    ({**REALTIME, 'hw:cpu_realtime_mask': '^0',
      'hw:cpu_dedicated_mask': '2-3'}, {}, (2, 2)),
    ({**REALTIME, **ISOLATE}, {}, (0, 5)),
    ({**REALTIME, 'hw:emulator_threads_policy': 'share'}, {}, (0, 4)),
    ({**REALTIME, **ISOLATE, 'hw:cpu_realtime_mask': '0-3'}, {}, (0, 5))])
def test_realtime_cpus_are_pinned_unless_masked(specs, image, found):
    assert cpus(specs, image) == found


def test_realtime_needs_a_cpu_without_realtime():
    assert 'hw:cpu_realtime_mask = None: must name some' in refusal(REALTIME)
    assert 'image.properties.hw_cpu_realtime_mask' in refusal(
        REALTIME, {'hw_cpu_realtime_mask': '0-3'})


@pytest.mark.parametrize('vcpus', [0, 2 ** 31 - 1])
def test_a_guest_of_absurd_size_costs_no_memory(vcpus):
    assert 'hw:cpu_dedicated_mask' in refusal(
        {**MIXED, 'hw:cpu_dedicated_mask': '^0'}, vcpus=vcpus)
    assert 'hw:cpu_realtime_mask' in refusal(REALTIME, vcpus=vcpus)


@pytest.mark.parametrize(('flavor', 'image', 'required', 'forbidden'), [
    (None, None, False, False), ('prefer', None, False, False),
    ('isolate', None, False, True), ('require', None, True, False),
    (None, 'isolate', False, True), (None, 'require', True, False),
    ('prefer', 'isolate', False, False), ('prefer', 'require', False, False),
    ('isolate', 'isolate', False, True), ('require', 'require', True, False)])
def test_hyperthreading_is_required_or_forbidden_by_the_thread_policy(
        flavor, image, required, forbidden):
    group = unnumbered(guest(
        {'hw:cpu_thread_policy': flavor or ''},
        image and {'hw_cpu_thread_policy': image}))

    assert ('HW_CPU_HYPERTHREADING' in group.required) == required
    assert ('HW_CPU_HYPERTHREADING' in group.forbidden) == forbidden


@pytest.mark.parametrize(('flavor', 'image'), [
    ('isolate', 'prefer'), ('isolate', 'require'), ('require', 'isolate'),
    ('require', 'prefer')])
def test_an_image_may_not_change_a_strict_thread_policy(flavor, image):
    assert 'hw:cpu_thread_policy' in refusal(
        {'hw:cpu_thread_policy': flavor}, {'hw_cpu_thread_policy': image})


TPM, SECURITY = 'COMPUTE_SECURITY_TPM_', 'COMPUTE_SECURITY_'
SOCKET = 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'


@pytest.mark.parametrize(('extra_specs', 'image', 'found'), [
    ({'hw:tpm_version': '1.2'}, {}, {TPM + '1_2', TPM + 'TIS'}),
    ({'hw:tpm_version': '2.0', 'hw:tpm_model': 'tpm-crb'}, {},
     {TPM + '2_0', TPM + 'CRB'}),
    ({'hw:tpm_model': 'tpm-crb'}, {'hw_tpm_version': '2.0'},
     {TPM + '2_0', TPM + 'CRB'}),
    ({'hw:tpm_model': 'tpm-crb'}, {}, set()),
    ({'hw:pci_numa_affinity_policy': 'socket'}, {}, {SOCKET}),
    ({}, {'hw_pci_numa_affinity_policy': 'socket'}, {SOCKET}),
    ({'hw:pci_numa_affinity_policy': 'required'}, {}, set()),
    ({'os:secure_boot': 'required'}, {}, {SECURITY + 'UEFI_SECURE_BOOT'}),
    ({}, {'os_secure_boot': 'required'}, {SECURITY + 'UEFI_SECURE_BOOT'}),
    ({'os:secure_boot': 'optional'}, {}, set()),
    ({'hw:maxphysaddr_mode': 'passthrough'}, {},
     {'COMPUTE_ADDRESS_SPACE_PASSTHROUGH'}),
    ({}, {'hw_maxphysaddr_mode': 'emulate'},
     {'COMPUTE_ADDRESS_SPACE_EMULATED'}),
    ({}, {**UEFI, 'hw_firmware_stateless': True},
     {SECURITY + 'STATELESS_FIRMWARE'}),
    ({}, {**UEFI, 'hw_firmware_stateless': False}, set()),
    ({}, {'hw_firmware_stateless': True}, set())])
def test_virtual_hardware_requires_traits(extra_specs, image, found):
    assert traits(extra_specs, image) == found


def test_the_policy_of_a_pci_request_itself_requires_no_trait():
    spec_obj = a_request(pci_requests=pci_requests(
        a_pci_request(numa_policy='socket')))

    assert not unnumbered(spec_obj).required


@pytest.mark.parametrize(('key', 'name', 'values'), [
    ('hw:tpm_version', 'hw_tpm_version', ('1.2', '2.0')),
    ('hw:pci_numa_affinity_policy', 'hw_pci_numa_affinity_policy',
     ('required', 'socket')),
    ('os:secure_boot', 'os_secure_boot', ('optional', 'required')),
    ('hw:maxphysaddr_mode', 'hw_maxphysaddr_mode',
     ('emulate', 'passthrough'))])
def test_flavor_and_image_must_agree_on_virtual_hardware(key, name, values):
    assert refusal({key: values[0]}, {name: values[1]}) == (
        f"Invalid input received: flavor.extra_specs.{key} = '{values[0]}': "
        f"must not differ from the image's {name} = '{values[1]}'; change "
        'one of them')


@pytest.mark.parametrize('extra_specs', [
    {'hw:cpu_policy': 'bogus'}, {'hw:cpu_thread_policy': 'bogus'},
    {'hw:emulator_threads_policy': 'bogus'}, {'hw:tpm_version': 'bogus'},
    {'hw:tpm_model': 'bogus', 'hw:tpm_version': '2.0'},
    {'hw:pci_numa_affinity_policy': 'bogus'}, {'os:secure_boot': 'bogus'},
    {'hw:maxphysaddr_mode': 'bogus'},
    {**ENCRYPTED, 'hw:mem_encryption_model': 'bogus'}])
def test_an_unknown_value_is_refused_with_the_known_ones(extra_specs):
    key = next(key for key, value in extra_specs.items() if value == 'bogus')

    assert f"{key} = 'bogus': must be one of " in refusal(extra_specs, UEFI)


def test_the_older_tpm_has_no_crb():
    assert "hw:tpm_version = '1.2': must be 2.0" in refusal(
        {'hw:tpm_version': '1.2', 'hw:tpm_model': 'tpm-crb'})


STATELESS = {**UEFI, 'hw_firmware_stateless': True, 'hw_video_model': 'none'}


@pytest.mark.parametrize(('model', 'image', 'trait'), [
    (None, UEFI, 'HW_CPU_X86_AMD_SEV'),
    ('amd-sev', {**UEFI, 'hw_machine_type': 'pc-q35-8.2'},
     'HW_CPU_X86_AMD_SEV'),
    ('amd-sev-es', UEFI, 'HW_CPU_X86_AMD_SEV_ES'),
    ('amd-sev-snp', STATELESS, 'HW_CPU_X86_AMD_SEV_SNP'),
    ('intel-tdx', STATELESS, 'HW_CPU_X86_INTEL_TDX')])
def test_encrypted_memory_takes_a_context_and_a_trait(model, image, trait):
    by_flavor = guest({**ENCRYPTED, 'hw:mem_encryption_model': model or ''},
                      image)
    by_image = guest({}, {**image, 'hw_mem_encryption': True, **(
        {'hw_mem_encryption_model': model} if model else {})})

    for spec_obj in (by_flavor, by_image):
        assert amounts(spec_obj)['MEM_ENCRYPTION_CONTEXT'] == 1
        assert trait in unnumbered(spec_obj).required


@pytest.mark.parametrize(('extra_specs', 'image'), [
    ({'hw:mem_encryption': 'no'}, UEFI), ({'hw:mem_encryption': ''}, UEFI),
    ({'hw:mem_encryption_model': 'amd-sev'}, UEFI),
    ({'hw:mem_encryption': 'false'}, {**UEFI, 'hw_mem_encryption': False})])
def test_memory_is_encrypted_only_on_request(extra_specs, image):
    assert 'MEM_ENCRYPTION_CONTEXT' not in amounts(guest(extra_specs, image))


@pytest.mark.parametrize(('extra_specs', 'image', 'named'), [
    (ENCRYPTED, None, 'image.properties.hw_firmware_type = None: must be '
                      'uefi'),
    (ENCRYPTED, {'hw_firmware_type': 'bios'},
     "image.properties.hw_firmware_type = 'bios': must be uefi"),
    (ENCRYPTED, {**UEFI, 'hw_machine_type': 'pc'},
     "image.properties.hw_machine_type = 'pc': must be of type q35"),
    ({**ENCRYPTED, 'hw:mem_encryption_model': 'amd-sev-snp'}, UEFI,
     'image.properties.hw_firmware_stateless = None: must be true'),
    ({**ENCRYPTED, 'hw:mem_encryption_model': 'intel-tdx'},
     {**UEFI, 'hw_firmware_stateless': True, 'hw_video_model': 'vga'},
     "image.properties.hw_video_model = 'vga': must be none"),
    ({}, {**UEFI, 'hw_mem_encryption': True,
          'hw_mem_encryption_model': 'rot13'},
     "image.properties.hw_mem_encryption_model = 'rot13': must be one of"),
    ({'hw:mem_encryption': 'false'}, {**UEFI, 'hw_mem_encryption': True},
     "hw:mem_encryption = 'false': must not differ from the image's "
     'hw_mem_encryption = True'),
    ({'hw:mem_encryption_model': 'amd-sev'},
     {**UEFI, 'hw_mem_encryption': True,
      'hw_mem_encryption_model': 'amd-sev-es'},
     "hw:mem_encryption_model = 'amd-sev': must not differ")])
def test_image_unfit_for_encryption_is_refused(extra_specs, image, named):
    assert named in refusal(extra_specs, image)


@pytest.mark.parametrize(('text', 'found'), [
    ('A,B,A', {'CUSTOM_PMEM_NAMESPACE_A': 2, 'CUSTOM_PMEM_NAMESPACE_B': 1}),
    ('6gb , b-1 ', {'CUSTOM_PMEM_NAMESPACE_6GB': 1,
                  'CUSTOM_PMEM_NAMESPACE_B_1': 1}),
    ('A,,', {'CUSTOM_PMEM_NAMESPACE_A': 1}), ('', {})])
def test_persistent_memory_is_counted_by_label(text, found):
    rest = amounts(guest({'hw:pmem': text}))

    assert {name: amount for name, amount in rest.items()
            if name.startswith('CUSTOM_')} == found
