"""Claiming what Placement offered one request, and giving it back."""

import contextlib
import dataclasses
import random
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement import answers
from nova_sched.placement import microversions
from nova_sched.placement.allocations import Held
from nova_sched.placement.allocations import amounts
from nova_sched.placement.allocations import in_full
from nova_sched.placement.retry_budget import Insistence
from nova_sched.placement.retry_budget import Patience

LOG = logging.getLogger(__name__)

#: How often a claim is tried while others change the same providers.
ATTEMPTS = 4

#: In place of a user or project that nobody named: as Placement's own
#: defaults for consumers that were made without.
NOBODY = '00000000-0000-0000-0000-000000000000'

FOUND, TAKEN, NOT_THERE, CONFLICT = 200, 204, 404, 409


@dataclasses.dataclass(frozen=True)
class Asker:
    """For whom Placement is asked.

    request_id: under which Placement logs it.  user_id: or None.
    """

    request_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, context):
        """Taken from a request's context; without its token."""
        return cls(getattr(context, 'global_request_id', None)
                   or getattr(context, 'request_id', None),
                   getattr(context, 'user_id', None))


@dataclasses.dataclass
class _Made:
    """Claims for an instance that were, or may have been, taken.

    before: Held, by the instance before them.  put: list of what it may hold
    since, as in Held.  taken: whether Placement has said so of the last.
    """

    before: Held
    put: list = dataclasses.field(default_factory=list)
    taken: bool = False


