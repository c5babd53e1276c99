"""The base class of objects: envelopes, versions, unset fields, copies."""

import copy
import datetime
import decimal

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception
import pytest

from nova_sched import objects
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import MalformedError


def envelope(name, data, version='1.0'):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data}


class TestEnvelopes:
    @pytest.mark.parametrize('version', ['1.0', '1.4', '1.4.2', '1.77'])
    def test_any_minor_version_is_read(self, version):
        """A third part of the version is ignored."""
        destination = base.NovaObject.obj_from_primitive(
            envelope('Destination', {'host': 'h'}, version))

        assert (destination.host, destination.wire_version) == ('h', version)

    @pytest.mark.parametrize('version', [
        '1', '1.', '1.x', '1.2.x', '1.2.3.4', '1.-2', '1.\u0664',
        '1.2.1234567'])
    def test_invalid_version_is_refused(self, version):
        """A version has two or three numbers of at most six digits."""
        with pytest.raises(MalformedError, match=r'such as 1\.0'):
            base.NovaObject.obj_from_primitive(
                envelope('Destination', {}, version))

    @pytest.mark.parametrize('version', ['1.19', '2.0', '2.8'])
    def test_instances_of_both_majors_are_read(self, version):
        """Kilo sends Instance 1.x, later releases 2.x."""
        assert objects.Instance.from_envelope(
            envelope('Instance', {'uuid': 'u'}, version)).uuid == 'u'

    def test_unknown_class_is_unsupported(self):
        with pytest.raises(ovo_exception.UnsupportedObjectError):
            base.NovaObject.obj_from_primitive(envelope('Teleporter', {}))

    @pytest.mark.parametrize('value', [None, [], {}, {'nova_object.name': 5}])
    def test_value_without_class_is_refused(self, value):
        with pytest.raises(MalformedError, match='must be an object'):
            base.NovaObject.obj_from_primitive(value)

    def test_context_is_kept(self):
        assert base.NovaObject.obj_from_primitive(
            envelope('Aggregate', {}), 'the context')._context == (
            'the context')

    def test_new_object_has_version_of_class(self):
        assert objects.RequestSpec().wire_version == '1.15'

    def test_older_version_is_written_without_newer_fields(self):
        written = objects.Destination(
            host='h', aggregates=['a'], forbidden_aggregates={'b'}
        ).obj_to_primitive('1.2')

        assert written == envelope(
            'Destination', {'host': 'h', 'aggregates': ['a']}, '1.2')

    def test_newer_version_cannot_be_written(self):
        with pytest.raises(ovo_exception.InvalidTargetVersion):
            objects.Destination().obj_to_primitive('1.9')

    def test_unknown_fields_are_written_in_their_version_only(self):
        sent = envelope('Aggregate', {'id': 1, 'flag': [1, {}]}, '1.9')
        aggregate = objects.Aggregate.from_envelope(sent)

        assert aggregate.obj_to_primitive() == sent
        assert aggregate.obj_to_primitive('1.3')['nova_object.data'] == {
            'id': 1}


class TestFields:
    def test_unset_differs_from_null(self):
        destination = objects.Destination.from_envelope(
            envelope('Destination', {'node': None}))

        assert not destination.obj_attr_is_set('host')
        assert 'host' not in destination
        assert destination.obj_attr_is_set('node')
        assert destination.node is None

    def test_reading_unset_field_does_not_set_it(self):
        destination = objects.Destination()

        assert destination.host is None
        assert destination.allow_cross_cell_move is False
        assert destination.obj_to_primitive()['nova_object.data'] == {}

    def test_change_of_default_object_is_kept(self):
        spec = objects.RequestSpec()

        spec.request_level_params.root_required.add('T')

        assert spec.request_level_params.root_required == {'T'}

    def test_default_network_metadata_is_not_kept(self):
        spec = objects.RequestSpec()

        assert spec.network_metadata.physnets == set()
        assert not spec.obj_attr_is_set('network_metadata')

    def test_null_request_groups_are_an_empty_list(self):
        """As Queens sends them."""
        assert objects.RequestSpec.from_envelope(envelope(
            'RequestSpec', {'requested_resources': None}, '1.8')
        ).requested_resources == []

    def test_unknown_field_is_an_error(self):
        with pytest.raises(TypeError, match='memory'):
            objects.Flavor(memory=5)
        with pytest.raises(AttributeError, match="has no field 'colour'"):
            objects.Aggregate().obj_attr_is_set('colour')

    def test_invalid_value_is_refused_with_its_field(self):
        with pytest.raises(ValueError, match='vcpus = -1'):
            objects.Flavor(vcpus=-1)
        with pytest.raises(ValueError, match='vcpus'):
            objects.Flavor().vcpus = None

    def test_field_can_be_deleted_once(self):
        flavor = objects.Flavor(vcpus=1)

        del flavor.vcpus

        assert not flavor.obj_attr_is_set('vcpus')
        with pytest.raises(AttributeError):
            del flavor.vcpus


