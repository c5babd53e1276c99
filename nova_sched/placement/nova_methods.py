"""Placement as plug-ins ask it that know Nova's client of it.

The names, arguments and answers are those of Nova's releases from Queens on
that are not private to one of them.
"""

import dataclasses
import json

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement import answers
from nova_sched.placement import microversions
from nova_sched.placement import provider_tree
from nova_sched.placement.adapter import Unreachable
from nova_sched.placement.candidates import Candidates
from nova_sched.placement.claims import Asker
from nova_sched.placement.claims import Claims

LOG = logging.getLogger(__name__)

#: The oldest microversion that tells a provider's traits.
_TRAITS = '1.6'
#: ... and which tree it is in.
_TREES = '1.14'

_FOUND, _DELETED, _NOT_THERE = 200, 204, 404


@dataclasses.dataclass(frozen=True)
class Response:
    """An answer under the names that the library requests gives it.

    It is true below status 400.
    """

    status_code: int
    text: str

    def __bool__(self):
        return self.status_code < 400

    @property
    def ok(self):
        """Whether it is no error."""
        return bool(self)

    @property
    def content(self):
        """The body: bytes."""
        return self.text.encode()

    def json(self):
        """The body as JSON; ValueError if it is none."""
        return json.loads(self.text)


@dataclasses.dataclass(frozen=True)
class _Owner:
    """Whose a claim is."""

    project_id: str
    user_id: str


