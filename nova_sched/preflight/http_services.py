"""The services that speak HTTP: Placement and Neutron."""

from nova_sched import context
from nova_sched.network import neutron
from nova_sched.placement import adapter
from nova_sched.placement import answers
from nova_sched.placement import candidates
from nova_sched.placement import microversions
from nova_sched.preflight import rows
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row

_PLACEMENT, _CANDIDATES = 'Placement', 'Placement candidates'
_PROVIDERS, _NEUTRON = 'Placement providers', 'Neutron'
_REACH = ('Check that it runs, and the log-in and the endpoint that '
          '[placement] leads to')
_ALLOW = ('Give the user of [placement] a role with which Placement lets '
          'Nova in, such as admin or service')


class Placement:
    """What Placement says to what a scheduler asks; nothing is claimed.

    Asking begins when it is made.
    """

    def __init__(self, conf):
        self._server = adapter.Connection(conf)
        # A log-in and three requests, each with its time.
        self._asked = rows.Question(4 * self._server.timeout, self._ask)

    def _ask(self):
        """Its rows, and the uuids of all providers or None."""
        found, providers = rows.attempt(_PLACEMENT, _REACH, self._spoken), []
        if found[0].outcome == ERROR:
            return found, None
        version = self._server.spoken().fitting(microversions.FORMS[0])
        found += rows.attempt(_CANDIDATES, _ALLOW, self._offered, version)
        failed = rows.attempt(_PROVIDERS, _ALLOW, self._listed, version,
                              providers)
        return found + failed, None if failed else set(providers)

    def _spoken(self):
        spoken = self._server.spoken()
        if spoken.best() is None:
            return [Row(_PLACEMENT, ERROR, f'it speaks microversions '
                        f'{spoken.least} to {spoken.most}, of which this '
                        f'service needs {microversions.FORMS[0]} at least',
                        'Upgrade Placement to Queens or later')]
        return [Row(_PLACEMENT, OK, 'endpoint and log-in work; it speaks '
                    f'microversions {spoken.least} to {spoken.most}, and is '
                    f'asked in {spoken.fitting(microversions.FORMS[0])}')]

    def _offered(self, version):
        answer = self._get('/allocation_candidates?limit=1&resources=VCPU:1',
                           version, 'It offers no candidates.')
        found = candidates.Candidates()
        found.add(answer.document())
        if found.by_provider:
            return [Row(_CANDIDATES, OK, 'there is a candidate for one VCPU')]
        return [Row(_CANDIDATES, WARNING, 'there is none for one VCPU',
                    'Look at the inventories of the compute nodes: openstack '
                    'resource provider inventory list')]

    def _listed(self, version, providers):
        """No row; the uuids of the providers go to a list."""
        answer = self._get('/resource_providers', version,
                           'It does not list its providers.')
        providers += [
            each['uuid'] for each in answer.document()['resource_providers']]
        return []

    def _get(self, path, version, trouble):
        answer = self._server.ask('GET', path, version, again=False)
        if answer.status != 200:
            raise answers.Refused(trouble, answer)
        return answer

    def rows(self, computes):
        """What there is to say of it: list of Row.

        computes: list of census.Computes, those whose nodes are known.
        """
        try:
            found, providers = self._asked.answer()
        except rows.Silent as error:
            return [Row(_PLACEMENT, ERROR, str(error), _REACH)]
        if providers is None:
            return found
        return [*found, _matched(providers, computes)]


def _matched(providers, computes):
    """The row that compares compute nodes with resource providers."""
    nodes = [node for found in computes for node in found.nodes]
    without = [name for name, uuid in nodes if uuid not in providers]
    if without:
        return Row(_PROVIDERS, WARNING, rows.counted(
            without, f'of {len(nodes)} compute nodes have no resource '
            'provider'), 'They get no instances. See the log of nova-compute '
            'there; it makes the provider')
    return Row(_PROVIDERS, OK, f'{len(providers)} providers; all '
               f'{len(nodes)} compute nodes that were read have one')


class Neutron:
    """What Neutron says to a service that looks for segments.

    conf: ConfigOpts.  Asking begins when it is made, where the request filter
    for routed networks is on; ports are read with users' tokens.
    """

    def __init__(self, conf):
        self._asked = None
        if conf.scheduler.query_placement_for_routed_network_aggregates:
            reader = neutron.Neutron(conf).asked_by(
                context.RequestContext(overwrite=False))
            self._asked = rows.Question(
                neutron.LIMIT, reader.knows_segments, 'routed networks')

    def rows(self):
        """What there is to say of it: list of Row."""
        if self._asked is None:
            return [Row(_NEUTRON, OK, 'is not asked by this service: '
                        '[scheduler] query_placement_for_routed_network_'
                        'aggregates is off, and ports are read with the '
                        'tokens of users')]
        return rows.attempt(
            _NEUTRON, 'Check that it runs, and [neutron]: endpoint, auth_type '
            'and the options that it needs', self._found)

    def _found(self):
        if self._asked.answer():
            return [Row(_NEUTRON, OK, 'log-in works, and it has segments')]
        return [Row(_NEUTRON, WARNING, 'log-in works, but its extension '
                    'segment is not there',
                    'Networks without segments are not routed: turn on the '
                    'segments plug-in of Neutron, or turn off [scheduler] '
                    'query_placement_for_routed_network_aggregates')]
