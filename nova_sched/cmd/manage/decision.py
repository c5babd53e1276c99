"""``decision``: what the scheduler has decided, and why."""

import time

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.cmd.manage import asking
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import html_page
from nova_sched.cmd.manage import plan_reasons
from nova_sched.compat import drivers
from nova_sched.explain import explanation
from nova_sched.explain import offer
from nova_sched.hosts import decision
from nova_sched.observe import decision_document
from nova_sched.observe import decision_endpoint
from nova_sched.observe import decision_store
from nova_sched.observe import recorder
from nova_sched.options import nearest
from nova_sched.page import facts
from nova_sched.plugins import loading as plugins
from nova_sched.printable import printable
from nova_sched.rules import codes
from nova_sched.scheduler import host_manager
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler.filter_scheduler import FilterScheduler

#: Instances, steps and hosts that people read of each.
SHOWN = 10
#: Decisions in one list.
MOST = 1_000_000

#: Of what ``explain`` writes as JSON: explain.schema.json.
VERSION = '1.3'


def _add_service_arguments(parser):
    parser.add_argument(
        '--service', metavar='HOST',
        help='Ask the scheduler of this host, its [DEFAULT] host, over RPC '
             'instead of reading the file of this machine.')
    parser.add_argument('--timeout', type=int, default=10, metavar='SECONDS',
                        help='How long to wait for its answer.')


def _asked(conf, parsed_args, method, **arguments):
    """Return what the scheduler of --service answers."""
    target = messaging.Target(
        topic=conf.scheduler_topic, server=parsed_args.service,
        namespace=decision_endpoint.NAMESPACE,
        version=decision_endpoint.VERSION)
    admin = context.RequestContext(is_admin=True).to_dict()
    return asking.answer(
        conf, parsed_args.timeout,
        lambda transport: messaging.get_rpc_client(
            transport, target, timeout=parsed_args.timeout).call(
                admin, method, **arguments))


class List(forms.Lister):
    """List decisions, the newest first.

    Those of all schedulers that keep them in the state_path of this machine,
    or with --service those that one scheduler tells of.
    """

    empty = 'No decision is kept, or none of these.'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--limit', type=int, default=20, metavar='N',
                            help='How many at most (default: 20).')
        outcome = parser.add_mutually_exclusive_group()
        for name, words in (
                (decision.PLACED, 'found hosts'),
                (decision.REFUSED, 'found none, or were wrong'),
                (decision.FAILED, 'ended in an error')):
            outcome.add_argument(
                f'--{name}', dest='outcome', action='store_const', const=name,
                help=f'Requests that {words}.')
        parser.add_argument('--code', metavar='CODE',
                            help='Requests refused by this code, as ram.')
        parser.add_argument('--kind', choices=codes.KINDS,
                            help='Requests refused in this way.')
        parser.add_argument('--host', metavar='NAME',
                            help='Requests with an instance on this host.')
        parser.add_argument('--minutes', type=float, metavar='N',
                            help='Requests of the last N minutes.')
        _add_service_arguments(parser)
        return parser

    def take_action(self, parsed_args):
        wanted = {
            'outcome': parsed_args.outcome, 'host': parsed_args.host,
            'code': parsed_args.code, 'kind': parsed_args.kind,
            'since': (None if parsed_args.minutes is None
                      else time.time() - 60 * parsed_args.minutes)}
        rows = [_row(summary) for summary
                in self._summaries(parsed_args, wanted)]
        if not rows:
            _check_code(parsed_args.code)
        return (('Number', 'Time', 'Request', 'Service', 'Outcome',
                 'Instances', 'Hosts', 'Code', 'Kind', 'Reason'), rows)

    def _summaries(self, parsed_args, wanted):
        conf, limit = self.app.conf, max(0, min(parsed_args.limit, MOST))
        if parsed_args.service is not None:
            # A service of another release may know less, or tell more.
            given = {name: value for name, value in wanted.items()
                     if value is not None}
            return [decision_store.Summary.of(found) for found in _asked(
                conf, parsed_args, 'list_decisions', limit=limit, **given)]
        with decision_store.opened(conf) as store:
            return store.summaries(limit, **wanted)


def _check_code(code):
    """Raise InvalidInput for a code that is probably another one.

    Plug-ins may have any.
    """
    near = code and code not in codes.CATALOGUE and nearest.nearest(
        code, codes.CATALOGUE)
    if near:
        raise exception.InvalidInput(
            reason=f'--code {code}: there is no such code; did you mean '
                   f'{near}?')


