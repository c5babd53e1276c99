"""``host``: the hosts as the scheduler sees them."""

from cliff import lister
from cliff import show

from nova_sched import exception
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.scheduler import host_manager


def _states(conf):
    manager = host_manager.load_host_manager(conf)
    manager.refresh()
    return manager.snapshot(manager.view().table,
                            manager.instances()).block().states()


def _status(state):
    if state.service_disabled:
        return 'disabled'
    return 'up' if state.service_up else 'down'


def _zones(state, conf):
    return ', '.join(sorted(aggregate_values.pieces(
        state.aggregates, 'availability_zone'))
    ) or conf.default_availability_zone


class List(lister.Lister):
    """List all hosts: service state, zone, and what is used of each."""

    def take_action(self, parsed_args):
        conf = self.app.conf
        return (
            ('Host', 'Node', 'Service', 'Zone', 'VCPUs', 'Free RAM (MB)',
             'Free disk (GB)', 'Instances'),
            [(state.host, state.nodename, _status(state),
              _zones(state, conf),
              f'{state.vcpus_used}/{state.vcpus_total}', state.free_ram_mb,
              state.free_disk_mb // 1024, state.num_instances)
             for state in _states(conf)])


class Show(show.ShowOne):
    """Show all the scheduler knows of one host or node."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('host', metavar='HOST',
                            help='Name of a compute host or of its node.')
        return parser

    def take_action(self, parsed_args):
        for state in _states(self.app.conf):
            if parsed_args.host in (state.host, state.nodename):
                return self._described(state)
        raise exception.NovaSchedException(
            f'Host {parsed_args.host} is not known. "nova-sched-manage host '
            f'list" lists the hosts that have a compute service.')

    def _described(self, state):
        facts = {
            'host': state.host, 'node': state.nodename, 'uuid': state.uuid,
            'cell': state.cell_uuid, 'service': _status(state),
            'zone': _zones(state, self.app.conf)}
        for name in ('total_usable_ram_mb', 'free_ram_mb',
                     'ram_allocation_ratio', 'total_usable_disk_gb',
                     'free_disk_mb', 'disk_allocation_ratio', 'vcpus_total',
                     'vcpus_used', 'cpu_allocation_ratio', 'num_instances',
                     'num_io_ops', 'failed_builds', 'hypervisor_type',
                     'hypervisor_version', 'host_ip', 'supported_instances'):
            facts[name] = getattr(state, name)
        facts['aggregates'] = ', '.join(
            aggregate.name for aggregate in state.aggregates)
        facts['instances'] = ', '.join(sorted(state.instances))
        return tuple(facts), tuple(facts.values())
