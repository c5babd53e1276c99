"""Claim allocation candidates for the instances of a request; release them.
"""

import contextlib
import dataclasses
import functools
import random
import re
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement import documents
from nova_sched.placement.adapter import REFUSES_ALL
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.adapter import RetryBudget
from nova_sched.placement.claim_batches import ClaimBatches
from nova_sched.placement.documents import ConsumerAllocations
from nova_sched.service_adapter import FailureReason

LOG = logging.getLogger(__name__)

#: Attempts at a claim while other writers change the same providers.
ATTEMPTS = 4

#: Number of look-ups of an unanswered claim before it counts as lost.
MOST_LOOK_UPS = 2

#: Stands for a missing user or project, like in Placement's own default for
#: consumers without them.
NOBODY = '00000000-0000-0000-0000-000000000000'

NO_CONTENT, NOT_FOUND, CONFLICT = 204, 404, 409

#: Assumed allocations of a new instance, from microversion 1.28 on.
#: Placement refuses the claim if it knows the instance as a consumer.
_NEW = ConsumerAllocations({})
#: Result of ``_try_all`` if Placement has not responded.
_UNANSWERED = object()
#: The generation of a consumer in an error text.  A consumer without
#: allocations has none in the response to a read.
_EXPECTED = re.compile(r'expected (\d+)')


@dataclasses.dataclass(frozen=True)
class RequestIdentity:
    """The user and request for which Placement is called.

    request_id: id for Placement's log.  user_id: or None.
    """

    request_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, context):
        """Return the identity in a request's context, without its token."""
        return cls(getattr(context, 'global_request_id', None)
                   or getattr(context, 'global_id', None)
                   or getattr(context, 'request_id', None),
                   getattr(context, 'user_id', None))


@dataclasses.dataclass(frozen=True)
class _SentClaim:
    """A claim that was sent.

    allocations: as in ConsumerAllocations.  generation: of the consumer once
    the claim is accepted; each write adds one.  None below microversion 1.28.
    """

    allocations: dict
    generation: int | None

    def is_held(self, held):
        """Return whether a consumer holds this claim, unchanged since.

        held: ConsumerAllocations.
        """
        return (held.allocations == self.allocations
                and held.generation == self.generation)


@dataclasses.dataclass
class _InstanceClaims:
    """Claims for one instance that are, or may be, accepted.

    before: ConsumerAllocations of the instance before the claims; _NEW if
        they were not read.
    sent: list of _SentClaim that the instance may hold.
    accepted: whether Placement has accepted the last claim.
    look_ups: number of look-ups that have not found an unanswered claim.
    owner: project_id and user_id of the last claim.
    """

    before: ConsumerAllocations
    sent: list = dataclasses.field(default_factory=list)
    accepted: bool = False
    look_ups: int = 0
    owner: dict = dataclasses.field(default_factory=dict)


#: For instances without claims.
_NO_CLAIMS = _InstanceClaims(_NEW)


