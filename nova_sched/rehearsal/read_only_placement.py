"""Placement, of which a rehearsal reads everything and changes nothing."""

import contextlib
import dataclasses
import json
import zlib

from nova_sched import exception
from nova_sched import service_adapter
from nova_sched.placement import adapter
from nova_sched.placement import documents
from nova_sched.scheduler.client import report

_CANDIDATES = '/allocation_candidates'
_FOUND, _WRONG_QUERY = 200, 400

#: Microversion of the requests for allocations; any that Nova uses will do.
_VERSION = '1.17'


class ReadOnlyPlacement:
    """A connection to Placement that sends GET requests only.

    conf: ConfigOpts.
    """

    def __init__(self, conf):
        self._adapter = adapter.PlacementAdapter(conf)
        self._candidates, self._stopped = None, False

    def stop(self):
        """Fail every further request at once with Stopping."""
        self._stopped = True

    def collect_candidates(self):
        """Return the CandidateResponses that all later answers are added to.

        Without, they are added to none.
        """
        self._candidates = CandidateResponses()
        return self._candidates

    @property
    def timeout(self):
        """As of PlacementAdapter."""
        return self._adapter.timeout

    @property
    def identity(self):
        """As of PlacementAdapter."""
        return self._adapter.identity

    def microversions(self):
        """As of PlacementAdapter."""
        with self._noting_silence():
            return self._adapter.microversions()

    def request(self, method, path, *args, **kwargs):
        """As of PlacementAdapter.

        Raises WriteAttempted for any method but GET.
        """
        if method != 'GET':
            raise WriteAttempted(f'{method} {path} is not for a rehearsal')
        with self._noting_silence():
            response = self._adapter.request(method, path, *args, **kwargs)
        if self._candidates is not None and path.startswith(_CANDIDATES):
            self._candidates.add(response)
        return response

    def consumer_allocations(self, consumer):
        """Return what a consumer holds: provider uuid -> class -> amount.

        Raises PlacementError.
        """
        return self._read(
            f'/allocations/{consumer}',
            lambda document: documents.ConsumerAllocations.of(
                document).allocations)

    def provider_allocations(self, provider):
        """Return who holds what of a provider: consumer -> class -> amount.

        Raises PlacementError.
        """
        return self._read(
            f'/resource_providers/{provider}/allocations',
            lambda document: {
                consumer: dict(allocation['resources'])
                for consumer, allocation
                in document['allocations'].items()})

    def root_provider(self, provider):
        """Return the uuid of the root of a provider's tree.

        Raises PlacementError.
        """
        return self._read(f'/resource_providers/{provider}',
                          lambda document: document['root_provider_uuid'])

    @contextlib.contextmanager
    def _noting_silence(self):
        """Note in the present CandidateResponses if there is no answer."""
        try:
            self._check_running()
            yield
        except adapter.PlacementUnreachable:
            if self._candidates is not None:
                self._candidates.unanswered = True
            raise

    def _check_running(self):
        if self._stopped:
            raise Stopping

    def _read(self, path, read):
        """Return what ``read`` makes of the JSON document at a path."""
        self._check_running()
        response = self._adapter.request('GET', path, _VERSION)
        problem = None
        try:
            if response.status == _FOUND:
                return read(response.document())
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = 'it tells something else'
        raise adapter.RequestFailed(
            f'Placement does not tell of {path}.', response, problem)


class WriteAttempted(exception.NovaSchedException):
    """A request that would change something: a program error."""


class Stopping(adapter.PlacementUnreachable):
    """A request to Placement after ``ReadOnlyPlacement.stop``."""

    def __init__(self):
        exception.PlacementError.__init__(
            self, 'The process is about to end, and asks Placement no more.')
        self.reason = service_adapter.FailureReason.NO_ANSWER


class CandidateResponses:
    """Placement's allocation candidates for one request, compressed.

    True if there is any.
    unanswered: whether a request to Placement got no answer.
    """

    def __init__(self):
        self._packed, self.unanswered = [], False

    def __bool__(self):
        return bool(self._packed)

    def add(self, response):
        """Add a placement.adapter.Response if it has candidates."""
        if response.status == _FOUND:
            self._packed.append(zlib.compress(response.text.encode(), 1))

    def max_count(self):
        """Return the largest number of candidates in one answer."""
        return max((count for _, count in self._parsed()), default=0)

    def usages(self):
        """Return what was in use of each provider: uuid -> class -> amount.

        Answers that do not have Placement's form are left out.
        """
        usages = {}
        for usage, _ in self._parsed():
            usages |= usage
        return usages

    def _parsed(self):
        """Yield (usages, number of candidates) of each answer."""
        for packed in self._packed:
            with contextlib.suppress(ValueError, KeyError, TypeError,
                                     AttributeError):
                document = json.loads(zlib.decompress(packed))
                yield _usages(document), len(document['allocation_requests'])


def _usages(document):
    return {uuid: {name: amounts['used'] for name, amounts
                   in summary['resources'].items()}
            for uuid, summary in document['provider_summaries'].items()}


class ReadOnlyReportClient(report.SchedulerReportClient):
    """A Placement client that fetches candidates and claims none of them.

    A claim succeeds as far as there is room, and none is sent.  Placement
    lists all candidates.

    conf: ConfigOpts.  placement: ReadOnlyPlacement.
    """

    def copied_candidates(self, queries):
        """Return None: Placement is to be asked."""

    def _listed(self, found, version):
        """As of SchedulerReportClient."""
        return dataclasses.replace(super()._listed(found, version),
                                   summaries=found.summaries)

    def claims(self, candidates, context):
        """Return claims that are not sent."""
        return _Room(candidates.summaries)

    def claim_resources(self, *args, **kwargs):
        """Return True, as for a plug-in's claim that succeeds."""
        return True

    def delete_allocation_for_instance(self, *args, **kwargs):
        """Return True, as for a plug-in's release that succeeds."""
        return True

    def forget(self, instance_uuid):
        """Do nothing: nothing was claimed."""


class StrictReportClient(ReadOnlyReportClient):
    """A client to which a Placement that cannot be asked is an error.

    A query that Placement does not accept has no candidates.
    """

    def without_answer(self, error):
        """Return NoCandidates for a wrong query; else raise the error."""
        if getattr(error, 'status', None) != _WRONG_QUERY:
            raise error
        return super().without_answer(error)


class _Room:
    """What Placement has room for, less what one request would claim.

    summaries: provider uuid -> summary, as Placement writes them.  Of what
    they do not tell there is enough.
    """

    #: Each claim is made by itself, as of AllocationClaims.
    knows_new, writes = False, ()

    def __init__(self, summaries):
        self._free, self._held = {}, {}
        for uuid, summary in summaries.items():
            with contextlib.suppress(KeyError, TypeError, AttributeError):
                for name, amount in summary['resources'].items():
                    self._free[uuid, name] = (
                        amount['capacity'] - amount['used'])

    def claim(self, instance_uuid, request, spec_obj):
        """Return whether there is room for an allocation request."""
        wanted = {
            (uuid, name): amount for uuid, resources
            in documents.amounts(request['allocations']).items()
            for name, amount in resources.items() if (uuid, name)
            in self._free}
        if any(amount > self._free[key] for key, amount in wanted.items()):
            return False
        self._held[instance_uuid] = wanted
        for key, amount in wanted.items():
            self._free[key] -= amount
        return True

    def release(self, instance_uuid):
        """Make room again of what an instance would hold."""
        for key, amount in self._held.pop(instance_uuid, {}).items():
            self._free[key] += amount

    def release_all(self, instance_uuids):
        """Return that each is to be released by itself."""
        return ()
