"""Where the live schedulers have put instances, as the databases say."""

import types

import pytest

from nova_sched import exception
from nova_sched.db.cells import CELL0_UUID
from nova_sched.dry_run.shadow.live_picks import LivePicks
from tests.builders.clouds import a_uuid

NO_PLACEMENT = types.SimpleNamespace(placement=None)


def test_once_closed_it_holds_no_connections(mapped_cloud, opened):
    """To the cells, nor to cell0."""
    picks = LivePicks(mapped_cloud.conf(), NO_PLACEMENT)
    picks.refresh_cells()
    assert picks.hosts_of([a_uuid()]) == set()
    assert picks.find_refused([a_uuid()]) == set()
    assert opened() > 1

    picks.close()

    assert opened() == 0


def test_a_cell0_that_cannot_be_found_is_told(mapped_cloud):
    mapped_cloud.change(CELL0_UUID, database_connection='{nonsense}')
    picks = LivePicks(mapped_cloud.conf(), NO_PLACEMENT)

    with pytest.raises(exception.DatabaseUnavailable,
                       match='cell0 cannot be read: cell_mappings'):
        picks.find_refused([a_uuid()])
    picks.close()
