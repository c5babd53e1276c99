"""Claiming what Placement offered one request, and releasing it."""

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

#: How often a claim is tried while others change the same providers.
ATTEMPTS = 4

#: How often a claim that was not answered is looked for before it counts as
#: lost.
LOOKS = 2

#: In place of a user or project that nobody named: as Placement's own
#: defaults for consumers that were made without.
NOBODY = '00000000-0000-0000-0000-000000000000'

NO_CONTENT, NOT_FOUND, CONFLICT = 204, 404, 409

#: What a new instance is taken to hold, from microversion 1.28 on: Placement
#: refuses the claim if it holds something.
_NEW = ConsumerAllocations({})
#: What comes of claims at once that are not answered.
_UNANSWERED = object()
#: Where Placement tells the generation of a consumer, which a read does not
#: tell of one without allocations.
_EXPECTED = re.compile(r'expected (\d+)')


@dataclasses.dataclass(frozen=True)
class RequestIdentity:
    """On whose behalf Placement is asked.

    request_id: under which Placement logs it.  user_id: or None.
    """

    request_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, context):
        """Return that of a request's context, without its token."""
        return cls(getattr(context, 'global_request_id', None)
                   or getattr(context, 'global_id', None)
                   or getattr(context, 'request_id', None),
                   getattr(context, 'user_id', None))