class NovaMethods:
    """Methods of Nova's SchedulerReportClient, for who has ``_server``, a
    placement.connection.Connection, and ``_found``.

    What Placement refuses, and that it does not answer, is logged; the answer
    is the one that stands for nothing then. Only ``get``, ``put``, ``post``
    and ``delete`` raise PlacementError for no answer.
    """

    def get(self, url, version=None, global_request_id=None):
        """GET a path below Placement's address: Response.

        version: microversion; None is 1.0.
        """
        return self._sent('GET', url, version, global_request_id)

    def delete(self, url, version=None, global_request_id=None):
        """As ``get``."""
        return self._sent('DELETE', url, version, global_request_id)

    def put(self, url, data, version=None, global_request_id=None):
        """As ``get``; data: what is sent as JSON."""
        return self._sent('PUT', url, version, global_request_id, data)

    def post(self, url, data, version=None, global_request_id=None):
        """As ``put``."""
        return self._sent('POST', url, version, global_request_id, data)

    def get_allocation_candidates(self, context, resources):
        """The allocation requests that would do, in Placement's order.

        resources: scheduler.utils.ResourceRequest.
        Returns (list of allocation requests, provider summaries by uuid, the
        microversion to claim them in), or (None, None, None).
        """
        try:
            found, version = self._found([resources], Asker.of(context),
                                         Candidates.in_full)
        except exception.PlacementError as exc:
            error = exc
        else:
            return found.requests, found.summaries, version
        _tell(error)
        return None, None, None

    def claim_resources(self, context, consumer_uuid, alloc_request,
                        project_id, user_id,
                        allocation_request_version=None,
                        consumer_generation=None):
        """Have a consumer hold an allocation request: whether it does.

        It keeps what it holds already.  allocation_request_version: its
        microversion; None for one of those of ``get_allocation_candidates``.
        consumer_generation: not looked at, it is asked for.
        Raises AllocationUpdateFailed when something else claims for it.
        """
        try:
            version = allocation_request_version or (
                self._server.spoken().fitting(microversions.FORMS[0]))
        except exception.PlacementError as exc:
            error = exc
        else:
            return Claims(self._server, version, Asker.of(context)).claim(
                consumer_uuid, alloc_request, _Owner(project_id, user_id))
        _tell(error)
        return False

    def delete_allocation_for_instance(self, context, uuid,
                                       consumer_type='instance', force=False):
        """Have an instance hold nothing: whether it held anything."""
        path = f'/allocations/{uuid}'
        answer = self._answer(context, 'DELETE', path)
        if answer is None or answer.status == _NOT_THERE:
            return False
        if answer.status == _DELETED:
            LOG.info('Deleted allocation for instance %s', uuid)
            return True
        LOG.warning('Unable to delete allocation for instance %(uuid)s: '
                    '(%(code)i %(text)s)', {
                        'uuid': uuid, 'code': answer.status,
                        'text': answer.words})
        return False

    def get_allocations_for_consumer(self, context, consumer):
        """What a consumer holds: provider uuid -> {'resources': {class: n}}.

        Empty where Placement does not tell.
        """
        return self._read(context, f'/allocations/{consumer}', 'allocations',
                          default={})

    def get_allocations_for_consumer_by_provider(self, context, rp_uuid,
                                                 consumer):
        """What a consumer holds of one provider: resource class -> amount."""
        held = self.get_allocations_for_consumer(context, consumer)
        return held.get(rp_uuid, {}).get('resources', {})

    def get_allocations_for_resource_provider(self, context, rp_uuid):
        """Who holds what of a provider: consumer -> {'resources': ...}.

        None where Placement does not tell.
        """
        return self._read(context, f'/resource_providers/{rp_uuid}'
                          '/allocations', 'allocations')

    def _get_provider_traits(self, context, rp_uuid):
        """The traits of a provider: set; None if Placement does not tell."""
        found = self._read(context, f'/resource_providers/{rp_uuid}/traits',
                           'traits', _TRAITS)
        return None if found is None else set(found)

    def _get_provider_aggregates(self, context, rp_uuid):
        """The uuids of a provider's aggregates: set, None as for traits."""
        found = self._read(
            context, f'/resource_providers/{rp_uuid}/aggregates',
            'aggregates', microversions.AGGREGATES)
        return None if found is None else set(found)

    def _get_inventory(self, context, rp_uuid):
        """What Placement answers about inventories: dict, None as above.

        Its ``inventories`` is resource class -> dict with ``total``,
        ``reserved``, ``allocation_ratio`` and others.
        """
        return self._read(context, f'/resource_providers/{rp_uuid}'
                          '/inventories')

    def get_provider_tree_and_ensure_root(self, context, rp_uuid, name=None,
                                          parent_provider_uuid=None):
        """The tree that a provider is in: ProviderTree.

        name, parent_provider_uuid: not looked at; no provider is made here.
        The tree is empty where there is none, or Placement does not tell.
        """
        found = self._read(context, f'/resource_providers?in_tree={rp_uuid}',
                           'resource_providers', _TREES, default=[])
        tree = provider_tree.ProviderTree()
        for each in found:
            uuid = each['uuid']
            held = self._get_inventory(context, uuid) or {}
            tree.add(provider_tree.ProviderData(
                uuid, each['name'], each['generation'],
                each.get('parent_provider_uuid'),
                held.get('inventories', {}),
                self._get_provider_traits(context, uuid) or set(),
                self._get_provider_aggregates(context, uuid) or set(), {}))
        return tree

    def _sent(self, method, url, version, request_id, body=None):
        answer = self._server.ask(method, url, version, request_id, body)
        return Response(answer.status, answer.text)

    def _answer(self, context, method, path, version=None):
        """An Answer, or None without one, which is logged."""
        try:
            return self._server.ask(method, path, version,
                                    Asker.of(context).request_id)
        except Unreachable:
            return None

    def _read(self, context, path, name=None, version=None, default=None):
        """The document at a path, or what it has under a name.

        The default for anything else than that.
        """
        answer, problem = self._answer(context, 'GET', path, version), None
        if answer is None:
            return default
        try:
            if answer.status == _FOUND:
                document = answer.document()
                return document if name is None else document[name]
        except KeyError:
            problem = f'it has no {name}'
        except ValueError as exc:
            problem = exc
        LOG.warning('%s', answers.Refused(
            f'Placement does not tell {path}.', answer, problem))
        return default


def _tell(error):
    """Log an error, unless it was logged where it came from."""
    if not isinstance(error, Unreachable):
        LOG.error('%s', error)
