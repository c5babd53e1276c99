"""config check --connect on what the real Nova and Placement have made."""

import json

import pytest
import sqlalchemy as sa

from tests.functional import processes
from tests.functional import stage
from tests.interop import rig as rigs

pytestmark = pytest.mark.real


@pytest.fixture(scope='module')
def rig(tmp_path_factory):
    """A cloud in which a real nova-scheduler is live."""
    with rigs.Rig(tmp_path_factory.mktemp('rig'), ['nova'], seed=7) as rig:
        yield rig


@pytest.fixture
def check(rig, tmp_path):
    """Function: check this cloud; its exit status, and the rows as dicts."""
    def check(*words, **options):
        file = stage.write_config(tmp_path / 'nova.conf', **{
            'DEFAULT__host': 'ours', 'DEFAULT__service_down_time': 3600,
            **rig.databases.options(), **{
                f'placement__{name}': value for name, value
                in rig.placement.options.items()}, **options})
        status, output, errors = processes.run(
            'nova-sched-manage', '--config-file', file, 'config', 'check',
            '--connect', '-f', 'json', *words)
        assert errors == ''
        return status, json.loads(output)
    return check


def of(rows, check):
    """The rows of a check: list of (outcome, what was found)."""
    return [(row['level'], row['text']) for row in rows
            if row['option'] == check]


def of_cell(rig, rows, name):
    """The rows of a cell."""
    return of(rows, f'cell {rig.databases.mappings[name]["uuid"]}({name})')


def states(rig, cell):
    """How many hosts of a cell are up, disabled and down: as rows say it."""
    hosts = [host.is_ for host in rig.world.hosts if host.is_.cell == cell]
    disabled = sum(kind.disabled for kind in hosts)
    down = sum(kind.down and not kind.disabled for kind in hosts)
    return (f'{len(hosts) - disabled - down} up, {disabled} disabled, '
            f'{down} down')


def test_a_cloud_of_novas_own_is_as_it_should_be(rig, check):
    """But for the scheduler that is live in it."""
    processes.until(lambda: _records(rig), 'the record of nova-scheduler')
    status, rows = check('--from', '2026.2')

    assert status == 0
    assert {row['option'] for row in rows if row['level'] == 'warning'} - {
        'MariaDB'} == {'other schedulers', 'queue scheduler'}
    (_, api), = of(rows, 'API database')
    assert f'{len(rig.world.cells) + 1} cell mappings' in api
    assert f'{len(rig.world.hosts)} host mappings' in api
    assert f'{len(rig.world.aggregates)} aggregates' in api
    assert 'as of 2026.2' in api
    assert 'the database of cell cell0' in of(rows, 'database')[0][1]
    for cell in rig.world.cells:
        (_, found), = of_cell(rig, rows, cell)
        assert 'as of 2026.2' in found
        assert states(rig, cell) in found
        assert ('the cell is disabled' in found) == (
            cell == rig.world.cells[-1])
    assert of(rows, 'queue scheduler')[0][1].startswith('1 consumers')
    assert of(rows, 'other schedulers') == [(
        'warning', f'a scheduler is up on host {rig.schedulers[0].host}, of '
        'version 74 (34.0.0 (2026.2))')]
    assert f'all {len(rig.world.hosts)} compute nodes' in of(
        rows, 'Placement providers')[0][1]


def _records(rig):
    engine = sa.create_engine(rig.databases.urls['cell0'])
    try:
        with engine.connect() as connection:
            return connection.execute(sa.text(
                'SELECT host FROM services')).all()
    finally:
        engine.dispose()
