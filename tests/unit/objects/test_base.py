"""The tolerant base class: versions, unset fields, what it writes."""

import copy
import datetime

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception
import pytest

from nova_sched import objects
from nova_sched.objects import base
from nova_sched.objects import fields


def envelope(name, data, version='1.0'):
    """An object as it is on the wire."""
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data}


class TestVersions:

    @pytest.mark.parametrize('version', ['1.0', '1.4', '1.4.2', '1.77'])
    def test_any_minor_of_a_known_major_is_read(self, version):
        """Older, equal and newer minors, and a third part."""
        found = base.NovaObject.obj_from_primitive(
            envelope('Destination', {'host': 'h'}, version))

        assert found.host == 'h'
        assert found.wire_version == version

    def test_an_unknown_major_is_refused(self):
        """The library's own exception says which versions are known."""
        with pytest.raises(ovo_exception.IncompatibleObjectVersion):
            base.NovaObject.obj_from_primitive(
                envelope('Destination', {}, '2.0'))

    @pytest.mark.parametrize('version', [
        '1', '1.', '1.x', '1.2.x', '1.2.3.4', '1.-2', '1.\u0664',
        '1.2.1234567'])
    def test_what_is_no_version_is_refused(self, version):
        """Of two or three numbers of up to six digits each."""
        with pytest.raises(fields.MalformedError, match=r'such as 1\.0'):
            base.NovaObject.obj_from_primitive(
                envelope('Destination', {}, version))

    @pytest.mark.parametrize('version', ['1.19', '2.0', '2.8'])
    def test_instances_of_both_majors_are_read(self, version):
        """Kilo sends Instance 1.x, later releases 2.x."""
        assert objects.Instance.from_envelope(
            envelope('Instance', {'uuid': 'u'}, version)).uuid == 'u'

    def test_an_unknown_class_is_unsupported(self):
        """At the top there must be a class we know."""
        with pytest.raises(ovo_exception.UnsupportedObjectError):
            base.NovaObject.obj_from_primitive(envelope('Teleporter', {}))

    def test_a_new_object_has_our_version(self):
        """Without a sender the version is the class's."""
        assert objects.RequestSpec().wire_version == '1.15'

    def test_writing_an_older_version_drops_newer_fields(self):
        """A reader gets no field its release does not know."""
        found = objects.Destination(
            host='h', aggregates=['a'], forbidden_aggregates={'b'})

        written = found.obj_to_primitive('1.2')

        assert written == envelope(
            'Destination', {'host': 'h', 'aggregates': ['a']}, '1.2')

    def test_a_version_we_do_not_have_cannot_be_written(self):
        """The library's own exception."""
        with pytest.raises(ovo_exception.InvalidTargetVersion):
            objects.Destination().obj_to_primitive('1.9')


class TestUnsetAndNull:

    def test_unset_is_not_null(self):
        """A cell-only destination has no host; one with null node has a
        node."""
        found = objects.Destination.from_envelope(
            envelope('Destination', {'node': None}))

        assert not found.obj_attr_is_set('host')
        assert 'host' not in found
        assert found.obj_attr_is_set('node')
        assert found.node is None

    def test_reading_an_unset_field_never_fails(self):
        """It gives the default and, for scalars, leaves the field unset."""
        found = objects.Destination()

        assert found.host is None
        assert found.allow_cross_cell_move is False
        assert found.obj_to_primitive()['nova_object.data'] == {}

    @pytest.mark.parametrize('kind, field', [
        ('CellMapping', 'name'), ('ComputeNode', 'host'),
        ('NetworkRequest', 'tag'), ('InstanceGroup', 'user_id')])
    def test_null_is_read_where_nova_may_say_it(self, kind, field):
        found = base.NovaObject.obj_from_primitive(
            envelope(kind, {field: None}, '1.9'))

        assert getattr(found, field) is None
        assert found.obj_attr_is_set(field)

    def test_a_group_of_resources_is_of_one_provider_unless_it_says_so(self):
        assert objects.RequestGroup().use_same_provider is True

    @pytest.mark.parametrize('name, default', [
        ('requested_destination', None), ('requested_resources', []),
        ('num_instances', 1), ('is_bfv', False), ('force_hosts', None),
        ('scheduler_hints', None), ('image', None), ('user_id', None)])
    def test_defaults_of_a_request(self, name, default):
        """Unset fields of a RequestSpec read as specified."""
        assert getattr(objects.RequestSpec(), name) == default

    def test_default_objects_of_a_request(self):
        """Lists are empty objects, network metadata says nothing."""
        spec = objects.RequestSpec()

        assert list(spec.security_groups) == []
        assert list(spec.requested_networks) == []
        assert spec.request_level_params.root_required == set()
        assert spec.request_level_params.same_subtree == []
        assert spec.network_metadata.physnets == set()
        assert spec.network_metadata.tunneled is False
        assert not spec.obj_attr_is_set('network_metadata')

    def test_additions_to_a_default_stay(self):
        """What is put into an empty default is there when read again."""
        spec = objects.RequestSpec()

        spec.request_level_params.root_required.add('T')

        assert spec.request_level_params.root_required == {'T'}

    def test_null_in_a_field_without_null_counts_as_unset(self):
        """Some releases write it so."""
        found = objects.InstanceNUMACell.from_envelope(envelope(
            'InstanceNUMACell', {'id': 0, 'pcpuset': None}, '1.6'))

        assert found.pcpuset == set()

    def test_null_request_groups_are_none(self):
        """Queens sends null or nothing; either is the empty list."""
        spec = objects.RequestSpec.from_envelope(envelope(
            'RequestSpec', {'requested_resources': None}, '1.8'))

        assert spec.requested_resources == []


