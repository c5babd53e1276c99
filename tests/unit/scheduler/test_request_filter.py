"""Request filters that require traits; the order of all, and their logs."""

import logging

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import request_filter
from tests.builders import facts
from tests.builders.facts import filtered
from tests.builders.requests import a_request
from tests.builders.requests import an_image

ALL = facts.OPTIONS
PCI, PORT_PCI = (f'{digit * 8}-0000-4000-8000-000000000001' for digit in '12')
IMAGE_TYPE = 'query_placement_for_image_type_support'
METADATA = 'image_metadata_prefilter'
RING = ('hw:virtio_packed_ring', 'hw_virtio_packed_ring')
SOUND = ('hw:sound_model', 'hw_sound_model')


def specs(**values):
    """Extra specs; a ``__`` in a name stands for a colon."""
    return {'extra_specs': {name.replace('__', ':'): value
                            for name, value in values.items()}}


def image(**properties):
    return {'image_properties': properties}


def either(names, flavor, image):
    """A request with an extra spec and an image property, unless None."""
    return {'extra_specs': {} if flavor is None else {names[0]: flavor},
            'image_properties': {} if image is None else {names[1]: image}}


def encrypted(flavor=None, image=None):
    """Formats of ephemeral encryption by flavor and image."""
    return {'extra_specs': {
        f'hw:ephemeral_encryption{key}': value
        for key, value in (flavor or {}).items()}, 'image_properties': {
        f'hw_ephemeral_encryption{key}': value
        for key, value in (image or {}).items()}}


LUKS = {'COMPUTE_EPHEMERAL_ENCRYPTION', 'COMPUTE_EPHEMERAL_ENCRYPTION_LUKS'}
TPM = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_'

#: Options that are on, the request, the traits required of its hosts.
TRAITS = [
    # Image types.
    ([IMAGE_TYPE], {'image': an_image(disk_format='raw')},
     {'COMPUTE_IMAGE_TYPE_RAW'}),
    ([], {}, set()),
    ([IMAGE_TYPE], {'is_bfv': True}, set()),
    ([IMAGE_TYPE], {'image': None}, set()),
    ([IMAGE_TYPE], {'image': an_image(disk_format=None)}, set()),
    ([IMAGE_TYPE], {'image': objects.ImageMeta()}, set()),
    # Image metadata.
    ([METADATA], image(hw_cdrom_bus='ide'), {'COMPUTE_STORAGE_BUS_IDE'}),
    ([METADATA], image(hw_video_model='qxl'), {'COMPUTE_GRAPHICS_MODEL_QXL'}),
    ([METADATA], image(hw_vif_model='spapr-vlan'),
     {'COMPUTE_NET_VIF_MODEL_SPAPR_VLAN'}),
    ([METADATA], image(hw_architecture='x86_64'), {'HW_ARCH_X86_64'}),
    ([METADATA], image(hw_emulation_architecture='aarch64'),
     {'COMPUTE_ARCH_AARCH64'}),
    ([METADATA], image(hw_cdrom_bus='ide', hw_disk_bus='scsi',
                       os_distro='debian'),
     {'COMPUTE_STORAGE_BUS_IDE', 'COMPUTE_STORAGE_BUS_SCSI'}),
    ([], image(hw_disk_bus='scsi'), set()),
    ([METADATA], {'image': None}, set()),
    # Accelerators.
    ([], specs(accel__device_profile='gpu'), {'COMPUTE_ACCELERATORS'}),
    ([], specs(accel__device_profile=''), set()),
    # Packed virtqueues.
    *(([], either(RING, *asked), {'COMPUTE_NET_VIRTIO_PACKED'}) for asked in [
        ('true', None), (None, True), ('yes', True), ('', True)]),
    *(([], either(RING, *asked), set()) for asked in [
        ('false', None), (None, False), ('nonsense', None),
        ('false', False)]),
    # Ephemeral encryption.
    ([], encrypted({'': 'true'}), {'COMPUTE_EPHEMERAL_ENCRYPTION'}),
    ([], encrypted(image={'': True}), {'COMPUTE_EPHEMERAL_ENCRYPTION'}),
    ([], encrypted({'': 'true', '_format': 'luks'}), LUKS),
    ([], encrypted({'': 'true'}, {'_format': 'luks'}), LUKS),
    ([], encrypted({'': 'true', '_format': 'luks'}, {'_format': 'luks'}),
     LUKS),
    ([], encrypted({'_format': 'luks'}), set()),
    ([], encrypted({'': 'false', '_format': 'foo'}), set()),
    # Sound.
    ([], either(SOUND, 'virtio', None), {'COMPUTE_SOUND_MODEL_VIRTIO'}),
    ([], either(SOUND, None, 'virtio'), {'COMPUTE_SOUND_MODEL_VIRTIO'}),
    ([], either(SOUND, 'ich9', None), set()),
    # Security of TPM secrets.
    *(([], specs(hw__tpm_version='2.0', hw__tpm_secret_security=asked),
       {TPM + trait}) for asked, trait in [
        ('', 'USER'), ('user', 'USER'), ('host', 'HOST'),
        ('deployment', 'DEPLOYMENT')]),
    ([], image(hw_tpm_version='1.2'), {TPM + 'USER'}),
    ([], specs(hw__tpm_secret_security='nonsense'), set()),
    ([], specs(hw__tpm_model='tpm-crb'), set())]


