"""What callers may ask about past decisions, over RPC.

In a namespace of this service's own, so that no caller of Nova's meets it.
Answers are for administrators: they tell of hosts and of other projects.  That
a caller is one is what its context says, as everywhere on Nova's bus.
"""

import dataclasses

import oslo_messaging as messaging

from nova_sched import exception
from nova_sched.hosts.decision import OUTCOMES
from nova_sched.observe import decision_store

NAMESPACE, VERSION = 'nova_sched', '1.0'

#: Decisions in one list, at most.
MOST = 1000
#: Seconds since the epoch until the year 9999.
_LAST = 253_402_300_800


class DecisionEndpoint:
    """RPC endpoint of what a service has decided.

    recorder: recorder.Recorder of the process that answers.
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

        Arguments are those of ``DecisionStore.summaries``; keys those of
        ``decision_store.Summary``.
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
            return [dataclasses.asdict(summary) for summary
                    in store.summaries(max(0, min(limit, MOST)), outcome,
                                       host, since, code, kind)]

    @messaging.expected_exceptions(exception.Forbidden, exception.InvalidInput,
                                   exception.DatabaseUnavailable)
    def show_decision(self, ctxt, key, every=False):
        """Return the newest decision by a key, and the numbers of the others.

        key: a number, the id of a request or the uuid of an instance: text.
        every: whether to name all rejected hosts.
        Returns a dict, see ``decision_document``, with ``others``, a list.
        Raises Forbidden, DatabaseUnavailable, and InvalidInput if there
        is none.
        """
        _check_admin(ctxt)
        _check('key', key, str)
        with self._recorder.reading() as store:
            return decision_store.newest(store, key, bool(every))


def _check_admin(ctxt):
    if not ctxt.is_admin:
        raise exception.Forbidden(
            reason='past decisions are told to administrators alone')


def _check(name, value, kinds):
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise exception.InvalidInput(
            reason=f'{name} = {value!r:.80}: must be of the type '
                   f'{getattr(kinds, "__name__", kinds)}')
