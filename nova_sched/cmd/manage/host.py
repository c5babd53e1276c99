"""``host``: the hosts as the scheduler knows them."""

from nova_sched import exception
from nova_sched.cmd.manage import facts
from nova_sched.cmd.manage import forms
from nova_sched.options import nearest
from nova_sched.rules import phrases
from nova_sched.scheduler import host_manager

_MEBIBYTES = 1024


def _states(conf):
    manager = host_manager.load_host_manager(conf)
    manager.refresh()
    return manager.snapshot(manager.view().table,
                            manager.instances()).block().states()


class List(forms.Lister):
    """List hosts: service state, availability zone and usage.

    All hosts, or the hosts that match all options.
    """

    empty = ('There is no such host. Hosts whose compute service has written '
             'a record are listed.')

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--zone', metavar='NAME',
                            help='Hosts of this availability zone.')
        parser.add_argument('--aggregate', metavar='NAME',
                            help='Hosts of this aggregate: name or uuid.')
        service = parser.add_mutually_exclusive_group()
        for status, words in (
                ('up', 'that is up and not disabled'),
                ('down', 'without a heartbeat, or forced down'),
                ('disabled', 'that is disabled')):
            service.add_argument(
                f'--{status}', dest='status', action='store_const',
                const=status, help=f'Hosts with a compute service {words}.')
        parser.add_argument(
            '--full', action='store_true',
            help='Hosts without free virtual CPUs, memory or disk by their '
                 'allocation ratios, or that never reported any.')
        return parser

    def take_action(self, parsed_args):
        conf = self.app.conf
        states = sorted(
            _chosen(list(_states(conf)), conf, parsed_args),
            key=lambda state: (phrases.natural(state.host),
                               phrases.natural(state.nodename)))
        return (
            ('Host', 'Node', 'Service', 'Zone', 'VCPUs', 'Used VCPUs',
             'Free RAM (MB)', 'Free disk (GB)', 'Instances'),
            [(state.host, state.nodename, facts.status(state),
              ', '.join(facts.zones(state, conf)), state.vcpus_total,
              state.vcpus_used, state.free_ram_mb,
              state.free_disk_mb // _MEBIBYTES, state.num_instances)
             for state in states])


def _chosen(states, conf, options):
    """Return the hosts that match the options of the command line: list."""
    if options.zone is not None:
        zones = [facts.zones(state, conf) for state in states]
        _check_known('availability zone', options.zone, zones)
        states = [state for state, names in zip(states, zones, strict=True)
                  if options.zone in names]
    if options.aggregate is not None:
        names = [[name for one in state.aggregates
                  for name in (one.name, one.uuid)] for state in states]
        _check_known('aggregate', options.aggregate, names)
        states = [state for state, known in zip(states, names, strict=True)
                  if options.aggregate in known]
    return [state for state in states
            if (options.status in (None, facts.status(state))
                and (not options.full or _full(state)))]


def _check_known(what, name, lists):
    known = {each for names in lists for each in names if each}
    if name not in known:
        raise exception.NovaSchedException(
            f'No host is in {what} {name}; '
            f'{nearest.did_you_mean(name, known)}')


def _full(state):
    """Return whether a host has used up a resource, or has none at all."""
    disk = state.total_usable_disk_gb * _MEBIBYTES
    amounts = (
        (state.vcpus_total, state.vcpus_used, state.cpu_allocation_ratio),
        (state.total_usable_ram_mb,
         state.total_usable_ram_mb - state.free_ram_mb,
         state.ram_allocation_ratio),
        (disk, disk - state.free_disk_mb, state.disk_allocation_ratio))
    return not any(total for total, *_ in amounts) or any(
        total and used >= total * ratio for total, used, ratio in amounts)


class Show(forms.ShowOne):
    """Show all that the scheduler knows of a host or node.

    Traits are not shown: only Placement has them.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('host', metavar='HOST',
                            help='Name of a compute host or of its node.')
        return parser

    def take_action(self, parsed_args):
        for state in _states(self.app.conf):
            if parsed_args.host in (state.host, state.nodename):
                shown = facts.facts(state, self.app.conf)
                return tuple(shown), tuple(shown.values())
        raise exception.NovaSchedException(
            f'Host {parsed_args.host} is not known. "nova-sched-manage host '
            f'list" lists the hosts that have a compute service.')