@dataclasses.dataclass(frozen=True)
class _SentClaim:
    """A claim that was sent: what the consumer is once it is accepted.

    allocations: as in ConsumerAllocations.  generation: of the consumer,
    which each write raises by one; None below microversion 1.28.
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
    """Claims for an instance that were, or may have been, accepted.

    before: ConsumerAllocations of the instance before the claims; _NEW if
        they were not read.
    sent: list of _SentClaim that the instance may hold.
    accepted: whether Placement has accepted the last one.
    looks: how often an unanswered claim was not found when it was to be
        released.
    owner: project_id and user_id of the last claim.
    """

    before: ConsumerAllocations
    sent: list = dataclasses.field(default_factory=list)
    accepted: bool = False
    looks: int = 0
    owner: dict = dataclasses.field(default_factory=dict)

    @property
    def owner_before(self):
        """project_id and user_id to restore, a dict."""
        if not self.before.allocations:
            return self.owner
        return {'project_id': self.before.project_id or NOBODY,
                'user_id': self.before.user_id or NOBODY}


class AllocationClaims:
    """Claims for the instances of one request; used in one thread.

    adapter: PlacementAdapter.  microversion: of the candidates.
    identity: RequestIdentity.  batches: ClaimBatches of the worker.
    sleep, uniform: as in time and random.

    RetryBudget bounds the time for all of them.
    """

    def __init__(self, adapter, microversion, identity, batches=None,
                 sleep=time.sleep, uniform=random.uniform):
        self._microversion, self._identity = microversion, identity
        #: Whether claims say that an instance is new, and need no reading.
        self.knows_new = documents.at_least(microversion,
                                            documents.GENERATIONS)
        self._batches = batches or ClaimBatches()
        self._sleep, self._uniform = sleep, uniform
        self._claim_budget = RetryBudget(adapter, identity.request_id)
        self._release_budget = RetryBudget(adapter, identity.request_id,
                                           releasing=True)
        # By instance: _InstanceClaims; and ConsumerAllocations, where the
        # generation will show whether they are current.
        self._claims, self._known = {}, {}
        # Whether the last claim was not answered in time.
        self._too_late = False
        #: Providers whose generation the last claim has raised: uuids.
        self.writes = frozenset()

    def claim(self, instance_uuid, request, spec_obj, adds=False):
        """Claim an allocation request for an instance: whether it succeeds.

        None if Placement did not answer in time.  The instance keeps what it
        holds already. A refusal is logged.
        adds: whether it also keeps an earlier claim of these.
        Raises AllocationUpdateFailed when something else claims for it, and
        PlacementUnavailable when Placement refuses all that is sent.
        """
        _log_attempt(instance_uuid)
        if self._claim_budget.exhausted or not (
                (adds and self._is_accepted(instance_uuid))
                or self._try_undo(instance_uuid)):
            return False
        self._too_late = False
        accepted = self._repeated(
            lambda: self._try(instance_uuid, request, spec_obj),
            instance_uuid)
        return None if self._too_late and not accepted else accepted

    def claim_all(self, requests, spec_obj):
        """Claim for new instances, all or nothing: whether it succeeds.

        requests: instance uuid -> allocation request, of instances that
            nothing was claimed for yet.
        None where Placement did not answer: ``claim`` and ``release`` see to
        what it may have taken.
        Raises PlacementUnavailable as ``claim`` does.
        """
        for instance_uuid in requests:
            _log_attempt(instance_uuid)
        if self._claim_budget.exhausted or not self.knows_new:
            return False
        accepted = self._repeated(
            lambda: self._try_all(requests, spec_obj), ', '.join(requests))
        return None if accepted is _UNANSWERED else accepted

    def _repeated(self, attempt, consumers):
        """Return what an attempt comes to that is not None.

        It is None where another writer was quicker; consumers: text.
        """
        for number in range(ATTEMPTS):
            # The first retry comes at once.
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
        """Leave an instance alone, whose allocations somebody has deleted."""
        self._claims.pop(instance_uuid, None)
        self._known.pop(instance_uuid, None)

    def _is_accepted(self, instance_uuid):
        claims = self._claims.get(instance_uuid)
        return claims is not None and claims.accepted

    def release(self, instance_uuid):
        """Restore what an instance held before its claim.

        Returns whether the instance holds nothing of the claim; False if its
        allocations have changed since the claim, and are left alone.
        Raises PlacementError when it cannot be done, or has to be repeated:
        a claim that was not answered may arrive after the look for it.
        """
        self._release_budget.renew()
        released = False
        with contextlib.suppress(exception.AllocationUpdateFailed):
            self._undo(instance_uuid)
            self._check_not_late(instance_uuid)
            released = True
        self._claims.pop(instance_uuid, None)
        return released

    def _check_not_late(self, instance_uuid):
        """Raise PlacementError the first time that a claim has not arrived.

        A server that hung works on it and on the question for it at a time.
        """
        claims = self._claims.get(instance_uuid)
        if claims is not None and not claims.accepted:
            claims.looks += 1
            if claims.looks < LOOKS:
                raise exception.PlacementError(
                    f'The claim for instance {instance_uuid} that was not '
                    'answered has not arrived yet')

    def release_all(self, instance_uuids):
        """Release the claims of new instances in one request, if it can be.

        Returns the uuids of those that are released: list.
        """
        uuids = [uuid for uuid in instance_uuids if self._is_plain(uuid)]
        if len(uuids) < 2:
            return []
        self._release_budget.renew()
        try:
            response = self._release_budget.request(
                'POST', '/allocations', self._microversion, retry=False,
                body={uuid: self._body_before(
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

    def _is_plain(self, instance_uuid):
        """Return whether a claim is all that an instance holds."""
        claims = self._claims.get(instance_uuid)
        return (claims is not None and claims.accepted
                and claims.before is _NEW)

    def _body_before(self, claims, generation):
        """Return the body that restores what an instance held before claims.

        claims: _InstanceClaims.  generation: of the consumer now.
        """
        return {'allocations': documents.body(claims.before.allocations),
                **claims.owner_before, **self._generation(generation)}

    def _try_all(self, requests, spec_obj):
        """Return whether claims are accepted; None as of ``_try``."""
        bodies = {uuid: self._body(_NEW, request, spec_obj)
                  for uuid, request in requests.items()}
        for uuid, body in bodies.items():
            self._note_sent(uuid, _NEW, body)
        try:
            response = self._post(bodies)
        except exception.PlacementError:
            return _UNANSWERED
        if response.status == NO_CONTENT:
            for uuid in requests:
                self._claims[uuid].accepted = True
            return True
        LOG.debug('Failed to save allocations of %(count)d instances at once. '
                  'Got HTTP %(status)d: %(text)s', {
                      'count': len(bodies), 'status': response.status,
                      'text': response.error_text})
        if 400 <= response.status < 500:
            for uuid in requests:
                self._drop_last(uuid)
            _check_served(response)
            return None if _is_race(response) else False
        return _UNANSWERED

    def _note_sent(self, instance_uuid, held, body):
        """Record a claim before it is sent: Placement may accept it though
        no answer comes.
        """
        claims = self._claims.setdefault(instance_uuid, _InstanceClaims(held))
        claims.sent.append(_SentClaim(
            documents.amounts(body['allocations']),
            (held.generation or 0) + 1 if self.knows_new else None))
        claims.owner = {name: body[name] for name in ('project_id', 'user_id')}
        return claims

    def _try(self, instance_uuid, request, spec_obj):
        """Return whether a claim is accepted; None where another one was
        quicker.
        """
        known = self._known.pop(instance_uuid, None)
        try:
            held = known or (
                _NEW if self.knows_new and instance_uuid not in self._claims
                else self._get(instance_uuid, self._claim_budget))
            claims, response = self._send(instance_uuid, held, request,
                                          spec_obj)
            if (held is _NEW and len(claims.sent) == 1
                    and _is_generation_conflict(response)):
                # It is not new: it moves, or is asked for once more.
                self._drop_last(instance_uuid)
                held = self._expected(self._get(
                    instance_uuid, self._claim_budget), response)
                claims, response = self._send(instance_uuid, held, request,
                                              spec_obj)
        except exception.PlacementError as exc:
            # Which is logged where it is raised.
            self._too_late = (getattr(exc, 'reason', None)
                              is FailureReason.TOO_LATE)
            return self._in_doubt(instance_uuid)
        if response.status == NO_CONTENT:
            claims.sent, claims.accepted = claims.sent[-1:], True
            return True
        if _is_generation_conflict(response) and (
                known or len(claims.sent) > 1):
            # The consumer has changed, perhaps by a claim of ours that is
            # late.
            self._drop_last(instance_uuid)
            return None if self._try_undo(instance_uuid) else False
        LOG.warning('Failed to save allocation for %s. Got HTTP %s: %s. %s',
                    instance_uuid, response.status, response.error_text,
                    response.advice)
        if not 400 <= response.status < 500:
            # Of a proxy, perhaps, which has passed the claim on.
            return self._in_doubt(instance_uuid)
        self._drop_last(instance_uuid)
        _check_served(response)
        if self.knows_new:
            self._known[instance_uuid] = held
        return _refusal(instance_uuid, response)

    def _expected(self, held, refusal):
        """Return what an instance holds, with the generation to claim with.

        held: as read.  refusal: Response to a claim without a generation.
        A claim on a provider that does not exist leaves a consumer behind
        that holds nothing and has a generation all the same.
        """
        found = _EXPECTED.search(refusal.error_text)
        if held.allocations or found is None:
            return held
        return dataclasses.replace(held, generation=int(found[1]))

    def _send(self, instance_uuid, held, request, spec_obj):
        """Claim beside what is held; return _InstanceClaims and Response."""
        body = self._body(held, request, spec_obj)
        claims = self._note_sent(instance_uuid, held, body)
        put = functools.partial(self._put, instance_uuid, self._claim_budget,
                                body)
        if held is not _NEW:
            self.writes = frozenset(body['allocations'])
            return claims, put()
        response, self.writes = self._batches.send(
            instance_uuid, body, put, self._post,
            lambda: self._claim_budget.timeout)
        return claims, response

    def _drop_last(self, instance_uuid):
        """Forget the last claim for an instance, which was refused."""
        claims = self._claims[instance_uuid]
        claims.sent.pop()
        if not claims.sent:
            del self._claims[instance_uuid]

    def _in_doubt(self, instance_uuid):
        """Undo, if possible, a claim that may be accepted; return False."""
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
            # Of a mixture nobody can say what serves which group.
            body.pop('mappings', None)
            LOG.debug('New allocation_request containing both source and '
                      'destination hosts in move operation: %s', body)
        return body | self._generation(held.generation)

    def _generation(self, generation):
        """Return the part of a body that names the consumer's generation."""
        return {'consumer_generation': generation} if self.knows_new else {}

    def _get(self, instance_uuid, budget):
        """Read what an instance holds: ConsumerAllocations.

        Raises PlacementError where that stays unknown.
        """
        response = budget.request(
            'GET', f'/allocations/{instance_uuid}',
            documents.GENERATIONS if self.knows_new else self._microversion)
        try:
            return response.read(
                ConsumerAllocations.of, 'Placement does not tell the '
                f'allocations of instance {instance_uuid}.')
        except RequestFailed as failed:
            LOG.warning('%s', failed)
            raise

    def _put(self, instance_uuid, budget, body):
        # A blind retry would conflict with what the first try has done.
        return budget.request('PUT', f'/allocations/{instance_uuid}',
                              self._microversion, body=body, retry=False)

    def _post(self, bodies):
        """Claim for several instances: uuid -> body."""
        return self._claim_budget.request(
            'POST', '/allocations', self._microversion, body=bodies,
            retry=False)

    def _try_undo(self, instance_uuid):
        """Undo claims of which nobody knows whether they were accepted.

        Whether that is done.  Raises AllocationUpdateFailed.
        """
        try:
            self._undo(instance_uuid)
            return True
        except exception.PlacementError as exc:
            error = exc
        LOG.error('It is not known whether Placement has taken a claim for '
                  'instance %(uuid)s, and taking it back failed: %(error)s. '
                  'If the instance is not built, give back what it holds by '
                  '"openstack resource provider allocation delete %(uuid)s"',
                  {'uuid': instance_uuid, 'error': error})
        return False

    def _undo(self, instance_uuid):
        """Restore what an instance held before its claims, if it has any.

        Raises PlacementError, and AllocationUpdateFailed when the consumer
        has changed since the claim: then it is left alone.
        """
        claims = self._claims.get(instance_uuid)
        if claims is None:
            return
        if claims.accepted and self.knows_new:
            self._undo_accepted(instance_uuid, claims)
        else:
            self._undo_if_held(instance_uuid, claims)

    def _undo_accepted(self, instance_uuid, claims):
        """Undo a claim by the generation that the consumer has had since."""
        response = self._put(
            instance_uuid, self._release_budget,
            self._body_before(claims, claims.sent[-1].generation))
        if _is_generation_conflict(response):
            held = self._get(instance_uuid, self._release_budget)
            # An earlier try may have succeeded without an answer.
            if held.allocations != claims.before.allocations:
                raise _changed_since(instance_uuid)
        else:
            _check_released(instance_uuid, response, claims)
        del self._claims[instance_uuid]

    def _undo_if_held(self, instance_uuid, claims):
        """Undo claims if what the instance holds is one of them.

        A claim that was not answered is kept in mind: it may be late.  Below
        microversion 1.28 an equal claim of another writer cannot be told from
        one of these, nor a write between the look and the undo be noticed.
        """
        held = self._get(instance_uuid, self._release_budget)
        if any(sent.is_held(held) for sent in claims.sent):
            self._restore(instance_uuid, held, claims)
        elif held.allocations == claims.before.allocations:
            if claims.accepted:
                del self._claims[instance_uuid]
            elif self.knows_new:
                self._known[instance_uuid] = held
        elif claims.before is _NEW:
            # It was there before: no claim as for a new one is accepted.
            claims.before = self._known[instance_uuid] = held
        else:
            raise _changed_since(instance_uuid)

    def _restore(self, instance_uuid, held, claims):
        """Replace what is held by what the instance held before claims."""
        if claims.before.allocations or self.knows_new:
            response = self._put(instance_uuid, self._release_budget,
                                 self._body_before(claims, held.generation))
        else:
            # No PUT empties a consumer below microversion 1.28.
            response = self._release_budget.request(
                'DELETE', f'/allocations/{instance_uuid}')
        if response.status != NOT_FOUND or self.knows_new:
            _check_released(instance_uuid, response, claims)
        claims.sent = [sent for sent in claims.sent if not sent.is_held(held)]
        if not claims.sent or not self.knows_new:
            del self._claims[instance_uuid]
        if not claims.before.allocations and self.knows_new:
            # The consumer went with its allocations.
            self._known[instance_uuid] = ConsumerAllocations({})


