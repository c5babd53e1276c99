"""Methods of Nova's client of Placement, for plug-ins.

Names, arguments and results are Nova's from Queens on, without methods that
only one release has.
"""

import contextlib
import copy
import dataclasses
import json
import types
import typing

from keystoneauth1 import exceptions as ks_exceptions
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.compat import nova_exception
from nova_sched.compat import provider_tree
from nova_sched.placement import documents
from nova_sched.placement import driver_claims
from nova_sched.placement.adapter import PlacementUnreachable
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.claims import AllocationClaims
from nova_sched.placement.claims import RequestIdentity
from nova_sched.scheduler.client import report

LOG = logging.getLogger(__name__)

#: The oldest microversion with the traits of a provider ...
_TRAITS = '1.6'
#: ... and with the tree of a provider.
_TREES = '1.14'

_NO_CONTENT, _NOT_FOUND = 204, 404


@dataclasses.dataclass(frozen=True)
class Response:
    """A response under the names of the library requests.

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
        """Return the body as JSON; ValueError if it is none."""
        return json.loads(self.text)


class TraitInfo(typing.NamedTuple):
    """The traits of a provider: set; and the provider's generation."""

    traits: set
    generation: int | None


class NovaMethods:
    """Methods of Nova's SchedulerReportClient.

    A mixin for a class that has ``_adapter``, a PlacementAdapter, and
    ``_fetch_candidates``.

    An error response or a missing response is logged, and the method returns
    an empty result. ``get``, ``put``, ``post`` and ``delete`` raise
    PlacementError without a response, other methods as documented.
    """

    def get(self, url, version=None, global_request_id=None):
        """Send GET for a path below Placement's address; return a Response.

        version: microversion; None is 1.0.
        """
        return self._sent('GET', url, version, global_request_id)

    def delete(self, url, version=None, global_request_id=None):
        """As ``get``."""
        return self._sent('DELETE', url, version, global_request_id)

    def put(self, url, data, version=None, global_request_id=None):
        """As ``get``; data: the body, sent as JSON."""
        return self._sent('PUT', url, version, global_request_id, data)

    def post(self, url, data, version=None, global_request_id=None):
        """As ``put``."""
        return self._sent('POST', url, version, global_request_id, data)

    def get_allocation_candidates(self, context, resources):
        """Return allocation candidates, in Placement's order.

        resources: scheduler.utils.ResourceRequest.
        Returns (list of allocation requests, provider summaries by uuid, the
        microversion to claim them in), or (None, None, None).
        """
        try:
            found, version = self._fetch_candidates(
                [resources], context, private=True)
        except exception.PlacementError as exc:
            error = exc
        else:
            return found.requests, found.summaries, version
        _log(error)
        return None, None, None

    def claim_resources(self, context, consumer_uuid, alloc_request,
                        project_id, user_id,
                        allocation_request_version=None,
                        consumer_generation=None):
        """Claim an allocation request for a consumer: whether it succeeds.

        The consumer keeps its other allocations.
        allocation_request_version: microversion of the request; None for the
            microversion of ``get_allocation_candidates``.
        consumer_generation: ignored; the claim queries it.
        Raises AllocationUpdateFailed if another service claims for the
        consumer.
        """
        try:
            version = allocation_request_version or (
                self._adapter.microversions().for_query(
                    documents.FORMS[0]))
        except exception.PlacementError as exc:
            error = exc
        else:
            claims = driver_claims.current().of(
                (self, version), lambda: AllocationClaims(
                    self._adapter, version, RequestIdentity.of(context)))
            # The claim itself logs that all are refused.
            with contextlib.suppress(exception.PlacementUnavailable):
                return claims.claim(consumer_uuid, alloc_request,
                                    types.SimpleNamespace(
                                        project_id=project_id,
                                        user_id=user_id), adds=True)
            return False
        _log(error)
        return False

    def delete_allocation_for_instance(self, context, uuid,
                                       consumer_type='instance', force=False):
        """Delete an instance's allocations; return whether it had any."""
        path = f'/allocations/{uuid}'
        response = self._request(context, 'DELETE', path)
        if response is None or response.status == _NOT_FOUND:
            return False
        if response.status == _NO_CONTENT:
            driver_claims.current().forget(uuid)
            LOG.info('Deleted allocation for instance %s', uuid)
            return True
        LOG.warning('Unable to delete allocation for instance %(uuid)s: '
                    '(%(code)i %(text)s)', {
                        'uuid': uuid, 'code': response.status,
                        'text': response.error_text})
        return False

    def get_allocations_for_consumer(self, context, consumer):
        """Return a consumer's allocations: uuid -> {'resources': {class: n}}.

        Empty without a response of Placement.
        """
        return self._read(context, f'/allocations/{consumer}', 'allocations',
                          default={})

    def get_allocations_for_consumer_by_provider(self, context, rp_uuid,
                                                 consumer):
        """Return a consumer's allocations at a provider: class -> amount."""
        held = self.get_allocations_for_consumer(context, consumer)
        return held.get(rp_uuid, {}).get('resources', {})

    def get_allocations_for_resource_provider(self, context, rp_uuid):
        """Return a provider's allocations: consumer -> {'resources': ...}.

        None without a response of Placement.
        """
        return self._read(context, f'/resource_providers/{rp_uuid}'
                          '/allocations', 'allocations')

    def get_provider_traits(self, context, rp_uuid):
        """Return a provider's traits: TraitInfo.

        Raises ResourceProviderTraitRetrievalFailed for an error response, and
        keystoneauth's ClientException without a response.
        """
        try:
            response = self._adapter.request(
                'GET', f'/resource_providers/{rp_uuid}/traits', _TRAITS,
                RequestIdentity.of(context).request_id)
        except PlacementUnreachable as exc:
            raise _of_keystoneauth(exc) from exc
        return _required(
            response, lambda document: TraitInfo(
                set(document['traits']),
                document.get('resource_provider_generation')),
            nova_exception.ResourceProviderTraitRetrievalFailed(uuid=rp_uuid))

    def _get_resource_provider(self, context, uuid):
        """Return a provider's document: dict.

        Its ``parent_provider_uuid`` is None for the root of a tree.
        Returns None for an unknown provider, and without a response.
        Raises ResourceProviderRetrievalFailed for another error response.
        """
        response = self._request(context, 'GET',
                                 f'/resource_providers/{uuid}', _TREES)
        if response is None or response.status == _NOT_FOUND:
            return None
        return _required(
            response, dict,
            nova_exception.ResourceProviderRetrievalFailed(uuid=uuid))

    def _get_provider_traits(self, context, rp_uuid):
        """Return a provider's traits: set, or None without a response."""
        return self._read_set(context, rp_uuid, 'traits', _TRAITS)

    def _get_provider_aggregates(self, context, rp_uuid):
        """Return uuids of a provider's aggregates: set, None as for traits."""
        return self._read_set(context, rp_uuid, 'aggregates',
                              documents.AGGREGATES)

    def _get_inventory(self, context, rp_uuid):
        """Return the document of a provider's inventories: dict, or None.

        Its ``inventories`` is resource class -> dict with ``total``,
        ``reserved``, ``allocation_ratio`` and others.
        """
        return self._read(context, f'/resource_providers/{rp_uuid}'
                          '/inventories')

    def get_provider_tree_and_ensure_root(self, context, rp_uuid, name=None,
                                          parent_provider_uuid=None):
        """Return the ProviderTree that a provider is in.

        name, parent_provider_uuid: ignored; no provider is created.
        The tree is empty without a response of Placement.
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
        response = self._adapter.request(method, url, version, request_id,
                                         body)
        return Response(response.status, response.text)

    def _request(self, context, method, path, version=None):
        """Return an adapter.Response, or None without one, which is logged."""
        try:
            return self._adapter.request(
                method, path, version, RequestIdentity.of(context).request_id)
        except PlacementUnreachable:
            return None

    def _read_set(self, context, rp_uuid, name, version):
        found = self._read(context, f'/resource_providers/{rp_uuid}/{name}',
                           name, version)
        return None if found is None else set(found)

    def _read(self, context, path, name=None, version=None, default=None):
        """Return the document at a path, or its value under a name.

        Returns the default without a valid response.
        """
        response = self._request(context, 'GET', path, version)
        if response is None:
            return default
        try:
            return response.read(
                lambda document: document if name is None else document[name],
                f'Placement did not return {path}.')
        except RequestFailed as exc:
            LOG.warning('%s', exc)
        return default


def _required(response, understand, failed):
    """Return the content of a response, or raise ``failed``.

    response, understand: see adapter.Response.read; its error is logged.
    """
    try:
        return response.read(understand, f'{failed}.')
    except RequestFailed as exc:
        LOG.error('%s', exc)
    raise failed


def _of_keystoneauth(error):
    """Return keystoneauth's exception for a PlacementUnreachable."""
    cause = error.__cause__.__cause__
    if isinstance(cause, ks_exceptions.ClientException):
        return cause
    return ks_exceptions.ClientException(str(error))


def _log(error):
    """Log an error, unless it was logged where it came from."""
    if not isinstance(error, PlacementUnreachable):
        LOG.error('%s', error)


class NovaReportClient(report.SchedulerReportClient, NovaMethods):
    """The client of Placement that plug-ins get."""


def with_nova_methods(client):
    """Return a SchedulerReportClient with these methods, or a copy with them.
    """
    if isinstance(client, NovaMethods):
        return client
    made = copy.copy(client)
    made.__class__ = type(type(client).__name__,
                          (type(client), NovaMethods), {})
    return made
