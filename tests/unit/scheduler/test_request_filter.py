"""Request filters that ask for traits; the order of all, and what is told."""

import logging

import pytest

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import request_filter
from tests.builders import facts
from tests.builders.facts import filtered
from tests.builders.facts import required
from tests.builders.requests import a_request
from tests.builders.requests import an_image

ALL = tuple(request_filter.Options.__dataclass_fields__)
PCI, PORT_PCI = (f'{digit * 8}-0000-4000-8000-000000000001' for digit in '12')


def asked(*on, **request):
    """The traits required of a request; on: options that are true."""
    return required(filtered(a_request(**request), *on))


def refused(error, *on, **request):
    with pytest.raises(error) as caught:
        filtered(a_request(**request), *on)
    return str(caught.value)


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
    ((), {'extra_specs': {'hw:ephemeral_encryption': 'true'}}, 73,
     ['ephemeral_encryption_filter']),
    ((), {'extra_specs': {'hw:sound_model': 'virtio'}}, 73,
     ['virtio_sound_filter']),
    ((), {'extra_specs': {'hw:tpm_version': '2.0'}}, 73,
     ['tpm_secret_security_filter']),
    (ALL, {}, 73, ['require_image_type_support', 'isolate_aggregates',
                   'transform_image_metadata', 'require_tenant_aggregate',
                   'routed_networks_filter']),
    (ALL[2:3], {'is_bfv': True}, 73, ())])
def test_each_filter_that_applies_is_timed(on, request_, oldest, more,
                                           caplog):
    """Those that are off, or skip the request, are not."""
    caplog.set_level(logging.DEBUG)
    times, known = iter(range(100)), [facts.an_aggregate(
        'a', filter_tenant_id='project')]
    applied = ALWAYS.union(more) - (
        {'owner_nova_filter'} if oldest < 73 else set())

    request_filter.process_reqspec(
        a_request(project_id='project', **request_),
        facts.Facts(known=known, oldest=oldest),
        request_filter.Options(**dict.fromkeys(on, True)),
        lambda: next(times))

    assert [record.getMessage() for record in caplog.records
            if 'took' in record.getMessage()] == [
        f'Request filter {each.__name__!r} took 1.0 seconds'
        for each in request_filter.FILTERS if each.__name__ in applied]


def test_options_are_those_of_the_scheduler(tmp_path):
    path = tmp_path / 'nova.conf'
    path.write_text('[scheduler]\n' + '\n'.join(
        f'{name} = true' for name in ALL))

    assert request_filter.Options.of(config.new_conf([], [str(path)])) == (
        request_filter.Options(*[True] * len(ALL)))
    assert request_filter.Options.of(
        config.new_conf([], [])) == request_filter.Options()


def test_a_plain_request_asks_for_enabled_hosts_of_nova():
    params = filtered(a_request(), *ALL[2:3]).request_level_params

    assert params.root_required == {'OWNER_NOVA', 'COMPUTE_IMAGE_TYPE_QCOW2'}
    assert params.root_forbidden == {'COMPUTE_STATUS_DISABLED'}
    assert filtered(a_request()).requested_destination is None


def test_what_the_request_asked_for_itself_stays():
    spec = filtered(a_request(request_level_params=objects.RequestLevelParams(
        root_required={'CUSTOM_A'}, root_forbidden={'CUSTOM_B'})))

    assert spec.request_level_params.root_required == {
        'CUSTOM_A', 'OWNER_NOVA'}
    assert spec.request_level_params.root_forbidden == {
        'CUSTOM_B', 'COMPUTE_STATUS_DISABLED'}


class TestImageType:
    ON = 'query_placement_for_image_type_support'

    def test_asks_for_the_disk_format(self, caplog):
        caplog.set_level(logging.DEBUG)

        assert asked(self.ON, image=an_image(disk_format='raw')) == {
            'COMPUTE_IMAGE_TYPE_RAW'}
        assert ('require_image_type_support request filter added required '
                'trait COMPUTE_IMAGE_TYPE_RAW') in caplog.text

    def test_is_off_by_default(self):
        assert not asked()

    def test_leaves_out_requests_that_boot_from_a_volume(self):
        assert not asked(self.ON, is_bfv=True)

    @pytest.mark.parametrize('image', [None, an_image(disk_format=None),
                                       objects.ImageMeta()])
    def test_leaves_out_requests_without_a_format(self, image):
        assert not asked(self.ON, image=image)

    def test_asks_for_nothing_that_os_traits_does_not_know(self, caplog):
        assert not asked(self.ON, image=an_image(disk_format='foo'))
        assert ("Computed trait name 'COMPUTE_IMAGE_TYPE_FOO' is not valid; "
                'is os-traits up to date?') in caplog.text


