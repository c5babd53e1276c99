"""Placement, of which a shadow reads all and changes nothing."""

import contextlib
import dataclasses
import json
import zlib

from nova_sched import exception
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
        self._candidates = Candidates()

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
        return self._server.spoken()

    def ask(self, method, path, *args, **kwargs):
        """As of placement.connection.Connection.

        Raises ShadowWrites instead of changing anything.
        """
        if method != 'GET':
            raise ShadowWrites(f'{method} {path} is not for a shadow')
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

    def _read(self, path, read):
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


class Candidates:
    """Placement's answers to one request for candidates, in little space."""

    def __init__(self):
        self._packed = []

    def add(self, answer):
        """Keep one more answer: placement.answers.Answer."""
        if answer.status == _FOUND:
            self._packed.append(zlib.compress(answer.text.encode(), 1))

    def used(self):
        """How much of each provider was taken: uuid -> class -> amount.

        Without the answers that are none of Placement's.
        """
        found = {}
        for packed in self._packed:
            with contextlib.suppress(ValueError, KeyError, TypeError,
                                     AttributeError):
                found |= _used(json.loads(zlib.decompress(packed)))
        return found


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


def _taken(instance_uuid, request, spec_obj):
    return True


def _nothing(instance_uuid):
    """There is nothing to give back."""
