"""Drivers written for Nova of Queens, with a real Placement.

They are in ../data/queens_drivers.py.
"""

import pytest

from tests.builders import clouds
from tests.functional import conftest as functional
from tests.functional import stage as stages
from tests.interop.placement import a_consumer
from tests.interop.test_plug_ins import FILES

pytestmark = pytest.mark.real


def test_drivers_of_queens_decide_by_traits_and_summaries(
        placement, tmp_path, monkeypatch):
    """One avoids hosts with a trait, one avoids hosts with most usage."""
    monkeypatch.syspath_prepend(FILES)
    loud, quiet = (clouds.a_compute_node(name, uuid=clouds.a_uuid(number))
                   for number, name in enumerate(('loud', 'quiet'), 1))
    with functional.open_stage(tmp_path, 'fake') as stage:
        for node in (loud, quiet):
            placement.provider(
                node['host'], node['uuid'],
                {'VCPU': 16, 'MEMORY_MB': 32768, 'DISK_GB': 500},
                ['OWNER_NOVA', *(['CUSTOM_LOUD'] if node is loud else [])])
        placement.allocate(a_consumer(), {loud['uuid']: {'VCPU': 4}})
        stage.load(clouds.a_cloud(['loud', 'quiet'],
                                  compute_nodes=[loud, quiet]))
        for name in ('QuietScheduler', 'EmptiestScheduler'):
            with stage.scene():
                stage.scheduler(scheduler__driver=f'queens_drivers.{name}',
                                **placement.settings)
                caller = stage.client()

                assert stages.picks(caller.ask()) == ['quiet'], name
                assert placement.allocations(caller.instances[0]) == {
                    quiet['uuid']: {
                        'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1}}, name