class AllocationClaims:
    """Claims for the instances of one request; used in one thread.

    adapter: PlacementAdapter.  microversion: of the candidates.
    identity: RequestIdentity.  batches: ClaimBatches of the worker.
    sleep, uniform: as in time and random.

    RetryBudget limits the total time.
    """

    def __init__(self, adapter, microversion, identity, batches=None,
                 sleep=time.sleep, uniform=random.uniform):
        self._microversion, self._identity = microversion, identity
        #: Whether consumers have generations.  If so, new instances can be
        #: claimed for without a read, and several in one request.
        self.has_generations = documents.at_least(microversion,
                                            documents.GENERATIONS)
        self._batches = batches or ClaimBatches()
        self._sleep, self._uniform = sleep, uniform
        self._claim_budget = RetryBudget(adapter, identity.request_id)
        self._release_budget = RetryBudget(adapter, identity.request_id,
                                           releasing=True)
        # By instance: _InstanceClaims; ConsumerAllocations for the next
        # write; their generation shows if they are stale.
        self._claims, self._known = {}, {}
        # Whether the last claim has timed out.
        self._too_late = False
        #: Providers with a generation raised by the last claim: uuids.
        self.writes = frozenset()

    def claim(self, instance_uuid, request, spec_obj, adds=False):
        """Claim an allocation request for an instance; return success.

        None if Placement did not respond in time.  The instance keeps the
        allocations that it has.  A refusal is logged.
        adds: whether it also keeps an earlier claim of this object.
        Raises AllocationUpdateFailed if another writer claims for the
        instance, and PlacementUnavailable if Placement refuses all requests.
        """
        _log_attempt(instance_uuid)
        if self._claim_budget.exhausted or not (
                (adds and self._claims.get(instance_uuid, _NO_CLAIMS).accepted)
                or self._try_undo(instance_uuid)):
            return False
        self._too_late = False
        accepted = self._repeated(
            lambda: self._try(instance_uuid, request, spec_obj),
            instance_uuid)
        return None if self._too_late and not accepted else accepted

    def claim_all(self, requests, spec_obj):
        """Claim for new instances, all or nothing; return success.

        requests: instance uuid -> allocation request, for instances without
            earlier claims.
        None if Placement did not respond: ``claim`` and ``release`` handle
        claims that it may have accepted.
        Raises PlacementUnavailable like ``claim``.
        """
        for instance_uuid in requests:
            _log_attempt(instance_uuid)
        if self._claim_budget.exhausted or not self.has_generations:
            return False
        accepted = self._repeated(
            lambda: self._try_all(requests, spec_obj), ', '.join(requests))
        return None if accepted is _UNANSWERED else accepted

    def _repeated(self, attempt, consumers):
        """Repeat an attempt until its result is not None.

        None means that another writer was faster.  consumers: for the log.
        """
        for number in range(ATTEMPTS):
            # The first retry is immediate.
            self._sleep(self._uniform(0, 2 * max(0, number - 1)))
            accepted = attempt()
            if accepted is not None:
                return accepted
            LOG.debug('Unable to claim_resources because another process '
                      'changed the resource providers involved in our attempt '
                      'to put allocations for consumer %s; retrying...',
                      consumers)
        LOG.error('Failed scheduler client operation claim_resources: out of '
                  'retries')
        return False

    def held(self):
        """Return the instances for which Placement may hold a claim: list."""
        return list(self._claims)

    def forget(self, instance_uuid):
        """Forget an instance after its allocations were deleted elsewhere."""
        self._claims.pop(instance_uuid, None)
        self._known.pop(instance_uuid, None)

    def release(self, instance_uuid):
        """Restore the allocations of an instance from before its claim.

        Returns whether it holds nothing of the claim; False if its
        allocations have changed since the claim and are left alone.
        Raises PlacementError if it fails, or must be repeated: an unanswered
        claim may arrive after the look-up.
        """
        self._release_budget.renew()
        released = False
        with contextlib.suppress(exception.AllocationUpdateFailed):
            self._undo(instance_uuid)
            claims = self._claims.get(instance_uuid)
            if claims is not None and not claims.accepted:
                # A server that hung processes the claim and the look-up at
                # the same time.
                claims.look_ups += 1
                if claims.look_ups < MOST_LOOK_UPS:
                    raise exception.PlacementError(
                        f'The unanswered claim for instance {instance_uuid} '
                        'has not arrived yet')
            released = True
        self._claims.pop(instance_uuid, None)
        return released

    def release_all(self, instance_uuids):
        """Release the claims of new instances in one request, if possible.

        Returns the uuids of the released instances: list.
        """
        # Only of instances that hold nothing but their claim.
        uuids = [uuid for uuid in instance_uuids
                 if (claims := self._claims.get(uuid, _NO_CLAIMS)).accepted
                 and claims.before is _NEW]
        if len(uuids) < 2:
            return []
        self._release_budget.renew()
        try:
            response = self._post(self._release_budget, {
                uuid: self._body_before(
                    self._claims[uuid], self._claims[uuid].sent[-1].generation)
                for uuid in uuids})
        except exception.PlacementError:
            return []
        if response.status != NO_CONTENT:
            return []
        for uuid in uuids:
            LOG.info('Deleted allocations for instance %s', uuid)
            del self._claims[uuid]
        return uuids

    def _body_before(self, claims, generation):
        """Return the body that restores the allocations before claims.

        claims: _InstanceClaims.  generation: current one of the consumer.
        """
        before = claims.before
        owner = claims.owner if not before.allocations else {
            'project_id': before.project_id or NOBODY,
            'user_id': before.user_id or NOBODY}
        return {'allocations': documents.body(before.allocations),
                **owner, **self._generation(generation)}

    def _try_all(self, requests, spec_obj):
        """Send claims together; return whether they are accepted.

        None if another writer was faster; _UNANSWERED.
        """
        bodies = {uuid: self._body(_NEW, request, spec_obj)
                  for uuid, request in requests.items()}
        for uuid, body in bodies.items():
            self._note_sent(uuid, _NEW, body)
        try:
            response = self._post(self._claim_budget, bodies)
        except exception.PlacementError:
            return _UNANSWERED
        if response.status == NO_CONTENT:
            for uuid in requests:
                self._claims[uuid].accepted = True
            return True
        LOG.debug('Failed to save allocations of %d instances at once. Got '
                  'HTTP %d: %s', len(bodies), response.status,
                  response.error_text)
        if 400 <= response.status < 500:
            for uuid in requests:
                self._drop_last(uuid)
            _check_served(response)
            return None if _is_race(response) else False
        return _UNANSWERED

    def _note_sent(self, instance_uuid, held, body):
        """Record a claim before it is sent.

        Placement may accept a claim although no response arrives.
        """
        claims = self._claims.setdefault(instance_uuid, _InstanceClaims(held))
        claims.sent.append(_SentClaim(
            documents.amounts(body['allocations']),
            (held.generation or 0) + 1 if self.has_generations else None))
        claims.owner = {name: body[name] for name in ('project_id', 'user_id')}
        return claims

    def _try(self, instance_uuid, request, spec_obj):
        """Send a claim; return whether it is accepted.

        None if another writer was faster.
        """
        known = self._known.pop(instance_uuid, None)
        try:
            held = known or (
                _NEW if (self.has_generations
                         and instance_uuid not in self._claims)
                else self._get(instance_uuid, self._claim_budget))
            claims, response = self._send(instance_uuid, held, request,
                                          spec_obj)
            if (held is _NEW and len(claims.sent) == 1
                    and _is_generation_conflict(response)):
                # Not new: the instance moves, or its call is repeated.
                self._drop_last(instance_uuid)
                held = _with_generation(self._get(
                    instance_uuid, self._claim_budget), response)
                claims, response = self._send(instance_uuid, held, request,
                                              spec_obj)
        except exception.PlacementError as exc:
            # The error was logged where it was raised.
            self._too_late = (getattr(exc, 'reason', None)
                              is FailureReason.TOO_LATE)
            return self._in_doubt(instance_uuid)
        if response.status == NO_CONTENT:
            claims.sent, claims.accepted = claims.sent[-1:], True
            return True
        if _is_generation_conflict(response) and (
                known or len(claims.sent) > 1):
            # The consumer has changed, perhaps by a late claim of this object.
            self._drop_last(instance_uuid)
            return None if self._try_undo(instance_uuid) else False
        LOG.warning('Failed to save allocation for %s. Got HTTP %s: %s. %s',
                    instance_uuid, response.status, response.error_text,
                    response.advice)
        if not 400 <= response.status < 500:
            # A proxy may have responded after forwarding the claim.
            return self._in_doubt(instance_uuid)
        self._drop_last(instance_uuid)
        _check_served(response)
        if self.has_generations:
            self._known[instance_uuid] = held
        if _is_generation_conflict(response):
            raise exception.AllocationUpdateFailed(
                consumer_uuid=instance_uuid, error=response.error_text)
        return None if _is_race(response) else False

    def _send(self, instance_uuid, held, request, spec_obj):
        """Add a claim to ``held`` and send it: _InstanceClaims, Response."""
        body = self._body(held, request, spec_obj)
        claims = self._note_sent(instance_uuid, held, body)
        put = functools.partial(self._put, instance_uuid, self._claim_budget,
                                body)
        if held is not _NEW:
            self.writes = frozenset(body['allocations'])
            return claims, put()
        response, self.writes = self._batches.send(
            instance_uuid, body, put,
            functools.partial(self._post, self._claim_budget),
            lambda: self._claim_budget.timeout)
        return claims, response

    def _drop_last(self, instance_uuid):
        """Forget the last claim for an instance, which was refused."""
        claims = self._claims[instance_uuid]
        claims.sent.pop()
        if not claims.sent:
            del self._claims[instance_uuid]

    def _in_doubt(self, instance_uuid):
        """Undo a claim that may be accepted, if possible; return False."""
        if instance_uuid in self._claims:
            self._claims[instance_uuid].accepted = False
        with contextlib.suppress(exception.AllocationUpdateFailed):
            self._try_undo(instance_uuid)
        return False

    def _body(self, held, request, spec_obj):
        """Return the body of a request that claims a candidate."""
        body = {
            'allocations': request['allocations'],
            'project_id': spec_obj.project_id or NOBODY,
            'user_id': spec_obj.user_id or self._identity.user_id or NOBODY}
        if request.get('mappings') and documents.at_least(
                self._microversion, documents.MAPPINGS):
            body['mappings'] = request['mappings']
        if held.allocations:
            LOG.debug('Doubling-up allocation_request for move operation. '
                      'Current allocations: %s', held.allocations)
            body['allocations'] = documents.body(held.merged(
                documents.amounts(request['allocations']),
                adding=not documents.at_least(self._microversion,
                                              documents.STEIN)))
            # The groups of the combined allocations are unknown.
            body.pop('mappings', None)
            LOG.debug('New allocation_request containing both source and '
                      'destination hosts in move operation: %s', body)
        return body | self._generation(held.generation)

    def _generation(self, generation):
        """Return the part of a body that names the consumer's generation."""
        return ({'consumer_generation': generation} if self.has_generations
                else {})

    def _get(self, instance_uuid, budget):
        """Return the ConsumerAllocations of an instance.

        Raises PlacementError.
        """
        response = budget.request(
            'GET', f'/allocations/{instance_uuid}', documents.GENERATIONS
            if self.has_generations else self._microversion)
        try:
            return response.read(
                ConsumerAllocations.of, 'Placement does not return the '
                f'allocations of instance {instance_uuid}.')
        except RequestFailed as failed:
            LOG.warning('%s', failed)
            raise

    def _put(self, instance_uuid, budget, body):
        # A blind retry would conflict with the first attempt's result.
        return budget.request('PUT', f'/allocations/{instance_uuid}',
                              self._microversion, body=body, retry=False)

    def _post(self, budget, bodies):
        """Write the allocations of several instances: uuid -> body."""
        return budget.request('POST', '/allocations', self._microversion,
                              body=bodies, retry=False)

    def _try_undo(self, instance_uuid):
        """Undo claims that may be accepted; return whether that worked.

        Raises AllocationUpdateFailed.
        """
        try:
            self._undo(instance_uuid)
            return True
        except exception.PlacementError as exc:
            error = exc
        LOG.error('It is unknown whether Placement has accepted a claim for '
                  'instance %(uuid)s, and releasing it failed: %(error)s. '
                  'If the instance is not built, release its allocations by '
                  '"openstack resource provider allocation delete %(uuid)s"',
                  {'uuid': instance_uuid, 'error': error})
        return False

    def _undo(self, instance_uuid):
        """Restore the allocations of an instance from before its claims.

        Raises PlacementError, and AllocationUpdateFailed if the consumer has
        changed since the claim: then it is left alone.
        """
        claims = self._claims.get(instance_uuid)
        if claims is None:
            return
        if claims.accepted and self.has_generations:
            self._undo_accepted(instance_uuid, claims)
        else:
            self._undo_if_held(instance_uuid, claims)

    def _undo_accepted(self, instance_uuid, claims):
        """Undo an accepted claim, by the generation that the consumer got."""
        response = self._put(
            instance_uuid, self._release_budget,
            self._body_before(claims, claims.sent[-1].generation))
        if _is_generation_conflict(response):
            held = self._get(instance_uuid, self._release_budget)
            # An earlier attempt may have worked without a response.
            if held.allocations != claims.before.allocations:
                raise _changed_since(instance_uuid)
        else:
            _check_released(instance_uuid, response, claims)
        del self._claims[instance_uuid]

    def _undo_if_held(self, instance_uuid, claims):
        """Undo claims if the instance holds one of them.

        An unanswered claim is remembered, as it may arrive late.  Below
        microversion 1.28 an equal claim of another writer cannot be
        distinguished, nor a write between the read and the undo be noticed.
        """
        held = self._get(instance_uuid, self._release_budget)
        if any(sent.is_held(held) for sent in claims.sent):
            self._restore(instance_uuid, held, claims)
        elif held.allocations == claims.before.allocations:
            if claims.accepted:
                del self._claims[instance_uuid]
            elif self.has_generations:
                self._known[instance_uuid] = held
        elif claims.before is _NEW:
            # The instance existed before; a claim as for a new one fails.
            claims.before = self._known[instance_uuid] = held
        else:
            raise _changed_since(instance_uuid)

    def _restore(self, instance_uuid, held, claims):
        """Replace ``held`` by the allocations from before the claims."""
        if claims.before.allocations or self.has_generations:
            response = self._put(instance_uuid, self._release_budget,
                                 self._body_before(claims, held.generation))
        else:
            # Below microversion 1.28 no PUT can empty a consumer.
            response = self._release_budget.request(
                'DELETE', f'/allocations/{instance_uuid}')
        if response.status != NOT_FOUND or self.has_generations:
            _check_released(instance_uuid, response, claims)
        claims.sent = [sent for sent in claims.sent if not sent.is_held(held)]
        if not claims.sent or not self.has_generations:
            del self._claims[instance_uuid]
        if not claims.before.allocations and self.has_generations:
            # The consumer is deleted together with its allocations.
            self._known[instance_uuid] = ConsumerAllocations({})