class TestObjects:

    def test_they_are_objects_of_the_library(self):
        """Any code that handles versioned objects handles these."""
        assert isinstance(objects.Selection(), ovo_base.VersionedObject)
        assert isinstance(objects.Flavor.fields['id'],
                          ovo_base.obj_fields.Field)

    def test_the_library_s_table_is_not_touched(self):
        """Classes of Nova or os-vif in the same process stay theirs."""
        theirs = ovo_base.VersionedObjectRegistry.obj_classes()

        assert not [cls for classes in theirs.values() for cls in classes
                    if issubclass(cls, base.NovaObject)]
        assert 'RequestSpec' in base.Registry.obj_classes()

    def test_an_unknown_name_is_a_programming_error(self):
        """A typing mistake does not make a silent attribute."""
        with pytest.raises(TypeError, match='memory'):
            objects.Flavor(memory=5)

    def test_a_wrong_value_is_refused_when_set(self):
        """The error names the field."""
        with pytest.raises(ValueError, match='vcpus = -1'):
            objects.Flavor(vcpus=-1)
        with pytest.raises(ValueError, match='vcpus'):
            objects.Flavor().vcpus = None

    def test_a_field_can_be_deleted_once(self):
        """Deleting makes it unset; deleting an unset one is an error."""
        flavor = objects.Flavor(vcpus=1)

        del flavor.vcpus

        assert not flavor.obj_attr_is_set('vcpus')
        with pytest.raises(AttributeError):
            del flavor.vcpus

    def test_a_copy_is_independent(self):
        """Changing a deep copy leaves the original as it is."""
        cell = objects.InstanceNUMACell(id=0, cpuset={1}, memory=5)
        topology = objects.InstanceNUMATopology(cells=[cell])

        twin = copy.deepcopy(topology)
        twin.cells[0].cpuset.add(9)
        twin.cells[0].id = 3

        assert cell.cpuset == {1}
        assert topology.cells[0].id == 0

    def test_unknown_fields_are_written_back(self):
        """What we do not know is passed on untouched."""
        sent = envelope('Aggregate', {'id': 1, 'flag': [1, {}]}, '1.9')

        assert objects.Aggregate.from_envelope(
            sent).obj_to_primitive() == sent

    def test_a_cell_s_urls_are_not_in_its_text(self):
        """They hold passwords."""
        cell = objects.CellMapping(
            uuid='c', transport_url='rabbit://a:secret@b/',
            database_connection='mysql://a:secret@b/')

        text = repr(objects.Destination(cell=cell))

        assert 'secret' not in text
        assert "uuid='c'" in text

    def test_list_objects_are_sequences(self):
        """They have length and iterate over their objects."""
        nodes = objects.ComputeNodeList(
            objects=[objects.ComputeNode(host='h')])

        assert len(nodes) == 1
        assert [node.host for node in nodes] == ['h']


class TestKinds:

    @pytest.mark.parametrize('value, expected', [
        (True, True), ('true', True), ('no', False), (1, True), (0, False)])
    def test_booleans(self, value, expected):
        """Words and numbers are taken for booleans."""
        assert fields.BOOLEAN.read(value) is expected

    @pytest.mark.parametrize('value', ['perhaps', None, [], {}])
    def test_other_things_are_no_booleans(self, value):
        """Anything else is refused."""
        with pytest.raises(ValueError):
            fields.BOOLEAN.read(value)

    @pytest.mark.parametrize('text', [
        '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000',
        '2026-01-02 03:04:05', '2026-01-02T05:04:05+02:00'])
    def test_times(self, text):
        """Any ISO 8601 form is read, as UTC, and written in one."""
        moment = fields.DATETIME.read(text)

        assert moment == datetime.datetime(
            2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
        assert fields.DATETIME.write(moment) == '2026-01-02T03:04:05Z'

    @pytest.mark.parametrize('value', [
        'soon', 5, None, '0001-01-01T00:00:00+23:00'])
    def test_other_things_are_no_times(self, value):
        """Including times before the year 1."""
        with pytest.raises(ValueError):
            fields.DATETIME.read(value)

    @pytest.mark.parametrize('value, expected', [
        (3.9, 3), ('-4', -4), (7, 7)])
    def test_plain_integers_cut_fractions(self, value, expected):
        """As limits computed with a ratio need it."""
        assert fields.INTEGER.read(value) == expected

    @pytest.mark.parametrize('value', [
        'x', True, None, float('inf'), 2 ** 70, '9' * 30])
    def test_other_things_are_no_integers(self, value):
        """Integers have 64 bits at most."""
        with pytest.raises(ValueError):
            fields.INTEGER.read(value)

    def test_a_set_is_a_sorted_list_on_the_wire(self):
        """The order does not depend on the process."""
        kind = fields.set_of(fields.INTEGER)

        assert kind.write(kind.read([3, 1, 3])) == [1, 3]

    def test_numbers_as_keys_are_text_on_the_wire(self):
        """JSON has text keys only."""
        kind = fields.dict_of(fields.SIZE, keys=fields.SIZE)

        assert kind.read({'0': 4}) == {0: 4}
        assert kind.write({0: 4}) == {'0': 4}