class TestObjects:
    def test_library_supports_the_objects(self):
        assert isinstance(objects.Selection(), ovo_base.VersionedObject)
        assert isinstance(objects.Flavor.fields['id'],
                          ovo_base.obj_fields.Field)

    def test_registry_of_library_is_not_changed(self):
        """So os-vif or Nova in the same process keep their classes."""
        library = ovo_base.VersionedObjectRegistry.obj_classes()

        assert not [cls for classes in library.values() for cls in classes
                    if issubclass(cls, base.NovaObject)]
        assert 'RequestSpec' in base.Registry.obj_classes()

    def test_urls_of_cell_are_not_shown(self):
        cell = objects.CellMapping(
            uuid='c', transport_url='rabbit://a:secret@b/',
            database_connection='mysql://a:secret@b/')

        text = repr(objects.Destination(cell=cell))

        assert 'secret' not in text
        assert "uuid='c'" in text

    def test_list_is_a_sequence_and_flat(self):
        nodes = objects.ComputeNodeList(
            objects=[objects.ComputeNode(host='h')])

        assert len(nodes) == 1
        assert [node.host for node in nodes] == ['h']
        assert nodes.flat() == [{'host': 'h'}]
        assert len(objects.ComputeNodeList()) == 0

    def test_nested_objects_and_sets_are_flat(self):
        cell = objects.InstanceNUMACell(id=0, cpuset={3, 1})

        assert objects.InstanceNUMATopology(cells=[cell]).flat() == {
            'cells': [{'id': 0, 'cpuset': [1, 3], 'pcpuset': []}]}

    def test_image_properties_have_no_private_attributes(self):
        """Copying and pickling look some up."""
        properties = objects.ImageMetaProps.from_dict({'_odd': 'x'})

        with pytest.raises(AttributeError, match='_odd'):
            properties._odd  # noqa: B018 - the property raises
        assert properties.get('_odd') == 'x'
        assert copy.deepcopy(properties).get('_odd') == 'x'


class TestCopies:
    @pytest.mark.parametrize('value', [
        'x', 5, 2.5, True, None, b'x', datetime.datetime(2026, 1, 1)])
    def test_immutable_value_is_not_copied(self, value):
        assert base.clone(value) is value

    @pytest.mark.parametrize('value', [
        {'a': [1]}, [[1]], ([1],), {frozenset((1,))}, frozenset((1,)),
        bytearray(b'x'), decimal.Decimal('2.5')])
    def test_copy_is_equal_and_of_the_same_type(self, value):
        twin = base.clone(value)

        assert twin == value
        assert type(twin) is type(value)

    @pytest.mark.parametrize(('value', 'part'), [
        ({'a': []}, lambda value: value['a']), ([[]], lambda value: value[0]),
        (([],), lambda value: value[0]),
        (bytearray(b'x'), lambda value: value),
        (objects.Aggregate(hosts=['a']), lambda value: value.hosts)])
    def test_mutable_parts_are_copied(self, value, part):
        for copied in (base.clone(value), copy.deepcopy(value)):
            assert part(copied) is not part(value)


class TestKinds:
    @pytest.mark.parametrize(('kind', 'value', 'expected'), [
        *((fields.BOOLEAN, value, expected) for value, expected in (
            (True, True), ('true', True), ('no', False), (1, True),
            (0, False))),
        *((fields.INTEGER, value, expected) for value, expected in (
            (3.9, 3), ('-4', -4), (7, 7))),
        *((fields.DATETIME, value, datetime.datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)) for value in (
            '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000',
            '2026-01-02 03:04:05', '2026-01-02T05:04:05+02:00')),
        (fields.dict_of(fields.SIZE, keys=fields.SIZE), {'0': 4}, {0: 4}),
        (fields.set_of(fields.INTEGER), [3, 1, 3], {1, 3})])
    def test_value_is_converted(self, kind, value, expected):
        found = kind.read(value)

        assert (found, type(found)) == (expected, type(expected))

    @pytest.mark.parametrize(('kind', 'values'), [
        (fields.BOOLEAN, ['perhaps', None, [], {}]),
        (fields.DATETIME, ['soon', 5, None, '0001-01-01T00:00:00+23:00']),
        (fields.INTEGER, ['x', True, None, float('inf'), 2 ** 70, '9' * 30])])
    def test_other_values_are_refused(self, kind, values):
        for value in values:
            with pytest.raises(MalformedError):
                kind.read(value)

    @pytest.mark.parametrize(('kind', 'value', 'written'), [
        (fields.set_of(fields.INTEGER), {3, 1}, [1, 3]),
        (fields.dict_of(fields.SIZE, keys=fields.SIZE), {0: 4}, {'0': 4}),
        (fields.DATETIME, datetime.datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
         '2026-01-02T03:04:05Z')])
    def test_value_is_written_as_json(self, kind, value, written):
        assert kind.write(value) == written

    @pytest.mark.parametrize(('step', 'shown'), [
        (3, '[3]'), ('a', '.a'), ('x' * 80, '.' + 'x' * 80),
        ('x' * 81, f".'{'x' * 60}'"), ('a\nb', r".'a\nb'")])
    def test_error_has_printable_path(self, step, shown):
        assert str(MalformedError(1, 'must be 2', 'top', step)) == (
            f'top{shown} = 1: must be 2')
        assert str(MalformedError.missing('top', step)) == (
            f'top{shown}: is missing')

    @pytest.mark.parametrize(('value', 'shown'), [
        ('x' * 80, repr('x' * 80)), ('x' * 81, repr('x' * 77 + '...')),
        ('mysql://u:p@h', '<text with a URL>'), (None, 'None'), (2.5, '2.5'),
        (2 ** 128 - 1, str(2 ** 128 - 1)), (2 ** 128, '<integer of 129 bits>'),
        ({'nova_object.name': 'A'}, "<'A' object>"),
        ({'a': 1, 'b': 2}, '<dict of 2 items>'), ([1], '<list of 1 items>'),
        ((), '<tuple of 0 items>'), ({1}, '<set of 1 items>'),
        (object(), '<object>')])
    def test_error_shows_short_value(self, value, shown):
        assert fields.shown(value) == shown
