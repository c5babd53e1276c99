"""Flavors that commands look up by their names, and sizes with units."""

import argparse
import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.cloud import export
from nova_sched.cmd.manage import units
from tests.builders.clouds import a_uuid
from tests.unit.cmd.test_request_spec import spec_of

SIZES = {'vcpus': 8, 'memory_mb': 16384, 'root_gb': 160, 'ephemeral_gb': 5,
         'swap': 64}
XLARGE = {'name': 'm1.xlarge', 'flavorid': '5', **SIZES,
          'extra_specs': {'hw:cpu_policy': 'dedicated'}}
LARGE = {'name': 'm1.large', 'flavorid': '4', **SIZES, 'vcpus': 4,
         'extra_specs': {}}


def add_flavors(database, flavors=(XLARGE, LARGE), table='flavors',
                specs='flavor_extra_specs', key='flavor_id', deleted=''):
    """Give a CloudDatabase flavors, in the tables of a release."""
    columns = ['name', 'flavorid', *SIZES]
    database.execute(f'CREATE TABLE {table} (id INTEGER PRIMARY KEY, '
                     f'{", ".join(columns)}{deleted})')
    database.execute(f'CREATE TABLE {specs} (id INTEGER PRIMARY KEY, {key}, '
                     f'"key", value{deleted})')
    for number, flavor in enumerate(flavors, 1):
        database.execute(
            f'INSERT INTO {table} (id, {", ".join(columns)}) VALUES '
            f'(?, {", ".join("?" * len(columns))})', number,
            *(flavor[column] for column in columns))
        for name, value in flavor['extra_specs'].items():
            database.execute(
                f'INSERT INTO {specs} ({key}, "key", value) VALUES (?, ?, ?)',
                number, name, value)


@pytest.fixture
def spec(cloud):
    """Function: the RequestSpec of options, where the cloud has flavors."""
    add_flavors(cloud)
    return lambda *options: spec_of(*options, database__connection=cloud.url)


def sizes_of(spec):
    return {name: getattr(spec.flavor, name) for name in SIZES}


class TestDatabase:
    @pytest.mark.parametrize('name', ['m1.xlarge', '5'])
    def test_has_what_a_flavor_of_a_name_or_id_is(self, spec, name):
        found = spec('--flavor', name)

        assert sizes_of(found) == SIZES
        assert (found.flavor.name, found.flavor.flavorid) == ('m1.xlarge', '5')
        assert found.flavor.extra_specs == XLARGE['extra_specs']
        assert len(found.numa_topology.cells[0].pcpuset) == 8

    def test_gives_way_to_what_is_given(self, spec):
        found = spec('--flavor', 'm1.xlarge', '--ram', '32G', '--extra-spec',
                     'hw:cpu_policy=shared', '--extra-spec', 'a=b')

        assert sizes_of(found) == SIZES | {'memory_mb': 32768}
        assert found.flavor.extra_specs == {'hw:cpu_policy': 'shared',
                                            'a': 'b'}

    def test_without_the_flavor_is_named_with_similar_flavors(
            self, spec, cloud):
        with pytest.raises(exception.InvalidInput) as raised:
            spec('--flavor', 'm1.xlagre')

        text = str(raised.value)
        assert (f'--flavor m1.xlagre: database {cloud.url} has no flavor of '
                'that name; it has 2, such as m1.xlarge, m1.large') in text
        assert 'give --vcpus, --ram and --disk' in text

    def test_is_not_needed_for_a_name_with_all_sizes(self, spec):
        found = spec('--flavor', 'gold', '--vcpus', 2, '--ram', 700, '--disk',
                     5)

        assert (found.flavor.name, *sizes_of(found).values()) == (
            'gold', 2, 700, 5, 0, 0)

    def test_from_kilo_has_instance_types(self, cloud):
        add_flavors(cloud, [XLARGE], 'instance_types',
                    'instance_type_extra_specs', 'instance_type_id',
                    ', deleted DEFAULT 0')

        assert sizes_of(spec_of('--flavor', 'm1.xlarge',
                                database__connection=cloud.url)) == SIZES
        cloud.execute('UPDATE instance_types SET deleted = id')
        with pytest.raises(exception.InvalidInput, match='has no flavors'):
            spec_of('--flavor', 'm1.xlarge', database__connection=cloud.url)

    def test_without_flavors_says_so(self, cloud):
        with pytest.raises(exception.InvalidInput, match=(
                r'--flavor m1: database .* has no flavors. For a')):
            spec_of('--flavor', 'm1', database__connection=cloud.url)
        with pytest.raises(exception.InvalidInput, match=(
                'no database with flavors is configured')):
            spec_of('--flavor', 'm1')

    def test_api_database_comes_first(self, mapped_cloud):
        add_flavors(mapped_cloud.api, [XLARGE])
        add_flavors(mapped_cloud.cell0, [LARGE])

        found = spec_of('--flavor', 'm1.xlarge',
                        database__connection=mapped_cloud.cell0.url,
                        api_database__connection=mapped_cloud.api.url)

        assert found.flavor.vcpus == 8

    def test_which_does_not_answer_is_an_error(self, tmp_path):
        with pytest.raises(exception.DatabaseUnavailable):
            spec_of('--flavor', 'm1',
                    database__connection=f'sqlite:///{tmp_path}/no/such')


