"""The service decides as ``request plan`` predicts.

On an SQLite file, on MariaDB and on PostgreSQL.
"""

import argparse
import functools
import json

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.cmd.manage import specs
from nova_sched.objects import arguments
from tests.builders import clouds
from tests.builders import commands
from tests.builders import rules
from tests.functional import conftest
from tests.functional import stage as stages

#: Options of requests that different rules decide; each is booted.
SHAPES = {
    'small': [],
    'large, two of them': ['--count', '2', '--ram', '60000', '--vcpus', '8'],
    'of a zone': ['--zone', 'az2', '--ram', '2048'],
    'not there': ['--ignore-host', 'fake-0003', '--ignore-host', 'fake-0006'],
    'apart': ['--count', '3', '--group-policy', 'anti-affinity'],
    'with cells': ['--extra-spec', 'hw:numa_nodes=2', '--vcpus', '4',
                   '--ram', '4096'],
    'too large': ['--ram', '1000000'],
    'nowhere': ['--zone', 'az9']}
WITHOUT_PLACEMENT = ','.join((
    'AvailabilityZoneFilter', 'RamFilter', 'DiskFilter', 'ComputeFilter',
    'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter',
    'NUMATopologyFilter'))


@pytest.fixture(autouse=True)
def plans():
    """Undo the restrictions that plans put on this process."""
    with commands.plans_undone():
        yield


@pytest.fixture(params=conftest.IN_MEMORY_OR_REAL)
def stage(request, tmp_path):
    with conftest.open_stage(
            tmp_path, request.param, nova_sched__no_valid_host_text='full',
            filter_scheduler__enabled_filters=WITHOUT_PLACEMENT) as stage:
        yield stage


@pytest.fixture
def plan(stage, capsys):
    """Function that runs "request plan -f json": (code, object)."""
    return functools.partial(commands.plan, stage, capsys)


def spec_of(options):
    """The RequestSpec of the same options."""
    parser = argparse.ArgumentParser()
    specs.add_request_arguments(parser)
    return arguments.from_wire(specs.build_spec(
        parser.parse_args(options), rules.a_conf()))


def planned(found):
    """The hosts of each instance in a plan, or the reason for none."""
    return found['reason'] or [
        [placed['host'], *(other['host'] for other in placed['alternates'])]
        for placed in found['placements']]


def done(caller, spec):
    """Call the service: (hosts or reason, answer, uuids)."""
    uuids = [clouds.a_uuid() for _ in range(spec.num_instances)]
    spec.instance_uuid = uuids[0]
    if spec.instance_group is not None:
        # As Nova's API does, before anything is placed.
        spec.instance_group.members += uuids
    try:
        answer = caller.place(spec, uuids)
    except exception.NoValidHost as refusal:
        return str(refusal).partition('available. ')[2], None, uuids
    return stages.names(answer), answer, uuids


def rows(engine):
    """All rows of all tables: name -> list."""
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {name: sorted(map(str, connection.execute(table.select())))
                for name, table in metadata.tables.items()}


def test_decision_equals_its_plan(stage, plan):
    cloud = stage.cloud(12, live=False)
    before = rows(stage.engine())
    assert [plan(*SHAPES[name])[0] for name in ('apart', 'too large')] == [
        0, 1]
    assert rows(stage.engine()) == before

    stage.embedded()
    caller = stage.client()
    for options in SHAPES.values():
        _, found = plan(*options)
        spec = spec_of(options)
        came, answer, uuids = done(caller, spec)
        assert planned(found) == came
        if answer is not None:
            stages.boot(cloud, uuids, answer, spec.flavor)


def test_decision_equals_the_plan_of_a_stored_request(stage, plan):
    """For a live migration, as a conductor calls."""
    cloud = stage.cloud(8, live=False)
    stage.embedded()
    caller = stage.client()
    spec = spec_of(['--ram', '4096'])
    came, answer, [uuid] = done(caller, spec)
    stages.boot(cloud, [uuid], answer, spec.flavor)
    with stage.engine().begin() as connection:
        connection.exec_driver_sql(
            'CREATE TABLE request_specs (id INTEGER PRIMARY KEY, '
            'instance_uuid VARCHAR(36), spec TEXT)')
        connection.execute(sa.text(
            'INSERT INTO request_specs VALUES (1, :uuid, :spec)'), {
                'uuid': uuid, 'spec': json.dumps(spec.obj_to_primitive())})

    code, found = plan('--instance', uuid, '--for', 'live-migration')

    assert code == 0
    spec.ignore_hosts = [came[0][0]]
    assert planned(found) == stages.names(caller.place(spec, [uuid]))