def _row(summary):
    hosts, reason = list(summary.hosts), summary.reason or ''
    more = (summary.instances - len(hosts)
            if summary.outcome == decision.PLACED else 0)
    return (summary.number, decision_document.iso(summary.arrived),
            summary.request_id, summary.service, summary.outcome,
            summary.instances,
            forms.Shown(hosts, _and_more(hosts, more)), summary.code,
            summary.kind,
            forms.Shown(summary.reason, reason if len(reason) <= 80
                        else f'{reason[:77]}...'))


def _and_more(texts, more):
    return ', '.join(texts) + (f' and {more} more' if more > 0 else '')


class Show(forms.ShowOne):
    """Show all that is kept of one decision.

    By its number, the id of a request or the uuid of an instance; of several
    the newest.  -f json gives the request, too.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('decision', metavar='NUMBER|REQUEST_ID|INSTANCE')
        parser.add_argument('--rejected', action='store_true',
                            help='Name all hosts that were rejected, not '
                                 f'{decision_document.NAMED} of each rule.')
        html_page.add_argument(parser)
        _add_service_arguments(parser)
        return parser

    def take_action(self, parsed_args):
        every = parsed_args.rejected or parsed_args.html is not None
        found = self._document(parsed_args, every)
        if parsed_args.html is not None:
            html_page.write(parsed_args.html, found)
        names = [*found]
        if not forms.for_programs(parsed_args):
            names = [name for name in _FIELDS
                     if found.get(name) not in (None, [])]
            if not parsed_args.rejected:
                _cut(found['rejected'])
        return tuple(names), tuple(
            _FORMS[name](found[name]) if name in _FORMS else found[name]
            for name in names)

    def _document(self, parsed_args, every):
        conf = self.app.conf
        if parsed_args.service is not None:
            return _asked(conf, parsed_args, 'show_decision',
                          key=parsed_args.decision,
                          every=every)
        try:
            return _newest(conf, parsed_args.decision, every)
        except exception.InvalidInput:
            # Perhaps it was made a moment ago.
            time.sleep(2 * recorder.INTERVAL)
            return _newest(conf, parsed_args.decision, every)


def _newest(conf, key, every):
    with decision_store.opened(conf) as store:
        return decision_store.newest(store, key, every)


def _cut(rejected):
    """Leave the first hosts of each rule."""
    for each in rejected:
        del each['named'][decision_document.NAMED:]


class Explain(forms.ShowOne):
    """Tell why a decision came out as it did, on the state that it rested on.

    Every enabled filter judges every host as it was then, by the filters and
    weighers of the configuration as it is now.  Of several decisions by a
    request or an instance it is the newest; of several instances the one that
    is named, or the first.

    The file of this machine is read; a scheduler elsewhere is asked there.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('decision', metavar='NUMBER|REQUEST_ID|INSTANCE')
        plan_reasons.add_arguments(parser)
        html_page.add_argument(parser)
        return parser

    def take_action(self, parsed_args):
        conf, key = self.app.conf, parsed_args.decision
        with decision_store.opened(conf) as store:
            document = decision_store.newest(store, key)
            number = document['number']
            past = store.past(number)
        explained = _explained(conf, document, past, key, parsed_args)
        notes, kind = _notes(conf, document), document['kind']
        if isinstance(explained, str):
            notes.append(explained)
            self._lines, why = [_told(document), *notes], explanation.NONE
        else:
            self._lines = [_told(document), *notes, *explained.sentences()]
            kind, why = explained.kind(kind), explained.to_dict()
        found = {'number': number, 'version': VERSION,
                 'request_id': document['request_id'],
                 'outcome': document['outcome'],
                 'code': document['code'], 'kind': kind,
                 'codes': document['codes'], 'notes': notes,
                 'decision': document, **why}
        if parsed_args.html is not None:
            html_page.write(parsed_args.html, found)
        return tuple(found), tuple(found.values())

    def produce_output(self, parsed_args, column_names, data):
        if parsed_args.formatter != 'table':
            return super().produce_output(parsed_args, column_names, data)
        for line in (*self._lines, self._for_programs(
                dict(zip(column_names, data, strict=True)))):
            self.app.stdout.write(f'{printable(line)}\n')
        return 0

    @staticmethod
    def _for_programs(found):
        """Return the outcome as one line of NAME=VALUE."""
        why = found['why']
        hosts, fit = ('-', '-') if why is None else (
            why['matrix'][name] for name in ('hosts', 'fitting'))
        return (f'explain: outcome={found["outcome"]} hosts={hosts} fit={fit} '
                f'code={found["code"] or "-"} kind={found["kind"] or "-"}')


