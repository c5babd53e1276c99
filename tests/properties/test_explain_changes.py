"""Properties of the changes with which a refused request would be placed."""

import collections
import dataclasses
import operator

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from nova_sched import objects
from nova_sched.dry_run.trial import Trial
from nova_sched.explain.changes import smallest_changes
from nova_sched.hosts.budget import Budget
from nova_sched.objects import base
from nova_sched.rules import codes
from nova_sched.scheduler.attempt import SchedulingRequest
from nova_sched.scheduler.ranking import Ranker
from tests.builders.examples import examples
from tests.builders.requests import a_flavor
from tests.properties.built_ins import CONFIGURED
from tests.properties.built_ins import named
from tests.properties.clouds import clouds
from tests.properties.requests import requests

UUIDS = ['n1', 'n2', 'n3']
FLAVORS = [a_flavor(name=f'f{memory_mb}', memory_mb=memory_mb, root_gb=root,
                    vcpus=1) for memory_mb, root in ((512, 1), (256, 0),
                                                     (1, 0))]
ZONES = (None, 'nova', 'z1', 'z2', '')
_USUAL = ('AvailabilityZoneFilter', 'ComputeFilter', 'RamFilter',
          'DiskFilter', 'CoreFilter', 'NumInstancesFilter', 'IoOpsFilter')

Case = collections.namedtuple('Case', 'cloud request ranker')


def a_case(cloud, spec, count, names, rules):
    filters, weighers = rules
    spec.num_instances = count
    return Case(cloud, SchedulingRequest(spec, UUIDS[:count], count), Ranker(
        [named(filters)[name] for name in names], weighers))


CASES = st.builds(
    a_case, clouds(1), requests(narrowing=True), st.sampled_from([1, 1, 3]),
    st.lists(st.sampled_from([*_USUAL, *_USUAL, *named(CONFIGURED[0][0])]),
             min_size=1, max_size=6, unique=True),
    st.sampled_from(CONFIGURED[:1]))


def is_placed(case):
    return Trial(case.request, case.ranker, case.cloud.snapshot(
        case.cloud.offer().candidates)).error is None


def asking(case, count=None, **fields):
    request = case.request
    spec_obj = base.clone(request.spec_obj)
    for name, value in fields.items():
        setattr(spec_obj, name, value)
    count = count or request.count
    return case._replace(request=dataclasses.replace(
        request, spec_obj=spec_obj, count=count,
        instance_uuids=request.instance_uuids[:count]))


def on_host(case, row, **values):
    records = list(case.cloud.records)
    records[row] = records[row] | values
    return case._replace(cloud=dataclasses.replace(
        case.cloud, records=tuple(records)))


def without_filter(case, name):
    return case._replace(ranker=Ranker(
        [filter_ for filter_ in case.ranker.filters
         if type(filter_).__name__ != name], case.ranker.weighers))


def unpinned(case):
    wanted = case.request.spec_obj.requested_destination
    return asking(
        case, force_hosts=None, force_nodes=None,
        requested_destination=wanted and objects.Destination(
            cell=wanted.cell,
            allow_cross_cell_move=wanted.allow_cross_cell_move))


def enabled(case, row):
    return on_host(case, row, service_disabled=False, service_up=True,
                   service_forced_down=False)


def freed(case, row, ram_mb=0, disk_mb=0, vcpus=0, instances=0,
          io_operations=0):
    record = case.cloud.records[row]
    return on_host(
        case, row, free_ram_mb=record['free_ram_mb'] + ram_mb,
        free_disk_mb=record['free_disk_mb'] + disk_mb,
        vcpus_used=record['vcpus_used'] - vcpus,
        num_instances=record['num_instances'] - instances,
        num_io_ops=record['num_io_ops'] - io_operations)