def _log_attempt(instance_uuid):
    LOG.debug('Attempting to claim resources in the placement API for '
              'instance %s', instance_uuid)


def _is_generation_conflict(response):
    """Return whether a claim is refused because its consumer has changed."""
    return response.status == CONFLICT and (
        'consumer generation conflict' in response.error_text)


def _with_generation(held, refusal):
    """Return ConsumerAllocations with the generation for the next claim.

    held: as read.  refusal: Response to a claim without a generation.
    A claim on a provider that does not exist leaves a consumer behind that
    has a generation but no allocations.
    """
    expected = _EXPECTED.search(refusal.error_text)
    if held.allocations or expected is None:
        return held
    return dataclasses.replace(held, generation=int(expected[1]))


def _check_served(response):
    """Raise PlacementUnavailable if Placement refuses any claim."""
    if response.status in REFUSES_ALL:
        raise exception.PlacementUnavailable(
            str(RequestFailed('Placement refuses claims.', response)),
            f'Placement refuses claims with status {response.status}')


def _is_race(response):
    """Return whether another writer was faster at a provider."""
    if response.status != CONFLICT or _is_generation_conflict(response):
        return False
    # Errors have codes from microversion 1.23 on.
    if response.error_code:
        return response.error_code == 'placement.concurrent_update'
    return 'concurrently updated' in response.error_text


def _changed_since(instance_uuid):
    """Log the failure of an undo; return its AllocationUpdateFailed."""
    LOG.warning('The allocations of instance %s have changed since this '
                'request claimed them; they are left alone', instance_uuid)
    return exception.AllocationUpdateFailed(
        consumer_uuid=instance_uuid,
        error='its allocations have changed since they were claimed')


def _check_released(instance_uuid, response, claims):
    """Log the result of an undo; raise RequestFailed if it failed.

    response: of Placement.  claims: _InstanceClaims.
    """
    if response.status == NO_CONTENT:
        LOG.info('Restored the allocations that instance %s held before'
                 if claims.before.allocations else
                 'Deleted allocations for instance %s', instance_uuid)
    else:
        LOG.warning('Unable to delete allocation for instance %s: (%i %s)',
                    instance_uuid, response.status, response.error_text)
        raise RequestFailed(
            f'The claim of instance {instance_uuid} is not released.',
            response)