def _told(document):
    """Return what was decided, in a sentence."""
    what = (f'Decision {document["number"]}, request '
            f'{document["request_id"]} for {document["instances"]} '
            f'instance(s), arrived {document["arrived"]}: '
            f'{document["outcome"]}')
    return f'{what}: {document["reason"]}' if document['reason'] else what


def _notes(conf, document):
    """Return what makes an explanation differ from what was decided: list."""
    ran = dict.fromkeys(step['name'] for step in document['filters'])
    unknown = [name for name in ran if name.endswith('Filter')
               and name not in config.enabled_filters(conf)]
    notes = [f'Decided by {", ".join(unknown)} as well, which the '
             'configuration does not enable now'] if unknown else []
    if document['candidates']['source'] != 'none' and (
            config.placement_configured(conf)):
        notes.append('What Placement says of single resources, traits and '
                     'aggregates is as of now')
    if 'cut_at' in document['candidates']:
        notes.append(offer.cut(document['candidates']['cut_at']))
    return notes


def _explained(conf, document, past, key, args):
    """Return the Explanation of a decision, or why there is none: text."""
    name = config.driver_name(conf)
    if not issubclass(drivers.driver_class(name), FilterScheduler):
        return (f'The driver {name} decides by no filters '
                'and weighers of ours: why cannot be told')
    manager = host_manager.load_host_manager(conf)
    request = past.request(scheduler_options.SchedulerOptions(
        conf.scheduler_json_config_location).get_configuration())
    uuids = document['instance_uuids']
    return plan_reasons.explained_on(
        past.hosts(manager), request, plugins.load_ranker(conf), past.view,
        args, conf, uuids.index(key) if key in uuids else 0)


def _lines(values, text):
    """Return a list; for people a line for each of the first ones."""
    values = list(values)
    texts = [text(value) for value in values[:SHOWN]]
    more = len(values) - SHOWN
    return forms.lines(values, [*texts, f'and {more} more']
                       if more > 0 else texts)


def _filter(step):
    instance = f'instance {step["instance"] + 1}, ' if step['instance'] else ''
    return f'{instance}{step["name"]}: {step["before"]} -> {step["after"]}'


def _pick(pick):
    others = ', '.join(other['host'] for other in pick['alternates'])
    return (f'{pick["instance"] or "instance"} on {facts.name(pick)}, '
            f'{_weight(pick)}' + (f'; alternates {others}' if others else ''))


def _weight(host):
    """Return a weight and what it is made of: text."""
    parts = ' '.join(
        f'{part["name"]} {_signed(part["score"])}'
        for part in host['weighers'] if part['score'])
    return f'weight {_signed(host["weight"])}' + (
        f' = {parts}' if parts else '')


def _signed(number):
    return f'{float(number):+.4g}'


def _rejection(rejected):
    named = [*map(facts.name, rejected['named'])]
    return (f'{rejected["rule"]}: {rejected["hosts"]} hosts: '
            + _and_more(named, rejected['hosts'] - len(named)))


def _claim(claim):
    return (f'{claim["instance"]} on {facts.name(claim)}: '
            f'{facts.CLAIM_RESULTS[claim["taken"]]}')


#: What people read, unless it is empty, in this order.
_FIELDS = (
    'number', 'request_id', 'instance_uuids', 'arrived', 'service', 'worker',
    'outcome', 'reason', 'code', 'kind', 'codes', 'picks', 'best', 'filters',
    'rejected', 'candidates', 'claims', 'state', 'tries', 'milliseconds',
    'seed', 'configuration', 'others')
#: Field -> what people read of it.
_FORMS = {
    'instance_uuids': lambda found: _lines(found, str),
    'codes': lambda found: forms.lines(found, (
        f'{each["code"]}: {each["hosts"]} hosts' for each in found)),
    'milliseconds': forms.pairs,
    'state': lambda state: forms.Shown(state, *facts.state_texts(state)),
    'candidates': lambda found: forms.Shown(found, facts.candidates(found)),
    'filters': lambda found: _lines(found, _filter),
    'picks': lambda found: _lines(found, _pick),
    'best': lambda found: _lines(
        found, lambda host: f'{facts.name(host)}: {_weight(host)}'),
    'claims': lambda found: _lines(found, _claim),
    'rejected': lambda found: forms.lines(found, map(_rejection, found)),
    'others': lambda found: forms.listed([*map(str, found)]),
}