class TestImageMetadata:
    ON = 'image_metadata_prefilter'

    @pytest.mark.parametrize(('name', 'value', 'trait'), [
        ('hw_cdrom_bus', 'ide', 'COMPUTE_STORAGE_BUS_IDE'),
        ('hw_disk_bus', 'virtio', 'COMPUTE_STORAGE_BUS_VIRTIO'),
        ('hw_video_model', 'qxl', 'COMPUTE_GRAPHICS_MODEL_QXL'),
        ('hw_vif_model', 'spapr-vlan', 'COMPUTE_NET_VIF_MODEL_SPAPR_VLAN'),
        ('hw_architecture', 'x86_64', 'HW_ARCH_X86_64'),
        ('hw_emulation_architecture', 'aarch64', 'COMPUTE_ARCH_AARCH64')])
    def test_asks_for_what_a_property_needs(self, name, value, trait, caplog):
        caplog.set_level(logging.DEBUG)

        assert asked(self.ON, image_properties={name: value}) == {trait}
        assert (f'transform_image_metadata request filter added required '
                f'trait {trait}') in caplog.text

    def test_asks_for_all_that_properties_need(self):
        assert asked(self.ON, image_properties={
            'hw_cdrom_bus': 'ide', 'hw_disk_bus': 'scsi',
            'os_distro': 'debian'}) == {
                'COMPUTE_STORAGE_BUS_IDE', 'COMPUTE_STORAGE_BUS_SCSI'}

    @pytest.mark.parametrize(('name', 'value', 'trait'), [
        ('hw_vif_model', 'e9000', 'COMPUTE_NET_VIF_MODEL_E9000'),
        ('hw_viommu_model', 'intel', 'COMPUTE_VIOMMU_INTEL')])
    def test_asks_for_nothing_if_one_trait_is_unknown(self, name, value,
                                                      trait, caplog):
        assert not asked(self.ON, image_properties={
            'hw_disk_bus': 'scsi', name: value})
        assert (f'Computed trait name {trait!r} is not valid; is os-traits '
                'up to date?') in caplog.text

    def test_is_off_by_default(self):
        assert not asked(image_properties={'hw_disk_bus': 'scsi'})

    def test_asks_for_nothing_without_an_image(self):
        assert not asked(self.ON, image=None)


class TestAccelerators:
    def test_are_asked_for_with_a_device_profile(self):
        assert asked(extra_specs={'accel:device_profile': 'gpu'}) == {
            'COMPUTE_ACCELERATORS'}

    def test_are_not_without_one(self):
        assert not asked(extra_specs={'accel:device_profile': ''})


class TestPackedVirtqueue:
    KEY, NAME = 'hw:virtio_packed_ring', 'hw_virtio_packed_ring'

    @pytest.mark.parametrize(('flavor', 'image', 'packed'), [
        ('true', None, True), (None, True, True), ('yes', True, True),
        ('false', None, False), (None, False, False), (None, None, False),
        ('nonsense', None, False), ('', True, True), ('false', False, False)])
    def test_is_asked_for_by_flavor_or_image(self, flavor, image, packed):
        found = asked(
            extra_specs={} if flavor is None else {self.KEY: flavor},
            image_properties={} if image is None else {self.NAME: image})

        assert found == ({'COMPUTE_NET_VIRTIO_PACKED'} if packed else set())

    @pytest.mark.parametrize(('flavor', 'image'), [('true', False),
                                                   ('false', True)])
    def test_may_not_be_asked_for_by_one_and_refused_by_the_other(
            self, flavor, image):
        assert refused(exception.InvalidInput,
                       extra_specs={self.KEY: flavor},
                       image_properties={self.NAME: image}) == (
            'Invalid input received: flavor.extra_specs.'
            f"hw:virtio_packed_ring = '{flavor}': must not differ from the "
            f"image's hw_virtio_packed_ring = {image}; change one of them")


class TestEphemeralEncryption:
    KEY, NAME = 'hw:ephemeral_encryption', 'hw_ephemeral_encryption'
    TRAIT = 'COMPUTE_EPHEMERAL_ENCRYPTION'

    @pytest.mark.parametrize('request_', [
        {'extra_specs': {KEY: 'true'}}, {'image_properties': {NAME: True}}])
    def test_is_asked_for_by_flavor_or_image(self, request_):
        assert asked(**request_) == {self.TRAIT}

    @pytest.mark.parametrize(('specs', 'properties'), [
        ({'_format': 'luks'}, {}), ({}, {'_format': 'luks'}),
        ({'_format': 'luks'}, {'_format': 'luks'})])
    def test_may_have_a_format(self, specs, properties):
        assert asked(
            extra_specs={self.KEY: 'true', **{
                self.KEY + name: value for name, value in specs.items()}},
            image_properties={
                self.NAME + name: value
                for name, value in properties.items()}) == {
                    self.TRAIT, f'{self.TRAIT}_LUKS'}

    @pytest.mark.parametrize('specs', [
        {}, {'hw:ephemeral_encryption_format': 'luks'},
        {'hw:ephemeral_encryption': 'false',
         'hw:ephemeral_encryption_format': 'foo'}])
    def test_is_not_asked_for_otherwise(self, specs, caplog):
        caplog.set_level(logging.DEBUG)

        assert not asked(extra_specs=specs)
        assert 'ephemeral_encryption_filter skipped' in caplog.text

    @pytest.mark.parametrize(('specs', 'properties', 'said'), [
        ({'': 'true'}, {'': False}, 'must not differ from the image'),
        ({'': 'true', '_format': 'luks'}, {'_format': 'plain'},
         'must not differ from the image'),
        ({'': 'true', '_format': 'foo'}, {}, 'must be one of plain, luks'),
        ({'': 'true'}, {'_format': 'foo'}, 'must be one of plain, luks')])
    def test_must_make_sense(self, specs, properties, said):
        assert said in refused(
            exception.InvalidInput,
            extra_specs={self.KEY + name: value
                         for name, value in specs.items()},
            image_properties={self.NAME + name: value
                              for name, value in properties.items()})


