"""The RPC calls that return past decisions.

They are in a namespace of this service, which no caller of Nova uses.  Only
administrators get an answer, since decisions show hosts and other projects.
As everywhere on Nova's bus, the request context says who is an administrator.
"""

import oslo_messaging as messaging

from nova_sched import exception
from nova_sched.hosts.decision import OUTCOMES
from nova_sched.observe import decision_store

NAMESPACE, VERSION = 'nova_sched', '1.0'

#: Most decisions in one list.
MOST = 1000
#: Seconds since the epoch until the year 9999.
_LAST = 253_402_300_800


class DecisionEndpoint:
    """RPC endpoint that returns the decisions of a service.

    recorder: recorder.Recorder of this process.
    """

    target = messaging.Target(namespace=NAMESPACE, version=VERSION)
    CALLS = frozenset(('list_decisions', 'show_decision'))

    def __init__(self, recorder):
        self._recorder = recorder

    @messaging.expected_exceptions(exception.Forbidden, exception.InvalidInput,
                                   exception.DatabaseUnavailable)
    def list_decisions(self, ctxt, limit, outcome=None, host=None,
                       since=None, code=None, kind=None):
        """Return the newest decisions, the newest first: list of dicts.

        The arguments are the arguments of ``DecisionStore.summaries``, the
        keys the fields of ``decision_store.Summary``.
        Raises Forbidden, InvalidInput and DatabaseUnavailable.
        """
        _check_admin(ctxt)
        for name, value, kinds in (
                ('limit', limit, int), ('host', host, str | None),
                ('code', code, str | None), ('kind', kind, str | None),
                ('since', since, int | float | None)):
            _check(name, value, kinds)
        if outcome not in (None, *OUTCOMES):
            raise exception.InvalidInput(
                reason=f'outcome = {outcome!r:.80}: must be one of '
                       f'{", ".join(OUTCOMES)}')
        if since is not None and not abs(since) < _LAST:
            raise exception.InvalidInput(
                reason=f'since = {since!r:.80}: must be seconds since the '
                       'epoch')
        with self._recorder.reading() as store:
            return [summary._asdict() for summary
                    in store.summaries(max(0, min(limit, MOST)), outcome,
                                       host, since, code, kind)]

    @messaging.expected_exceptions(exception.Forbidden, exception.InvalidInput,
                                   exception.DatabaseUnavailable)
    def show_decision(self, ctxt, key, every=False):
        """Return the newest decision by a key, and the numbers of the others.

        key: a number, the id of a request or the uuid of an instance: text.
        every: whether to name all rejected hosts.
        Returns a dict, see ``decision_document``, with ``others``, a list.
        Raises Forbidden, DatabaseUnavailable, and InvalidInput without a
        decision.
        """
        _check_admin(ctxt)
        _check('key', key, str)
        with self._recorder.reading() as store:
            return decision_store.newest(store, key, bool(every))


def _check_admin(ctxt):
    if not ctxt.is_admin:
        raise exception.Forbidden(
            reason='only administrators may read past decisions')


def _check(name, value, kinds):
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise exception.InvalidInput(
            reason=f'{name} = {value!r:.80}: must be of the type '
                   f'{getattr(kinds, "__name__", kinds)}')