def test_a_cloud_file_has_the_flavors_of_its_cloud(cloud, tmp_path):
    add_flavors(cloud)
    file = tmp_path / 'cloud.json'
    file.write_text(json.dumps(export.export(cloud.conf())))

    assert sizes_of(spec_of('--flavor', 'm1.xlarge', cloud=file)) == SIZES
    with pytest.raises(exception.InvalidInput, match=f'the file {file} has'):
        spec_of('--flavor', 'm2', cloud=file)


@pytest.mark.parametrize('text, megabytes', [
    ('512', 512), ('512M', 512), ('512 MiB', 512), ('32G', 32768),
    ('32gb', 32768), ('1.5G', 1536), ('1TB', 1048576)])
def test_megabytes_may_have_a_unit(text, megabytes):
    assert units.megabytes(text) == megabytes
    assert spec_of('--ram', text).flavor.memory_mb == megabytes


@pytest.mark.parametrize('text, gigabytes', [
    ('20', 20), ('20G', 20), ('1T', 1024), ('2048M', 2), ('0', 0)])
def test_gigabytes_may_have_a_unit(text, gigabytes):
    assert units.gigabytes(text) == gigabytes
    assert spec_of('--disk', text).flavor.root_gb == gigabytes


@pytest.mark.parametrize('text', ['', 'G', '1.5', '32X', '-1', '1.0001G',
                                  '32Gib/s', '٣'])
def test_other_amounts_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError,
                       match='must be a whole number of MB, or have a unit'):
        units.megabytes(text)


class TestPlan:
    @pytest.fixture
    def plan(self, plan_by, cloud):
        """Function: "request plan" where the cloud has flavors."""
        add_flavors(cloud)
        cloud.load(2)
        return plan_by(f'[database]\nconnection = {cloud.url}\n')

    @pytest.mark.parametrize('options, asked', [
        ([], '1 x 1 VCPU, 512 MB, 1 GB'),
        (['--flavor', 'm1.large', '--count', 2, '--ram', '2G'],
         '2 x m1.large: 4 VCPUs, 2,048 MB, 165 GB, 64 MB of swap'),
        (['--ram', '1T', '--extra-spec', 'hw:numa_nodes=1', '--pci',
          'vendor_id=8086,count=2'],
         '1 x 1 VCPU, 1,048,576 MB, 1 GB, 1 NUMA cell, 2 PCI devices')])
    def test_begins_with_the_request(self, plan, options, asked):
        assert plan(*options).out.splitlines()[0] == f'Requested: {asked}'

    def test_may_try_flavors_whose_sizes_have_units(self, plan):
        ended = plan('--ram', '1T', '--or-flavor', 'small=0.5G,1,1G')

        assert 'small' in ended.out


class TestResize:
    """A resize of an instance with a stored request."""

    @pytest.fixture
    def resize(self, plan_stored, store, mapped_cloud):
        """Function: "request plan --for resize" with options; line 1.

        The instance has a device by an alias, and one of a port.
        """
        mapped_cloud.one.load(2, host_mappings=[])
        add_flavors(mapped_cloud.api)
        uuid = store('host1', memory_mb=1024, extra_specs={
            'pci_passthrough:alias': 'gpu:1'},
            pci_requests=objects.InstancePCIRequests(requests=[
                objects.InstancePCIRequest(
                    count=1, alias_name=alias, request_id=a_uuid(),
                    spec=[{'vendor_id': '8086', 'product_id': '1520'}])
                for alias in (None, 'gpu')]))

        def resize(*options):
            ended = plan_stored('--instance', uuid, '--for', 'resize',
                                *options)
            return ended.out.partition('\n')[0] or ended.err
        return resize

    def test_is_to_all_of_a_flavor_by_name(self, resize):
        """Devices of a port stay, devices by alias go."""
        assert resize('--flavor', 'm1.xlarge') == (
            'Requested: 1 x m1.xlarge: 8 VCPUs, 16,384 MB, 165 GB, 64 MB of '
            'swap, 1 NUMA cell, 1 PCI device')

    def test_to_other_sizes_keeps_the_devices(self, resize):
        """Their alias may be known to nova-api alone."""
        assert resize('--ram', '2G') == (
            'Requested: 1 x m1.tiny: 1 VCPU, 2,048 MB, 1 GB, 2 PCI devices')

    def test_with_other_extra_specs_has_their_devices(self, resize):
        assert resize('--extra-spec', 'a=b') == (
            'Requested: 1 x m1.tiny: 1 VCPU, 1,024 MB, 1 GB, 1 PCI device')
        assert resize('--extra-spec', 'pci_passthrough:alias=nic:2', '--set',
                      'pci.alias={"name": "nic", "vendor_id": "8086", '
                      '"product_id": "1520"}').endswith('3 PCI devices')
        assert '[pci] alias is not set' in resize('--pci', 'vendor_id=8086')