class TestVirtioSound:
    KEY, NAME = 'hw:sound_model', 'hw_sound_model'

    @pytest.mark.parametrize('request_', [
        {'extra_specs': {KEY: 'virtio'}},
        {'image_properties': {NAME: 'virtio'}}])
    def test_is_asked_for_by_flavor_or_image(self, request_):
        assert asked(**request_) == {'COMPUTE_SOUND_MODEL_VIRTIO'}

    def test_no_other_model_is(self, caplog):
        caplog.set_level(logging.DEBUG)

        assert not asked(extra_specs={self.KEY: 'ich9'})
        assert 'virtio_sound_filter skipped' in caplog.text

    @pytest.mark.parametrize(('model', 'said'), [
        ('nonsense', 'must be one of sb16, es1370, '),
        ('ich9', "must not differ from the image's hw_sound_model")])
    def test_must_make_sense(self, model, said):
        assert said in refused(
            exception.InvalidInput, extra_specs={self.KEY: model},
            image_properties={self.NAME: 'virtio'})


class TestTpmSecretSecurity:
    @pytest.mark.parametrize(('specs', 'way'), [
        ({}, 'USER'), ({'hw:tpm_secret_security': ''}, 'USER'),
        ({'hw:tpm_secret_security': 'user'}, 'USER'),
        ({'hw:tpm_secret_security': 'host'}, 'HOST'),
        ({'hw:tpm_secret_security': 'deployment'}, 'DEPLOYMENT')])
    def test_is_as_the_flavor_says(self, specs, way):
        assert asked(extra_specs={'hw:tpm_version': '2.0', **specs}) == {
            f'COMPUTE_SECURITY_TPM_SECRET_SECURITY_{way}'}

    def test_matters_to_images_with_a_tpm_too(self):
        assert asked(image_properties={'hw_tpm_version': '1.2'}) == {
            'COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER'}

    @pytest.mark.parametrize('specs', [
        {'hw:tpm_secret_security': 'nonsense'}, {'hw:tpm_model': 'tpm-crb'}])
    def test_does_not_matter_without_a_tpm(self, specs):
        assert not asked(extra_specs=specs)

    def test_must_not_differ_between_flavor_and_image(self):
        assert 'must not differ' in refused(
            exception.InvalidInput, extra_specs={'hw:tpm_version': '1.2'},
            image_properties={'hw_tpm_version': '2.0'})

    def test_of_an_unknown_way_fails_the_request(self, caplog):
        reason = "TPM secret security 'shared' is not supported."

        assert refused(exception.RequestFilterFailed, extra_specs={
            'hw:tpm_version': '2.0', 'hw:tpm_secret_security': 'shared'
        }) == f'Scheduling failed: {reason}'
        assert [record.levelname for record in caplog.records
                if record.getMessage() == reason] == ['WARNING']


class TestOwnerNova:
    @pytest.mark.parametrize(('oldest', 'is_asked'), [
        (None, False), (0, False), (72, False), (73, True), (80, True)])
    def test_is_asked_for_once_all_computes_say_so(self, oldest, is_asked):
        spec = filtered(a_request(), oldest=oldest)

        assert ('OWNER_NOVA' in spec.request_level_params.root_required
                ) == is_asked

    def test_says_which_version_is_too_old(self, caplog):
        filtered(a_request(), oldest=72)

        assert ('OWNER_NOVA trait not added to scheduling request: not all '
                'nova-compute services are upgraded (min_version=72, '
                'need 73).') in caplog.text

    def test_is_asked_of_devices_of_the_flavor(self):
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

    @pytest.mark.parametrize('request_', [
        {'pci_requests': None}, {'requested_resources': None}])
    def test_takes_requests_without_devices(self, request_):
        assert filtered(a_request(**request_))
