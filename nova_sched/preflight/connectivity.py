"""Checks of all services that this one depends on, at the same time.

This module checks Placement and Neutron.
"""

from nova_sched import conf as config
from nova_sched import context
from nova_sched import remote
from nova_sched import toml_files
from nova_sched.network import neutron
from nova_sched.placement import adapter
from nova_sched.placement import documents
from nova_sched.preflight import rows
from nova_sched.preflight.databases import Databases
from nova_sched.preflight.message_broker import MessageBroker
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row

_PLACEMENT, _CANDIDATES = 'Placement', 'Placement candidates'
_PROVIDERS, _NEUTRON = 'Placement providers', 'Neutron'
_REACH, _ALLOW, _STALE = map(toml_files.read(
    'advice.toml', __package__)['placement'].get, ('reach', 'allow', 'stale'))


class Placement:
    """Placement, queried like by a scheduler; nothing is claimed.

    The constructor starts the queries.
    """

    def __init__(self, conf):
        self._adapter = adapter.PlacementAdapter(conf)
        # A log-in and three queries, each with its timeout.
        self._call = remote.Call(4 * self._adapter.timeout, self._ask,
                                 name='preflight')

    def _ask(self):
        """Return rows, and all providers, uuid -> name, or None."""
        results = rows.attempt(_PLACEMENT, _REACH, self._microversions)
        if results[0].outcome == ERROR:
            return results, None
        version = self._adapter.microversions().for_query(
            documents.FORMS[0])
        results += rows.attempt(_CANDIDATES, _ALLOW, self._candidates, version)
        providers = {}
        failed = rows.attempt(_PROVIDERS, _ALLOW, self._list_providers,
                              version, providers)
        return results + failed, None if failed else providers

    def _microversions(self):
        supported = self._adapter.microversions()
        speaks = (f'it has microversions {supported.least} to '
                  f'{supported.most}')
        oldest = documents.FORMS[0]
        if supported.newest() is None:
            return [Row(_PLACEMENT, ERROR, f'{speaks}; this service needs '
                        f'{oldest} at least',
                        'Upgrade Placement to Queens or later')]
        return [Row(_PLACEMENT, OK, f'endpoint and log-in work; {speaks}; '
                    f'queries use {supported.for_query(oldest)}')]

    def _candidates(self, version):
        offered = self._read(
            '/allocation_candidates?limit=1&resources=VCPU:1', version,
            documents.Candidates.of, 'It returns no candidates.')
        if offered.by_provider:
            return [Row(_CANDIDATES, OK, 'there is a candidate for one VCPU')]
        return [Row(_CANDIDATES, WARNING, 'there is none for one VCPU',
                    'Look at the inventories of the compute nodes: openstack '
                    'resource provider inventory list')]

    def _list_providers(self, version, providers):
        """Add the providers to a dict, uuid -> name; return no row."""
        providers |= self._read(
            '/resource_providers', version, lambda document: {
                provider['uuid']: provider.get('name')
                for provider in document['resource_providers']},
            'It does not list its providers.')
        return []

    def _read(self, path, version, understand, failure):
        return self._adapter.request('GET', path, version, retry=False).read(
            understand, failure)

    def rows(self, computes):
        """Return the rows about Placement: list of Row.

        computes: list of databases.Computes, of known nodes.
        """
        try:
            results, providers = self._call.result()
        except remote.DeadlineExceeded as error:
            return [Row(_PLACEMENT, ERROR, str(error), _REACH)]
        if providers is None:
            return results
        return [*results, _compare(providers, computes)]


def _compare(providers, computes):
    """Return the row that compares compute nodes with providers."""
    nodes = [node for cell in computes for node in cell.nodes]
    without = [name for name, uuid in nodes if uuid not in providers]
    if not without:
        return Row(_PROVIDERS, OK, f'{len(providers)} providers; all '
                   f'{len(nodes)} compute nodes that were read have one')
    text = rows.counted(
        without, f'of {len(nodes)} compute nodes have no resource provider')
    uuids = {name: uuid for uuid, name in providers.items()}
    stale = [f'{name} ({uuids[name]})' for name in without if name in uuids]
    if stale:
        text += '; ' + rows.counted(
            stale, 'of them have the name of a provider with another uuid')
    return Row(_PROVIDERS, WARNING, text, 'They get no instances. ' + (
        _STALE if stale else 'See the log of nova-compute there, which '
        'creates the provider'))


class Neutron:
    """Neutron, queried like by the request filter for routed networks.

    conf: ConfigOpts.  The constructor starts the query if that request filter
    is on; ports are read with callers' tokens.
    """

    def __init__(self, conf):
        self._call = None
        if conf.scheduler.query_placement_for_routed_network_aggregates:
            reader = neutron.Neutron(conf).reader(
                context.RequestContext(overwrite=False))
            self._call = remote.Call(
                neutron.LIMIT, reader.knows_segments, 'routed networks',
                name='preflight')

    def rows(self):
        """Return the rows about Neutron: list of Row."""
        if self._call is None:
            return [Row(_NEUTRON, OK, 'this service needs no log-in there: '
                        '[scheduler] query_placement_for_routed_network_'
                        'aggregates is off, and ports are read with the '
                        'tokens of callers')]
        return rows.attempt(
            _NEUTRON, 'Check that it runs, and [neutron]: endpoint, auth_type '
            'and the options that it needs', self._segments)

    def _segments(self):
        if self._call.result():
            return [Row(_NEUTRON, OK, 'log-in works, and it has segments')]
        return [Row(_NEUTRON, WARNING, 'log-in works, but the extension '
                    'segment is missing',
                    'Networks without segments are not routed: turn on the '
                    'segments plug-in of Neutron, or turn off [scheduler] '
                    'query_placement_for_routed_network_aggregates')]


def check(setup):
    """Query each service, and return the rows about it: list of Row.

    setup: startup.Setup.  Changes nothing.  A service that is down fails only
    its own rows; the time to wait is bounded.
    """
    databases, broker = Databases(setup.conf), MessageBroker(setup.conf)
    http = ([Placement(setup.conf), Neutron(setup.conf)]
            if setup.placement else [])
    results = [*databases.rows(), *broker.rows()]
    if http:
        results += http[0].rows(databases.computes()) + http[1].rows()
    else:
        results.append(_placement_not_used(setup))
    return rows.as_written(setup.conf, results)


def _placement_not_used(setup):
    if config.placement_configured(setup.conf):
        return Row(_PLACEMENT, OK, f'{setup.driver} does not use it')
    return Row(_PLACEMENT, WARNING, '[placement] is not configured: hosts '
               'are judged only by the databases',
               'From Pike on a cloud has a Placement: set [placement] '
               'auth_type and the options that it needs')
