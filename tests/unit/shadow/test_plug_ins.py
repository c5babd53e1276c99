"""A driver of somebody else's, in a shadow."""

from nova_sched.scheduler.filter_scheduler import FilterScheduler
from tests.unit.shadow.stage import Stage


class ClaimingScheduler(FilterScheduler):
    """Claims, and gives back, by itself."""

    def select_destinations(self, context, spec_obj, instance_uuids, **kwargs):
        [uuid] = instance_uuids
        assert self.placement_client.claim_resources(
            context, uuid, {'allocations': {}}, 'project', 'user', '1.28')
        assert self.placement_client.delete_allocation_for_instance(
            context, uuid)
        return super().select_destinations(context, spec_obj, instance_uuids,
                                           **kwargs)


def test_what_a_driver_claims_by_itself_is_not_sent(hosts, server, tmp_path):
    stage = Stage(hosts(), server, tmp_path,
                  scheduler__driver=f'{__name__}.ClaimingScheduler')
    [uuid] = stage.ask()
    stage.claim(uuid, 'a')
    stage.later()

    assert stage.told()[0]['here']['outcome'] == 'placed'
    assert {asked.method for asked in server.asked} == {'GET'}
    stage.close()
