"""Measures a decision in process, with the state in memory.

The time runs from the hydrated request to the selections: snapshot, filters,
weighers, pick, consumption, alternates.  There is no broker or database.
"""

from benchmarks import bed
from benchmarks import load
from nova_sched import context
from nova_sched.objects import arguments
from nova_sched.scheduler import caching_scheduler


def measure(conf, instances, calls):
    """Measure decisions for ``instances`` instances each: load.Result.

    conf: of a database that holds the cloud.  calls: number of decisions.
    """
    scheduler = caching_scheduler.CachingScheduler(conf)
    scheduler.start()
    ctxt = context.RequestContext(is_admin=True)
    specs = iter([_arguments(instances) for _ in range(calls + 1)])

    def decide():
        spec, uuids = next(specs)
        scheduler.select_destinations(ctxt, spec, uuids,
                                      return_alternates=True)

    result = load.run(decide, 1, 600, calls)
    scheduler.stop()
    return result


def _arguments(instances):
    call = bed.request(instances)
    return (arguments.from_wire(call['spec_obj']),
            call['instance_uuids'])