def _log_attempt(instance_uuid):
    LOG.debug('Attempting to claim resources in the placement API for '
              'instance %s', instance_uuid)


def _is_generation_conflict(response):
    """Return whether a claim was refused because its consumer has changed."""
    return response.status == CONFLICT and (
        'consumer generation conflict' in response.error_text)


def _refusal(instance_uuid, response):
    """Return False for a 4xx, or None where trying again may help.

    Raises AllocationUpdateFailed.
    """
    if response.status != CONFLICT:
        return False
    if _is_generation_conflict(response):
        raise exception.AllocationUpdateFailed(
            consumer_uuid=instance_uuid, error=response.error_text)
    return None if _is_race(response) else False


def _check_served(response):
    """Raise PlacementUnavailable for a refusal of whatever is claimed."""
    if response.status in REFUSES_ALL:
        raise exception.PlacementUnavailable(
            str(RequestFailed('Placement refuses claims.', response)),
            f'Placement refuses claims with status {response.status}')


def _is_race(response):
    """Return whether another writer was quicker at a provider."""
    if response.status != CONFLICT or _is_generation_conflict(response):
        return False
    # Errors have codes from microversion 1.23 on.
    if response.error_code:
        return response.error_code == 'placement.concurrent_update'
    return 'concurrently updated' in response.error_text


def _changed_since(instance_uuid):
    """Log and return the AllocationUpdateFailed of an undo."""
    LOG.warning('The allocations of instance %s have changed since this '
                'request claimed them; they are left alone', instance_uuid)
    return exception.AllocationUpdateFailed(
        consumer_uuid=instance_uuid,
        error='its allocations have changed since they were claimed')


def _check_released(instance_uuid, response, claims):
    """Log what an undo has restored; log and raise RequestFailed if none.

    response: of Placement.  claims: _InstanceClaims.
    """
    if response.status == NO_CONTENT:
        LOG.info('Restored the allocations that instance %s held before'
                 if claims.before.allocations else
                 'Deleted allocations for instance %s', instance_uuid)
    else:
        LOG.warning('Unable to delete allocation for instance %(uuid)s: '
                    '(%(code)i %(text)s)', {
                        'uuid': instance_uuid, 'code': response.status,
                        'text': response.error_text})
        raise RequestFailed(
            f'The claim of instance {instance_uuid} is not given back.',
            response)