@pytest.mark.parametrize(('on', 'request_', 'traits'), TRAITS)
def test_requests_require_traits(on, request_, traits):
    assert facts.required(filtered(a_request(**request_), *on)) == traits


@pytest.mark.parametrize(('on', 'request_', 'name'), [
    (IMAGE_TYPE, {'image': an_image(disk_format='foo')},
     'COMPUTE_IMAGE_TYPE_FOO'),
    (METADATA, image(hw_disk_bus='scsi', hw_vif_model='e9000'),
     'COMPUTE_NET_VIF_MODEL_E9000'),
    (METADATA, image(hw_disk_bus='scsi', hw_viommu_model='intel'),
     'COMPUTE_VIOMMU_INTEL')])
def test_no_trait_is_required_if_os_traits_lacks_one(on, request_, name,
                                                     caplog):
    assert not facts.required(filtered(a_request(**request_), on))
    assert (f'Computed trait name {name!r} is not valid; is os-traits up to '
            'date?') in caplog.text


@pytest.mark.parametrize(('on', 'request_', 'line'), [
    ([IMAGE_TYPE], {'image': an_image(disk_format='raw')},
     'require_image_type_support request filter added required trait '
     'COMPUTE_IMAGE_TYPE_RAW'),
    ([METADATA], image(hw_cdrom_bus='ide'),
     'transform_image_metadata request filter added required trait '
     'COMPUTE_STORAGE_BUS_IDE'),
    ([], {}, 'ephemeral_encryption_filter skipped'),
    ([], {}, 'virtio_sound_filter skipped')])
def test_debug_has_the_traits_and_skipped_filters(on, request_, line, caplog):
    caplog.set_level(logging.DEBUG)
    filtered(a_request(**request_), *on)

    assert line in caplog.text


@pytest.mark.parametrize(('request_', 'words'), [
    (either(RING, 'true', False),
     "Invalid input received: flavor.extra_specs.hw:virtio_packed_ring = "
     "'true': must not differ from the image's hw_virtio_packed_ring = "
     'False; change one of them'),
    (either(RING, 'false', True), 'must not differ from the image'),
    (encrypted({'': 'true'}, {'': False}), 'must not differ from the image'),
    (encrypted({'': 'true', '_format': 'luks'}, {'_format': 'plain'}),
     'must not differ from the image'),
    (encrypted({'': 'true', '_format': 'foo'}), 'one of plain, luks'),
    (encrypted({'': 'true'}, {'_format': 'foo'}), 'one of plain, luks'),
    (either(SOUND, 'nonsense', 'virtio'), 'must be one of sb16, es1370, '),
    (either(SOUND, 'ich9', 'virtio'),
     "must not differ from the image's hw_sound_model"),
    (specs(hw__tpm_version='1.2') | image(hw_tpm_version='2.0'),
     'must not differ')])
def test_contradictions_of_flavor_and_image_are_refused(request_, words):
    with pytest.raises(exception.InvalidInput) as refused:
        filtered(a_request(**request_))

    assert words in str(refused.value)


def test_an_unknown_security_of_tpm_secrets_fails_the_request(caplog):
    reason = "TPM secret security 'shared' is not supported."

    with pytest.raises(exception.RequestFilterFailed,
                       match=f'Scheduling failed: {reason}'):
        filtered(a_request(**specs(
            hw__tpm_version='2.0', hw__tpm_secret_security='shared')))
    assert [record.levelname for record in caplog.records
            if record.getMessage() == reason] == ['WARNING']


def test_filters_run_in_novas_order():
    assert [each.__name__ for each in request_filter.FILTERS] == [
        'require_tenant_aggregate', 'map_az_to_placement_aggregate',
        'require_image_type_support', 'compute_status_filter',
        'isolate_aggregates', 'transform_image_metadata',
        'accelerators_filter', 'packed_virtqueue_filter',
        'routed_networks_filter', 'remote_managed_ports_filter',
        'ephemeral_encryption_filter', 'virtio_sound_filter',
        'tpm_secret_security_filter', 'owner_nova_filter']


