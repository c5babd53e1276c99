"""Claiming what Placement offered one request, and giving it back."""

import dataclasses
import random
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement import answers
from nova_sched.placement import versions

LOG = logging.getLogger(__name__)

#: How often a claim is tried while others change the same providers.
ATTEMPTS = 4
#: Seconds that Placement has for an answer where it has just given none, and
#: to take something back: both take it milliseconds.
SHORT = 10
#: After so many requests in a row without an answer no more are sent.
GIVE_UP = 3

#: In place of a user or project that nobody named: as Placement's own
#: defaults for consumers that were made without.
NOBODY = '00000000-0000-0000-0000-000000000000'

_GIVEN_UP = (f'Placement has failed {GIVE_UP} times in a row and is not asked '
             'again for this request')

FOUND, TAKEN, NOT_THERE, CONFLICT = 200, 204, 404, 409


class GivenUp(exception.PlacementError):
    """Placement is not asked any more for one request."""


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


@dataclasses.dataclass(frozen=True)
class Held:
    """What a consumer holds.

    allocations: provider uuid -> resource class -> amount.  generation: of
    the consumer, None for a new one and below microversion 1.28.  project_id,
    user_id: of the consumer, None without one.
    """

    allocations: dict
    generation: int | None = None
    project_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, document):
        """Read from Placement's answer; ValueError if it is something else."""
        try:
            return cls({provider: dict(held['resources']) for provider, held
                        in document['allocations'].items()},
                       *map(document.get, ('consumer_generation',
                                           'project_id', 'user_id')))
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError('it lists no allocations') from exc

    def joined(self, wanted, adding):
        """These allocations and wanted ones, in one dict of that form.

        An instance that moves holds its source and its destination. Where
        only providers are wanted that it holds already, what is there stays;
        adding: or both are added up, as releases up to Rocky do.
        """
        both = {provider: dict(resources)
                for provider, resources in self.allocations.items()}
        adding = adding and wanted.keys() <= both.keys()
        for provider, resources in wanted.items():
            if provider not in both:
                both[provider] = dict(resources)
            elif adding:
                for name, amount in resources.items():
                    both[provider][name] = (
                        both[provider].get(name, 0) + amount)
        return both


