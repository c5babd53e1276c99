"""Explanations of a dry run or a stored decision, and their options."""

import contextlib

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import objects
from nova_sched.cmd.manage import units
from nova_sched.dry_run import read_only_placement
from nova_sched.explain import explanation
from nova_sched.explain import offer
from nova_sched.explain import unread as unread_
from nova_sched.observe import decision_view
from nova_sched.scheduler import utils
from nova_sched.scheduler.attempt import HostSelector


def add_arguments(parser):
    """Add the options for explanations."""
    parser.add_argument(
        '--host', action='append', default=[], dest='named_hosts',
        metavar='NAME',
        help='Explain why this host or node is not picked; may be repeated.')
    parser.add_argument(
        '--all-hosts', action='store_true',
        help='With -f json: list all hosts with the rules that reject them.')
    parser.add_argument(
        '--or-flavor', action='append', default=[], type=_flavor,
        metavar=_flavor.__name__,
        help='A smaller flavor to try if the request is refused, with the '
             'extra specs of the request; may be repeated.')
    parser.add_argument(
        '--ask-others', action='store_true',
        help='Run filters that query other services, such as TrustedFilter, '
             'on all hosts.')


def _flavor(text):
    """Return (name, RAM in MB, VCPUs, disk in GB) of a flavor."""
    name, equals, sizes = text.rpartition('=')
    memory, vcpus, disk = sizes.split(',')
    if not (name and equals):
        raise ValueError(text)
    return (name, units.megabytes(memory), int(vcpus),
            units.gigabytes(disk))


_flavor.__name__ = 'NAME=RAM_MB,VCPUS,DISK_GB'


def explained(dry_run, args, conf):
    """Return the explanation.Explanation of a decision, or a NoExplanation.

    dry_run: dry_run.decider.DryRun.  args: the parsed options.
    conf: ConfigOpts.
    Raises InvalidInput for a host that does not exist.
    """
    hosts, request = dry_run.snapshot(), dry_run.request
    if hosts is None or request is None or dry_run.ranker is None:
        return explanation.NoExplanation(
            f'The driver {config.driver_name(conf)} does not use filters and '
            'weighers on known hosts: there is no explanation.')
    return explained_on(
        hosts, request, dry_run.ranker,
        decision_view.DecisionView.of(dry_run.record), args, conf)


def explained_on(hosts, request, ranker, view, args, conf, instance=0):
    """Return the explanation.Explanation of a decision on some hosts.

    view: DecisionView of the decision.  args: the parsed options.
    conf: ConfigOpts.  The other arguments are those of
    ``explanation.explain``.
    Raises InvalidInput for a host that does not exist.
    """
    return explanation.explain(
        hosts, request, ranker, placed=view.is_placed, picked=view.picked,
        instance=instance, refused=view.refused,
        selector=HostSelector.of(conf),
        default_zone=conf.default_availability_zone,
        named=_rows(hosts, args.named_hosts),
        flavors=_flavors(args.or_flavor, request.spec_obj.flavor),
        ask_others=args.ask_others,
        every_host=args.all_hosts or args.html is not None,
        placement=_placement_rules(conf, hosts, request.spec_obj))


def unread(dry_run):
    """Return the parts of a request that no rule reads: list of sentences.

    dry_run: dry_run.decider.DryRun.  Empty for a driver without rules.
    """
    hosts, request = dry_run.snapshot(), dry_run.request
    if hosts is None or request is None or dry_run.ranker is None:
        return []
    aggregates = []
    with contextlib.suppress(AttributeError, exception.DatabaseUnavailable):
        # The host manager of a plug-in may lack aggregates().
        aggregates = dry_run.driver.host_manager.aggregates()
    return unread_.unread(request.spec_obj, dry_run.ranker, hosts,
                          dry_run.offer.is_used, aggregates)


def _placement_rules(conf, hosts, spec_obj):
    """Return rules that test hosts against Placement as it is now: list.

    Empty if Placement was not asked, or is not configured.
    """
    if not (hosts.offer.is_used and config.placement_configured(conf)):
        return []
    return offer.rules(
        read_only_placement.ReadOnlyPlacement(conf),
        utils.resource_requests(
            spec_obj, max_results=None, fallback_pcpu_query=(
                not conf.workarounds.disable_fallback_pcpu_query)))


def _rows(hosts, names):
    """Return the rows of the hosts of --host: list."""
    try:
        return [row for name in names
                for row in explanation.rows_named(hosts, name)]
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            reason=f'--host: {error.kwargs["reason"]}') from error


def _flavors(smaller, flavor):
    """Return the flavors of --or-flavor: list of Flavor.

    flavor: of the request; they have its id and its extra specs.
    """
    return [objects.Flavor(
        id=flavor.id, name=name, flavorid=name, memory_mb=memory_mb,
        vcpus=vcpus, root_gb=disk_gb, ephemeral_gb=0, swap=0,
        extra_specs=dict(flavor.extra_specs))
        for name, memory_mb, vcpus, disk_gb in smaller]
