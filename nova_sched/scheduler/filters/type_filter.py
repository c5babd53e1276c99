"""Filters that separate flavors: by host, and by aggregate."""

from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

_KEY = 'instance_type'


class TypeAffinityFilter(filters.ColumnFilter):
    """Hosts without instances of another flavor."""

    code = 'flavor_affinity'
    inputs = 'host', 'instances.instance_type_id'

    def mask(self, hosts, spec_obj):
        requested = {spec_obj.flavor.id}
        by_host = hosts.instances.each('instance_type_id')
        return hosts.evaluate(
            'host', lambda host: by_host.get(host, requested) <= requested)

    def reason(self, hosts, spec_obj):
        by_host = hosts.instances.each('instance_type_id')
        running = phrases.distinct(hosts, 'host',
                                   lambda host: by_host.get(host, ()))
        other_ids = phrases.listed(running - {spec_obj.flavor.id})
        return phrases.Reason(f'flavor id {spec_obj.flavor.id} wanted alone',
                              f'hosts run instances of {other_ids}')


class AggregateTypeAffinityFilter(filters.ColumnFilter):
    """Hosts that are not reserved for other flavors.

    A host is reserved for the flavors in its aggregates' metadata: the
    comma-separated values of the key ``instance_type``.
    """

    code = 'aggregate_flavor'
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def mask(self, hosts, spec_obj):
        def verdict(aggregates):
            names = aggregate_values.split_values(aggregates, _KEY)
            return not names or spec_obj.flavor.name in names

        return hosts.evaluate('aggregates', verdict)

    def reason(self, hosts, spec_obj):
        taken = phrases.distinct(
            hosts, 'aggregates',
            lambda aggregates: aggregate_values.split_values(aggregates, _KEY))
        return phrases.Reason(f"flavor '{spec_obj.flavor.name}' requested",
                              f'aggregates take {phrases.listed(taken)}')
