"""The client of Placement: what it offers a request, and claiming it."""

from urllib import parse

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.hosts import offer
from nova_sched.placement import answers
from nova_sched.placement import microversions
from nova_sched.placement.adapter import Connection
from nova_sched.placement.adapter import Unreachable
from nova_sched.placement.candidates import Candidates
from nova_sched.placement.claims import Asker
from nova_sched.placement.claims import Claims
from nova_sched.placement.nova_methods import NovaMethods

LOG = logging.getLogger(__name__)

#: Characters of a query that a log line shows.
_MOST = 1000


class SchedulerReportClient(NovaMethods):
    """Asks the Placement that [placement] leads to.

    conf: ConfigOpts. Nothing is opened before the first request, and each
    process opens its own; safe for any number of threads.
    server: another way there, as placement.connection.Connection.

    A Placement that gives no answer, or none that can be used, is no
    exception: nothing is offered then, for a reason that is logged.
    """

    #: Whether offers have what Placement says of providers, which a driver
    #: that does not look at it should not have to keep in memory.
    keeps_summaries = False

    def __init__(self, conf, server=None):
        self._server = server or Connection(conf)

    def version(self):
        """The newest of microversions.FORMS that Placement speaks: text.

        None without an answer, which is logged, or when it is too old.
        """
        try:
            return self._server.spoken().best()
        except Unreachable:
            return None
        except answers.Refused as exc:
            error = exc
        LOG.warning('%s', error)
        return None

    def candidates(self, queries, context):
        """What Placement offers a request: an Offer or a NothingFound.

        queries: one or two objects with ``minimum_version()``, one of
            microversions.FORMS, and ``query(version)``, a query string. What
            the second finds comes behind what the first finds.
        context: of the request; its ids and its user are used, but the token
            is that of the service.
        """
        asker = Asker.of(context)
        kept = Candidates.in_full if self.keeps_summaries else Candidates
        try:
            found, version = self._found(queries, asker, kept)
        except Unreachable as exc:
            return offer.NothingFound(str(exc))
        except exception.PlacementError as exc:
            error = exc
        else:
            return self._offer(found, version, asker)
        LOG.error('%s', error)
        return offer.NothingFound(str(error))

    def _offer(self, found, version, asker):
        """An Offer of Candidates, or NOTHING_FOUND for none."""
        if not found.by_provider:
            return offer.NOTHING_FOUND
        claims = Claims(self._server, version, asker)
        return offer.Offer(found.by_provider, frozenset(found.providers),
                           version, claims.claim, claims.release,
                           found.summaries)

    def _found(self, queries, asker, kept, again=True):
        """What Placement answers to queries: Candidates, and the microversion
        to claim them in.

        queries: as of ``candidates``.  kept: makes empty Candidates.
        Raises PlacementError.
        """
        spoken, found, refused = self._server.spoken(), kept(), None
        version = spoken.fitting(max(
            (query.minimum_version() for query in queries),
            key=microversions.FORMS.index))
        for query in queries:
            text = query.query(version)
            answer = self._server.ask(
                'GET', f'/allocation_candidates?{text}', version,
                asker.request_id)
            if answer.status == 406 and again:
                # Another one runs there since it was asked what it speaks.
                return self._found(queries, asker, kept, again=False)
            try:
                _add(found, text, answer)
            except answers.Refused as exc:
                if len(queries) == 1:
                    raise
                # A Placement of before Train knows no dedicated CPUs, but
                # what is asked for in their place.
                refused = exc
        if refused is not None:
            LOG.warning('%s', refused)
            if not found.by_provider:
                raise refused
        if microversions.at_least(version, microversions.CLAIMS):
            version = microversions.CLAIMS
        return found, version

    def forget(self, instance_uuid):
        """Have an instance hold nothing at all.

        Raises PlacementError.
        """
        answer = self._server.ask('DELETE', f'/allocations/{instance_uuid}')
        if answer.status not in (204, 404):
            raise answers.Refused(
                f'The allocations of instance {instance_uuid} are not given '
                f'back.', answer)

    def aggregates_of(self, provider_uuid, context):
        """The aggregates of a resource provider: list of uuids.

        None when Placement cannot be reached, which is logged.
        Raises ResourceProviderAggregateRetrievalFailed when it refuses, for
        example for a provider that it does not know.
        """
        try:
            answer = self._server.ask(
                'GET', f'/resource_providers/{provider_uuid}/aggregates',
                microversions.AGGREGATES, Asker.of(context).request_id)
        except Unreachable:
            return None
        problem = None
        try:
            if answer.status == 200:
                return list(answer.document()['aggregates'])
        except (ValueError, KeyError, TypeError):
            problem = 'it lists no aggregates'
        LOG.error('%s', answers.Refused(
            f'[{answer.request_id}] Failed to retrieve aggregates from '
            f'placement API for resource provider with UUID {provider_uuid}.',
            answer, problem))
        raise exception.ResourceProviderAggregateRetrievalFailed(
            uuid=provider_uuid)


def _add(found, text, answer):
    """Add an answer to Candidates, or raise Refused."""
    problem = None
    try:
        if answer.status == 200:
            found.add(answer.document())
            return
    except ValueError as exc:
        problem = exc
    raise answers.Refused(
        f'Failed to retrieve allocation candidates from placement API for '
        f'filters: {parse.unquote(text)[:_MOST]}.', answer, problem)