class Claims:
    """Claims for the instances of one request; of one thread.

    server: placement.connection.Connection.  version: microversion of the
    candidates.  asker: Asker.  sleep, uniform: as in time and random.

    The time for all of them is bounded, as Patience and Insistence say.
    """

    def __init__(self, server, version, asker, sleep=time.sleep,
                 uniform=random.uniform):
        self._version, self._asker = version, asker
        self._sleep, self._uniform = sleep, uniform
        self._claiming = Patience(server, asker.request_id)
        self._returning = Insistence(server, asker.request_id)
        # By instance: _Made; and Held, where its generation will tell
        # whether that is still so.
        self._made, self._known = {}, {}

    def claim(self, instance_uuid, request, spec_obj):
        """Have an instance hold an allocation request: whether it does.

        It keeps what it holds already. Why it does not is logged.
        Raises AllocationUpdateFailed when something else claims for it.
        """
        LOG.debug('Attempting to claim resources in the placement API for '
                  'instance %s', instance_uuid)
        if self._claiming.given_up or not self._undone(instance_uuid):
            return False
        for attempt in range(ATTEMPTS):
            self._sleep(self._uniform(0, 2 * attempt))
            taken = self._try(instance_uuid, request, spec_obj)
            if taken is not None:
                return taken
            LOG.debug('Unable to claim_resources because another process '
                      'changed the resource providers involved in our attempt '
                      'to put allocations for consumer %s; retrying...',
                      instance_uuid)
        LOG.error('Failed scheduler client operation claim_resources: out of '
                  'retries')
        return False

    def release(self, instance_uuid):
        """Have an instance hold again what it held before its claim.

        Nothing happens without a claim that was, or may have been, taken, nor
        to what somebody else has claimed since.
        Raises PlacementError when it cannot be done.
        """
        self._returning.resume()
        with contextlib.suppress(exception.AllocationUpdateFailed):
            self._undo(instance_uuid)
        self._made.pop(instance_uuid, None)

    def _try(self, instance_uuid, request, spec_obj):
        """Whether a claim was taken; None where another one was quicker."""
        known = self._known.pop(instance_uuid, None)
        try:
            held = known or self._held(instance_uuid, self._claiming)
            body = self._body(held, request, spec_obj)
            # First: it may be taken though no answer comes.
            made = self._made.setdefault(instance_uuid, _Made(held))
            made.put.append(amounts(body['allocations']))
            answer = self._put(instance_uuid, self._claiming, body)
        except exception.PlacementError:
            # Which is logged where it is raised.
            return self._in_doubt(instance_uuid)
        if answer.status == TAKEN:
            made.put, made.taken = made.put[-1:], True
            return True
        if _is_of_the_consumer(answer) and (known or len(made.put) > 1):
            # It has changed since, perhaps by a claim of ours that is late.
            self._not_taken(instance_uuid)
            return None if self._undone(instance_uuid) else False
        LOG.warning('Failed to save allocation for %s. Got HTTP %s: %s. %s',
                    instance_uuid, answer.status, answer.words, answer.advice)
        if not 400 <= answer.status < 500:
            # Of somebody in between, perhaps, who has passed it on.
            return self._in_doubt(instance_uuid)
        self._not_taken(instance_uuid)
        if self._speaks(microversions.GENERATIONS):
            self._known[instance_uuid] = held
        return _refusal(instance_uuid, answer)

    def _not_taken(self, instance_uuid):
        """Forget the last claim for an instance, which was refused."""
        made = self._made[instance_uuid]
        made.put.pop()
        if not made.put:
            del self._made[instance_uuid]

    def _in_doubt(self, instance_uuid):
        """False for a claim that may be taken, which is undone if it can."""
        with contextlib.suppress(exception.AllocationUpdateFailed):
            self._undone(instance_uuid)
        return False

    def _body(self, held, request, spec_obj):
        """What is put to claim a candidate."""
        body = {
            'allocations': request['allocations'],
            'project_id': spec_obj.project_id or NOBODY,
            'user_id': spec_obj.user_id or self._asker.user_id or NOBODY}
        if request.get('mappings') and self._speaks(microversions.MAPPINGS):
            body['mappings'] = request['mappings']
        if held.allocations:
            LOG.debug('Doubling-up allocation_request for move operation. '
                      'Current allocations: %s', held.allocations)
            body['allocations'] = in_full(held.joined(
                amounts(request['allocations']),
                adding=not self._speaks(microversions.STEIN)))
            # Of a mixture nobody can say what serves which group.
            body.pop('mappings', None)
            LOG.debug('New allocation_request containing both source and '
                      'destination hosts in move operation: %s', body)
        return body | self._generation(held)

    def _generation(self, held):
        """What tells Placement which state of a consumer is meant: dict."""
        return ({'consumer_generation': held.generation}
                if self._speaks(microversions.GENERATIONS) else {})

    def _speaks(self, version):
        return microversions.at_least(self._version, version)

    def _held(self, instance_uuid, patience):
        """What an instance holds: Held; a PlacementError if unknown."""
        answer = patience.ask(
            'GET', f'/allocations/{instance_uuid}',
            microversions.GENERATIONS
            if self._speaks(microversions.GENERATIONS) else self._version)
        problem = None
        if answer.status == FOUND:
            try:
                return Held.of(answer.document())
            except ValueError as exc:
                problem = exc
        refused = answers.Refused(
            f'Placement does not tell the allocations of instance '
            f'{instance_uuid}.', answer, problem)
        LOG.warning('%s', refused)
        raise refused

    def _put(self, instance_uuid, patience, body):
        # Repeated blindly, it would run into what it has done itself.
        return patience.ask('PUT', f'/allocations/{instance_uuid}',
                            self._version, body=body, again=False)

    def _undone(self, instance_uuid):
        """Undo claims of which nobody knows whether they were taken.

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
        """Have an instance hold what it held before claims, if there are any.

        One that did not arrive stays in mind: it may be late. Raises
        PlacementError, and AllocationUpdateFailed when what the instance
        holds is of somebody else, which a server that knows no generations
        of consumers cannot tell.
        """
        made = self._made.get(instance_uuid)
        if made is None:
            return
        generations = self._speaks(microversions.GENERATIONS)
        if not made.before.allocations and (made.taken or not generations):
            self._delete(instance_uuid)
            del self._made[instance_uuid]
            return
        held = self._held(instance_uuid, self._returning)
        if held.allocations == made.before.allocations:
            if generations:
                self._known[instance_uuid] = held
            else:
                del self._made[instance_uuid]
        elif generations and held.allocations not in made.put:
            raise _of_somebody_else(instance_uuid)
        else:
            self._restore(instance_uuid, held, made)

    def _delete(self, instance_uuid):
        answer = self._returning.ask('DELETE', f'/allocations/{instance_uuid}')
        if answer.status == TAKEN:
            LOG.info('Deleted allocations for instance %s', instance_uuid)
        elif answer.status != NOT_THERE:
            raise _not_returned(instance_uuid, answer)

    def _restore(self, instance_uuid, held, made):
        """Put back what claims came on top of, in place of what is held."""
        before = made.before
        owner = before if before.allocations else held
        answer = self._put(instance_uuid, self._returning, {
            'allocations': in_full(before.allocations),
            'project_id': owner.project_id or NOBODY,
            'user_id': owner.user_id or NOBODY,
            **self._generation(held)})
        if answer.status != TAKEN:
            raise _not_returned(instance_uuid, answer)
        LOG.info('Restored the allocations that instance %s held before'
                 if before.allocations else
                 'Deleted allocations for instance %s', instance_uuid)
        if held.allocations in made.put:
            made.put.remove(held.allocations)
        if not made.put or not self._speaks(microversions.GENERATIONS):
            del self._made[instance_uuid]
        if not before.allocations:
            # With them went the consumer.
            self._known[instance_uuid] = Held({})


def _is_of_the_consumer(answer):
    """Whether a claim was refused because its consumer has changed."""
    return answer.status == CONFLICT and (
        'consumer generation conflict' in answer.words)


def _refusal(instance_uuid, answer):
    """What a 4xx means: False, or None where trying again may help.

    Raises AllocationUpdateFailed.
    """
    if answer.status != CONFLICT:
        return False
    if _is_of_the_consumer(answer):
        raise exception.AllocationUpdateFailed(
            consumer_uuid=instance_uuid, error=answer.words)
    # Errors have codes from microversion 1.23 on.
    race = (answer.code == 'placement.concurrent_update' if answer.code
            else 'concurrently updated' in answer.words)
    return None if race else False


def _of_somebody_else(instance_uuid):
    """An AllocationUpdateFailed, which is logged."""
    LOG.warning('Instance %s holds what this request has not claimed; it is '
                'left alone', instance_uuid)
    return exception.AllocationUpdateFailed(
        consumer_uuid=instance_uuid,
        error='it holds what this request has not claimed')


def _not_returned(instance_uuid, answer):
    """A PlacementError; the warning is for who looks for Nova's."""
    LOG.warning('Unable to delete allocation for instance %(uuid)s: '
                '(%(code)i %(text)s)', {
                    'uuid': instance_uuid, 'code': answer.status,
                    'text': answer.words})
    return answers.Refused(
        f'The claim of instance {instance_uuid} is not given back.', answer)