def applied(case, change):
    """The case with a Change applied, by its document only."""
    kind, what = change.kind, change.to_dict()['change']
    rows = [row for row, record in enumerate(case.cloud.records)
            if record['nodename'] == what.get('node')]
    if kind == 'filter_off':
        return without_filter(case, what['filter'])
    if kind == 'smaller_flavor':
        flavor, = [flavor for flavor in FLAVORS
                   if flavor.name == what['flavor']]
        return asking(case, flavor=flavor)
    if kind == 'smaller_amounts':
        return asking(case, flavor=smaller(case, **what))
    if kind == 'host_enabled':
        return enabled(case, *rows)
    if kind == 'freed':
        return freed(case, *rows, **{
            name: amount for name, amount in what.items()
            if name not in ('host', 'node')})
    if kind == 'other_zone':
        return asking(case, **what)
    if kind == 'unpinned':
        return unpinned(case)
    assert kind == 'fewer_instances'
    return asking(case, what['instances'], num_instances=what['instances'])


def smaller(case, memory_mb=None, vcpus=None, disk_gb=None):
    """The flavor of a case, with the given amounts."""
    flavor = base.clone(case.request.spec_obj.flavor)
    if memory_mb is not None:
        flavor.memory_mb = memory_mb
    if vcpus is not None:
        flavor.vcpus = vcpus
    if disk_gb is not None:
        flavor.root_gb = disk_gb - flavor.ephemeral_gb
    return flavor


def is_smaller(flavor, other):
    """Whether a flavor has less of a resource, and more of none."""
    sizes, others = ([getattr(each, name) for name in (
        'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap')]
        for each in (flavor, other))
    return sizes != others and all(map(operator.le, sizes, others))


def all_changed(case):
    """Yield (kind, changed case) for all possible changes."""
    spec_obj = case.request.spec_obj
    for filter_ in case.ranker.filters:
        # Switching off a filter of amounts would not add resources.
        if filter_.code not in codes.OF_AMOUNTS:
            yield 'filter_off', without_filter(case, type(filter_).__name__)
    if spec_obj.numa_topology is None:
        for flavor in FLAVORS:
            if is_smaller(flavor, spec_obj.flavor):
                yield 'smaller_flavor', asking(case, flavor=flavor)
    for row, record in enumerate(case.cloud.records):
        yield 'host_enabled', enabled(case, row)
        yield 'freed', freed(
            case, row,
            max(record['total_usable_ram_mb'] - record['free_ram_mb'], 0),
            max(record['total_usable_disk_gb'] * 1024
                - record['free_disk_mb'], 0), record['vcpus_used'],
            record['num_instances'], record['num_io_ops'])
    if spec_obj.availability_zone:
        for zone in ZONES:
            yield 'other_zone', asking(case, availability_zone=zone)
    yield 'unpinned', unpinned(case)
    for count in range(1, case.request.count):
        yield 'fewer_instances', asking(case, count, num_instances=count)


def found(case):
    return smallest_changes(
        case.cloud.snapshot(case.cloud.offer().candidates), case.request,
        case.ranker, FLAVORS, 'nova', ask_others=True, budget=Budget()
    ).found


def check(case, changes):
    """Check that the request is placed with each change."""
    for change in changes:
        assert is_placed(applied(case, change)), change


@given(case=CASES)
@examples(30)
def test_each_change_places_the_request(case):
    changes = found(case)

    assert not (changes and is_placed(case))
    check(case, changes)


def test_changes_are_found_for_nearly_each_request_that_has_some():
    """Compared with a trial of all possible changes.

    A request for fewer instances does not count as help.
    """
    helped, missed = collections.Counter(), collections.Counter()

    @given(case=CASES.filter(lambda case: not is_placed(case)))
    @settings(examples(1000, fewer=20), derandomize=True, database=None)
    def look(case):
        changes = found(case)
        check(case, changes)
        kinds = {kind for kind, changed in all_changed(case)
                 if is_placed(changed)}
        given_kinds = {change.kind for change in changes}
        helped.update(kinds)
        missed.update(kinds - given_kinds)
        kinds.discard('fewer_instances')
        helped['any'] += bool(kinds)
        missed['any'] += bool(kinds) and not (
            given_kinds - {'fewer_instances'})

    look()
    assert helped['any']
    assert missed['any'] <= 0.05 * helped['any'], (helped, missed)