ALWAYS = {'compute_status_filter', 'accelerators_filter',
          'packed_virtqueue_filter', 'remote_managed_ports_filter',
          'owner_nova_filter'}


@pytest.mark.parametrize(('on', 'request_', 'oldest', 'more'), [
    ((), {}, 73, ()),
    ((), {}, 72, ()),
    ((), {'availability_zone': 'z'}, 73, ['map_az_to_placement_aggregate']),
    ((), encrypted({'': 'true'}), 73, ['ephemeral_encryption_filter']),
    ((), either(SOUND, 'virtio', None), 73, ['virtio_sound_filter']),
    ((), specs(hw__tpm_version='2.0'), 73, ['tpm_secret_security_filter']),
    (ALL, {}, 73, ['require_image_type_support', 'isolate_aggregates',
                   'transform_image_metadata', 'require_tenant_aggregate',
                   'routed_networks_filter']),
    (ALL[2:3], {'is_bfv': True}, 73, ())])
def test_filters_that_apply_are_timed(on, request_, oldest, more, caplog):
    caplog.set_level(logging.DEBUG)
    times, known = iter(range(100)), [facts.an_aggregate(
        'a', filter_tenant_id='project')]
    applied = ALWAYS.union(more) - (
        {'owner_nova_filter'} if oldest < 73 else set())

    request_filter.process_reqspec(
        a_request(project_id='project', **request_),
        facts.Facts(known=known, oldest=oldest),
        facts.options(*on), lambda: next(times))

    assert [record.getMessage() for record in caplog.records
            if 'took' in record.getMessage()] == [
        f'Request filter {each.__name__!r} took 1.0 seconds'
        for each in request_filter.FILTERS if each.__name__ in applied]


def test_options_are_those_of_the_scheduler(tmp_path):
    path = tmp_path / 'nova.conf'
    path.write_text('[scheduler]\n' + '\n'.join(
        f'{name} = true' for name in ALL))

    for files, is_on in (([str(path)], True), ([], False)):
        filters = request_filter.RequestFilters(
            config.new_conf([], files), None, None)
        assert [getattr(filters._options, name) for name in ALL] == (
            [is_on] * len(ALL))


def test_traits_are_added_to_those_of_the_request():
    """By default for enabled hosts of Nova."""
    plain, own = (filtered(a_request(**params)) for params in (
        {}, {'request_level_params': objects.RequestLevelParams(
            root_required={'CUSTOM_A'}, root_forbidden={'CUSTOM_B'})}))

    assert [(params.root_required, params.root_forbidden) for params in (
        plain.request_level_params, own.request_level_params)] == [
        ({'OWNER_NOVA'}, {'COMPUTE_STATUS_DISABLED'}),
        ({'CUSTOM_A', 'OWNER_NOVA'}, {'CUSTOM_B', 'COMPUTE_STATUS_DISABLED'})]
    assert plain.requested_destination is None


class TestOwnerNova:
    @pytest.mark.parametrize(('oldest', 'is_required'), [
        (None, False), (0, False), (72, False), (73, True), (80, True)])
    def test_is_required_of_new_computes(self, oldest, is_required, caplog):
        spec = filtered(a_request(), oldest=oldest)

        assert ('OWNER_NOVA' in spec.request_level_params.root_required
                ) == is_required
        assert ('OWNER_NOVA trait not added to scheduling request: not all '
                'nova-compute services are upgraded (min_version=72, need '
                '73).' in caplog.text) == (oldest == 72)

    def test_is_required_of_devices_of_the_flavor(self):
        """Not of those of ports, nor of other groups."""
        groups = [f'{PCI}-0', f'{PCI}-1', f'{PORT_PCI}-0', PCI, 'other', None]
        spec = filtered(a_request(
            pci_requests=objects.InstancePCIRequests(requests=[
                objects.InstancePCIRequest(
                    count=2, alias_name='gpu', request_id=PCI),
                objects.InstancePCIRequest(
                    count=1, alias_name=None, request_id=PORT_PCI)]),
            requested_resources=[
                objects.RequestGroup(requester_id=requester,
                                     required_traits={'CUSTOM_A'})
                for requester in groups]))

        assert [group.requester_id for group in spec.requested_resources
                if group.required_traits == {'CUSTOM_A', 'OWNER_NOVA'}] == (
                    groups[:2])

    @pytest.mark.parametrize('field', ['pci_requests', 'requested_resources'])
    def test_accepts_requests_without_devices(self, field):
        assert filtered(a_request(**{field: None}))