class Claims:
    """Claims for the instances of one request; of one thread.

    server: placement.connection.Connection.  version: microversion of the
    candidates.  asker: Asker.  sleep, uniform: as in time and random.

    The time for all of them is bounded: a Placement that gives no answer
    three times in a row is not asked any more.
    """

    def __init__(self, server, version, asker, sleep=time.sleep,
                 uniform=random.uniform):
        self._version, self._asker = version, asker
        self._sleep, self._uniform = sleep, uniform
        self._claiming = _Patience(server, asker)
        self._returning = _Patience(server, asker, hurried=True)
        # What instances held before claims that were, or may be, taken; and
        # hold still, as a claim of theirs was refused.
        self._before, self._unchanged = {}, {}

    def claim(self, instance_uuid, request, spec_obj):
        """Have an instance hold an allocation request: whether it does.

        It keeps what it holds already. Why it does not is logged.
        Raises AllocationUpdateFailed when something else claims for it.
        """
        LOG.debug('Attempting to claim resources in the placement API for '
                  'instance %s', instance_uuid)
        if instance_uuid in self._before and not self._undone(instance_uuid):
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

        Nothing happens without a claim that was, or may have been, taken.
        Raises PlacementError when it cannot be done.
        """
        if instance_uuid not in self._before:
            return
        before = self._before[instance_uuid]
        if before.allocations:
            self._restore(instance_uuid, before)
        else:
            self._delete(instance_uuid)
        del self._before[instance_uuid]

    def _try(self, instance_uuid, request, spec_obj):
        """Whether a claim was taken; None where another one was quicker."""
        known = self._unchanged.pop(instance_uuid, None)
        try:
            held = known or self._held(instance_uuid, self._claiming)
            # First: it may be taken though no answer comes.
            self._before[instance_uuid] = held
            answer = self._put(instance_uuid, self._claiming, self._body(
                held, request, spec_obj))
        except exception.PlacementError:
            # Which is logged where it is raised.
            self._undone(instance_uuid)
            return False
        if answer.status == TAKEN:
            return True
        if known and _is_of_the_consumer(answer):
            # It has changed since, so it is to be looked at again.
            del self._before[instance_uuid]
            return self._try(instance_uuid, request, spec_obj)
        LOG.warning('Failed to save allocation for %s. Got HTTP %s: %s. %s',
                    instance_uuid, answer.status, answer.words, answer.advice)
        if not 400 <= answer.status < 500:
            # Of somebody in between, perhaps, who has passed it on.
            self._undone(instance_uuid)
            return False
        self._unchanged[instance_uuid] = self._before.pop(instance_uuid)
        return _refusal(instance_uuid, answer)

    def _body(self, held, request, spec_obj):
        """What is put to claim a candidate."""
        body = {
            'allocations': request['allocations'],
            'project_id': spec_obj.project_id or NOBODY,
            'user_id': spec_obj.user_id or self._asker.user_id or NOBODY}
        if request.get('mappings') and self._speaks(versions.MAPPINGS):
            body['mappings'] = request['mappings']
        if held.allocations:
            LOG.debug('Doubling-up allocation_request for move operation. '
                      'Current allocations: %s', held.allocations)
            body['allocations'] = _in_full(held.joined(
                _amounts(request['allocations']),
                adding=not self._speaks(versions.STEIN)))
            # Of a mixture nobody can say what serves which group.
            body.pop('mappings', None)
            LOG.debug('New allocation_request containing both source and '
                      'destination hosts in move operation: %s', body)
        return body | self._generation(held)

    def _generation(self, held):
        """What tells Placement which state of a consumer is meant: dict."""
        return ({'consumer_generation': held.generation}
                if self._speaks(versions.GENERATIONS) else {})

    def _speaks(self, version):
        return versions.at_least(self._version, version)

    def _held(self, instance_uuid, patience):
        """What an instance holds: Held; a PlacementError if unknown."""
        answer = patience.ask(
            'GET', f'/allocations/{instance_uuid}',
            versions.GENERATIONS if self._speaks(versions.GENERATIONS)
            else self._version)
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
        """Undo a claim of which nobody knows whether it was taken.

        Whether there is none any more.
        """
        try:
            self.release(instance_uuid)
            return True
        except exception.PlacementError as exc:
            error = exc
        LOG.error('It is not known whether Placement has taken a claim for '
                  'instance %(uuid)s, and taking it back failed: %(error)s. '
                  'If the instance is not built, give back what it holds by '
                  '"openstack resource provider allocation delete %(uuid)s"',
                  {'uuid': instance_uuid, 'error': error})
        return False

    def _delete(self, instance_uuid):
        answer = self._returning.ask('DELETE', f'/allocations/{instance_uuid}')
        if answer.status == TAKEN:
            LOG.info('Deleted allocations for instance %s', instance_uuid)
        elif answer.status != NOT_THERE:
            raise _not_returned(instance_uuid, answer)

    def _restore(self, instance_uuid, before):
        """Put back what a claim came on top of."""
        held = self._held(instance_uuid, self._returning)
        if held.allocations == before.allocations:
            return
        answer = self._put(instance_uuid, self._returning, {
            'allocations': _in_full(before.allocations),
            'project_id': before.project_id or NOBODY,
            'user_id': before.user_id or NOBODY,
            **self._generation(held)})
        if answer.status != TAKEN:
            raise _not_returned(instance_uuid, answer)
        LOG.info('Restored the allocations that instance %s held before',
                 instance_uuid)


class _Patience:
    """Asks on behalf of one request, but not for ever.

    hurried: whether Placement has little time from the start.
    """

    def __init__(self, server, asker, hurried=False):
        self._server, self._request_id = server, asker.request_id
        self._hurried, self._unanswered = hurried, 0

    def ask(self, method, path, version=None, **kwargs):
        """As Connection.ask; raises GivenUp after too much silence."""
        if self._unanswered >= GIVE_UP:
            raise GivenUp(_GIVEN_UP)
        hurried = self._hurried or self._unanswered
        self._unanswered += 1
        try:
            answer = self._server.ask(
                method, path, version, request_id=self._request_id,
                patience=SHORT if hurried else None, **kwargs)
            if answer.status < 500:
                self._unanswered = 0
            return answer
        finally:
            if self._unanswered == GIVE_UP:
                LOG.error(_GIVEN_UP)


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


def _not_returned(instance_uuid, answer):
    """A PlacementError; the warning is for who looks for Nova's."""
    LOG.warning('Unable to delete allocation for instance %(uuid)s: '
                '(%(code)i %(text)s)', {
                    'uuid': instance_uuid, 'code': answer.status,
                    'text': answer.words})
    return answers.Refused(
        f'The claim of instance {instance_uuid} is not given back.', answer)


def _amounts(allocations):
    """Without what is not said of resources: provider -> class -> amount."""
    return {provider: wanted['resources']
            for provider, wanted in allocations.items()}


def _in_full(amounts):
    """As Placement wants them, the other way round."""
    return {provider: {'resources': resources}
            for provider, resources in amounts.items()}
