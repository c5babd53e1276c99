"""Where the live schedulers have put instances, as the databases say."""

from nova_sched.shadow import live
from tests.builders.clouds import a_uuid


def test_once_closed_it_holds_no_connections(mapped_cloud, opened):
    """To the cells, nor to cell0."""
    picks = live.LivePicks(mapped_cloud.conf(), None, None)
    picks.refresh()
    assert picks.running([a_uuid()]) == picks.refused([a_uuid()]) == set()
    assert opened() > 1

    picks.close()

    assert opened() == 0
