"""Placement, of which a shadow reads all and changes nothing."""

import contextlib
import dataclasses
import json
import zlib

from nova_sched import exception
from nova_sched import links
from nova_sched.hosts import offer
from nova_sched.placement import allocations
from nova_sched.placement import answers
from nova_sched.placement import connection
from nova_sched.scheduler.client import report

_CANDIDATES = '/allocation_candidates'
_FOUND = 200

#: Of the allocations of consumers and providers; any that Nova uses.
_VERSION = '1.17'


class ReadOnly:
    """A way to Placement that lets nothing but GET through.

    conf: ConfigOpts.
    """

    def __init__(self, conf):
        self._server = connection.Connection(conf)
        self._candidates, self._stopped = Candidates(), False

    def stop(self):
        """Have nothing more asked: whoever still does is refused at once."""
        self._stopped = True

    def collect(self):
        """Candidates that holds the answers to all queries from now on."""
        self._candidates = Candidates()
        return self._candidates

    @property
    def timeout(self):
        """As of placement.connection.Connection."""
        return self._server.timeout

    def spoken(self):
        """As of placement.connection.Connection."""
        with self._deciding():
            return self._server.spoken()

    def ask(self, method, path, *args, **kwargs):
        """As of placement.connection.Connection.

        Raises ShadowWrites instead of changing anything.
        """
        if method != 'GET':
            raise ShadowWrites(f'{method} {path} is not for a shadow')
        with self._deciding():
            answer = self._server.ask(method, path, *args, **kwargs)
        if path.startswith(_CANDIDATES):
            self._candidates.add(answer)
        return answer

    def held(self, consumer):
        """What a consumer holds: provider uuid -> resource class -> amount.

        Raises PlacementError.
        """
        return self._read(
            f'/allocations/{consumer}',
            lambda found: allocations.Held.of(found).allocations)

    def holders(self, provider):
        """Who holds what of a provider: consumer -> class -> amount.

        Raises PlacementError.
        """
        return self._read(
            f'/resource_providers/{provider}/allocations',
            lambda found: {
                consumer: dict(said['resources']) for consumer, said
                in found['allocations'].items()})

    def root(self, provider):
        """The uuid of the provider that one is a part of, or its own.

        Raises PlacementError.
        """
        return self._read(f'/resource_providers/{provider}',
                          lambda found: found['root_provider_uuid'])

    @contextlib.contextmanager
    def _deciding(self):
        """A context in which silence is noted, of a request's decision."""
        try:
            self._check()
            yield
        except connection.Unreachable:
            self._candidates.silent = True
            raise

    def _check(self):
        if self._stopped:
            raise Stopped

    def _read(self, path, read):
        self._check()
        answer, problem = self._server.ask('GET', path, _VERSION), None
        try:
            if answer.status == _FOUND:
                return read(answer.document())
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = 'it tells something else'
        raise answers.Refused(f'Placement does not tell of {path}.', answer,
                              problem)


class ShadowWrites(exception.NovaSchedException):
    """A shadow was about to change something: a fault of the program."""


class Stopped(connection.Unreachable):
    """Placement is asked no more, for the shadow is about to end."""

    def __init__(self):
        exception.PlacementError.__init__(
            self, 'The shadow is about to end, and asks Placement no more.')
        self.why = links.Why.SILENT


class Candidates:
    """Placement's answers to one request for candidates, in little space.

    True if there is any.  silent: whether it gave none to a question.
    """

    def __init__(self):
        self._packed, self.silent = [], False

    def __bool__(self):
        return bool(self._packed)

    def add(self, answer):
        """Keep one more answer: placement.answers.Answer."""
        if answer.status == _FOUND:
            self._packed.append(zlib.compress(answer.text.encode(), 1))

    def most(self):
        """The number of candidates of the answer that has most."""
        return max((number for _, number in self._read()), default=0)

    def used(self):
        """How much of each provider was taken: uuid -> class -> amount.

        Without the answers that are none of Placement's.
        """
        found = {}
        for used, _ in self._read():
            found |= used
        return found

    def _read(self):
        """Yields (what was used, number of candidates) of each answer."""
        for packed in self._packed:
            with contextlib.suppress(ValueError, KeyError, TypeError,
                                     AttributeError):
                said = json.loads(zlib.decompress(packed))
                yield _used(said), len(said['allocation_requests'])


def _used(document):
    return {uuid: {name: amounts['used'] for name, amounts
                   in said['resources'].items()}
            for uuid, said in document['provider_summaries'].items()}


class Client(report.SchedulerReportClient):
    """Asks Placement for candidates, and claims none of them.

    What is offered can be had: the first claim of each succeeds, and nothing
    is sent.
    """

    def candidates(self, queries, context):
        """As of SchedulerReportClient."""
        found = super().candidates(queries, context)
        if isinstance(found, offer.NothingFound):
            return found
        return dataclasses.replace(found, claim=_taken, release=_nothing)

    def claim_resources(self, *args, **kwargs):
        """True: as of a plug-in's claim that succeeds."""
        return True

    def delete_allocation_for_instance(self, *args, **kwargs):
        """True: as of a claim that a plug-in gives back."""
        return True


def _taken(instance_uuid, request, spec_obj):
    return True


def _nothing(instance_uuid):
    """There is nothing to give back."""
