"""``decision``: past decisions of the scheduler, and why they were made."""

import time

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import html_page
from nova_sched.cmd.manage import plan_reasons
from nova_sched.cmd.manage import scheduler_rpc
from nova_sched.explain import explanation
from nova_sched.explain import offer
from nova_sched.explain import words
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
from nova_sched.scheduler import loading
from nova_sched.scheduler import scheduler_options
from nova_sched.scheduler.filter_scheduler import FilterScheduler

#: Most instances, steps and hosts that are shown to people.
SHOWN = 10
#: Most decisions in one list.
MOST = 1_000_000

#: Version of the JSON of ``explain``: explain.schema.json.
VERSION = '1.3'


def _add_service_arguments(parser):
    parser.add_argument(
        '--service', metavar='HOST',
        help='Query the scheduler of this host, its [DEFAULT] host, over RPC '
             'instead of reading the decision store of this machine.')
    parser.add_argument('--timeout', type=int, default=10, metavar='SECONDS',
                        help='How long to wait for the answer (default: 10).')


def _call(conf, parsed_args, method, **arguments):
    """Return the answer of the scheduler of --service."""
    target = messaging.Target(
        topic=conf.scheduler_topic, server=parsed_args.service,
        namespace=decision_endpoint.NAMESPACE,
        version=decision_endpoint.VERSION)
    admin = context.RequestContext(is_admin=True).to_dict()
    return scheduler_rpc.call(
        conf, parsed_args.timeout,
        lambda transport: messaging.get_rpc_client(
            transport, target, timeout=parsed_args.timeout).call(
                admin, method, **arguments))


class List(forms.Lister):
    """List decisions, the newest first.

    Decisions of all schedulers that store them in the state_path of this
    machine, or with --service of one scheduler.
    """

    empty = 'There are no such decisions.'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--limit', type=int, default=20, metavar='N',
                            help='Maximum number of decisions (default: 20).')
        outcome = parser.add_mutually_exclusive_group()
        for name, meaning in (
                (decision.PLACED, 'got hosts'),
                (decision.REFUSED, 'got no host, or were invalid'),
                (decision.FAILED, 'ended in an error')):
            outcome.add_argument(
                f'--{name}', dest='outcome', action='store_const', const=name,
                help=f'Requests that {meaning}.')
        parser.add_argument('--code', metavar='CODE',
                            help='Requests refused with this code, such as '
                                 'ram.')
        parser.add_argument('--kind', choices=codes.KINDS,
                            help='Requests refused with this kind.')
        parser.add_argument('--host', metavar='NAME',
                            help='Requests with an instance on this host.')
        parser.add_argument('--minutes', type=float, metavar='N',
                            help='Requests of the last N minutes.')
        _add_service_arguments(parser)
        return parser

    def take_action(self, parsed_args):
        criteria = {
            'outcome': parsed_args.outcome, 'host': parsed_args.host,
            'code': parsed_args.code, 'kind': parsed_args.kind,
            'since': (None if parsed_args.minutes is None
                      else time.time() - 60 * parsed_args.minutes)}
        rows = [_row(summary) for summary
                in self._summaries(parsed_args, criteria)]
        if not rows:
            _check_code(parsed_args.code)
        return (('Number', 'Time', 'Request', 'Service', 'Outcome',
                 'Instances', 'Hosts', 'Code', 'Kind', 'Reason'), rows)

    def _summaries(self, parsed_args, criteria):
        conf, limit = self.app.conf, max(0, min(parsed_args.limit, MOST))
        if parsed_args.service is not None:
            # A service of another release may have fewer or more fields.
            sent = {name: value for name, value in criteria.items()
                    if value is not None}
            return [decision_store.Summary.of(fields) for fields in _call(
                conf, parsed_args, 'list_decisions', limit=limit, **sent)]
        with decision_store.opened(conf) as store:
            return store.summaries(limit, **criteria)


def _check_code(code):
    """Raise InvalidInput for a code that is probably misspelt.

    An unknown code that resembles no known one may be that of a plug-in.
    """
    nearest_code = code and code not in codes.CATALOGUE and nearest.nearest(
        code, codes.CATALOGUE)
    if nearest_code:
        raise exception.InvalidInput(
            reason=f'--code {code}: there is no such code; did you mean '
                   f'{nearest_code}?')


def _row(summary):
    hosts, reason = list(summary.hosts), summary.reason or ''
    count = (summary.instances if summary.outcome == decision.PLACED
             else len(hosts))
    return (summary.number, decision_document.iso(summary.arrived),
            summary.request_id, summary.service, summary.outcome,
            summary.instances,
            forms.DualValue(hosts, words.examples(hosts, count)), summary.code,
            summary.kind,
            forms.DualValue(summary.reason, reason if len(reason) <= 80
                        else f'{reason[:77]}...'))


class Show(forms.ShowOne):
    """Show one decision.

    It is selected by its number, the id of a request or the uuid of an
    instance; of several decisions the newest is shown.  -f json includes the
    request.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('decision', metavar='NUMBER|REQUEST_ID|INSTANCE')
        parser.add_argument('--rejected', action='store_true',
                            help='Name all rejected hosts, not '
                                 f'{decision_document.NAMED} for each rule.')
        html_page.add_argument(parser)
        _add_service_arguments(parser)
        return parser

    def take_action(self, parsed_args):
        every = parsed_args.rejected or parsed_args.html is not None
        document = self._document(parsed_args, every)
        if parsed_args.html is not None:
            html_page.write(parsed_args.html, document)
        names = [*document]
        if not forms.is_structured(parsed_args):
            names = [name for name in _FIELDS
                     if document.get(name) not in (None, [])]
            if not parsed_args.rejected:
                _cut(document['rejected'])
        return tuple(names), tuple(
            _FORMS[name](document[name]) if name in _FORMS else document[name]
            for name in names)

    def _document(self, parsed_args, every):
        conf = self.app.conf
        if parsed_args.service is not None:
            return _call(conf, parsed_args, 'show_decision',
                         key=parsed_args.decision, every=every)
        try:
            return _newest(conf, parsed_args.decision, every)
        except exception.InvalidInput:
            # The service may have made it just now, and not written it yet.
            time.sleep(2 * recorder.INTERVAL)
            return _newest(conf, parsed_args.decision, every)


def _newest(conf, key, every):
    with decision_store.opened(conf) as store:
        return decision_store.newest(store, key, every)


def _cut(rejected):
    """Remove all but the first hosts of each rule."""
    for hosts in rejected:
        del hosts['named'][decision_document.NAMED:]


class Explain(forms.ShowOne):
    """Explain a decision, on the hosts as they were.

    Every filter judges every host. The hosts are as they were then; the
    filters and weighers are those of the present configuration. Of several
    decisions on a request or an instance the newest is explained; of its
    instances the named one, or the first.

    Reads the decision store of this machine; on another one run it there.
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
        notes, sentences = _notes(conf, document), explained.sentences()
        self._lines = [_summary(document), *notes, *sentences]
        if isinstance(explained, explanation.NoExplanation):
            notes += sentences
        result = {
            'number': number, 'version': VERSION,
            **{name: document[name] for name in (
                'request_id', 'outcome', 'code')},
            'kind': explained.kind(document['kind']),
            'codes': document['codes'], 'notes': notes, 'decision': document,
            **explained.to_dict()}
        if parsed_args.html is not None:
            html_page.write(parsed_args.html, result)
        return tuple(result), tuple(result.values())

    def produce_output(self, parsed_args, column_names, data):
        if parsed_args.formatter != 'table':
            return super().produce_output(parsed_args, column_names, data)
        for line in (*self._lines, self._for_programs(
                dict(zip(column_names, data, strict=True)))):
            self.app.stdout.write(f'{printable(line)}\n')
        return 0

    @staticmethod
    def _for_programs(result):
        """Return the outcome as one line of NAME=VALUE."""
        why = result['why']
        hosts, fit = ('-', '-') if why is None else (
            why['matrix'][name] for name in ('hosts', 'fitting'))
        return (f'explain: outcome={result["outcome"]} hosts={hosts} '
                f'fit={fit} code={result["code"] or "-"} '
                f'kind={result["kind"] or "-"}')


def _summary(document):
    """Return the outcome of a decision in a sentence."""
    text = (f'Decision {document["number"]}, request '
            f'{document["request_id"]} for {document["instances"]} '
            f'instance(s), arrived {document["arrived"]}: '
            f'{document["outcome"]}')
    return f'{text}: {document["reason"]}' if document['reason'] else text


def _notes(conf, document):
    """Return why the explanation may differ from the decision: list of texts.
    """
    ran = dict.fromkeys(step['name'] for step in document['filters'])
    unknown = [name for name in ran if name.endswith('Filter')
               and name not in config.enabled_filters(conf)]
    notes = [f'{", ".join(unknown)} took part in the decision, but is not '
             'enabled now'] if unknown else []
    if document['candidates']['source'] != 'none' and (
            config.placement_configured(conf)):
        notes.append('Resources, traits and aggregates are read from '
                     'Placement now, and may have changed since')
    if 'cut_at' in document['candidates']:
        notes.append(offer.cut(document['candidates']['cut_at']))
    return notes


def _explained(conf, document, past, key, args):
    """Return the Explanation of a decision, or a NoExplanation."""
    name = config.driver_name(conf)
    if not issubclass(loading.driver_class(name), FilterScheduler):
        return explanation.NoExplanation(
            f'The driver {name} does not use the filters and weighers of '
            'this service: there is no explanation')
    manager = host_manager.load_host_manager(conf)
    request = past.request(scheduler_options.SchedulerOptions(
        conf.scheduler_json_config_location).get_configuration())
    uuids = document['instance_uuids']
    return plan_reasons.explained_on(
        past.hosts(manager), request, plugins.load_ranker(conf), past.view,
        args, conf, uuids.index(key) if key in uuids else 0)


def _lines(values, text):
    """Return a list; for people a line for each of the first values."""
    more = len(values) - SHOWN
    return forms.DualValue(values, *map(text, values[:SHOWN]), *(
        [f'and {more} more'] if more > 0 else []))


def _filter(step):
    instance = f'instance {step["instance"] + 1}, ' if step['instance'] else ''
    return f'{instance}{step["name"]}: {step["before"]} -> {step["after"]}'


def _pick(pick):
    others = ', '.join(other['host'] for other in pick['alternates'])
    return (f'{pick["instance"] or "instance"} on {facts.name(pick)}, '
            f'{_weight(pick)}' + (f'; alternates {others}' if others else ''))


def _weight(host):
    """Return a weight and its parts: text."""
    parts = ' '.join(
        f'{part["name"]} {_signed(part["score"])}'
        for part in host['weighers'] if part['score'])
    return f'weight {_signed(host["weight"])}' + (
        f' = {parts}' if parts else '')


def _signed(number):
    return f'{float(number):+.4g}'


def _rejection(rejected):
    named = words.examples([*map(facts.name, rejected['named'])],
                           rejected['hosts'])
    return f'{rejected["rule"]}: {rejected["hosts"]} hosts: {named}'


def _claim(claim):
    return (f'{claim["instance"]} on {facts.name(claim)}: '
            f'{facts.CLAIM_RESULTS[claim["taken"]]}')


#: Fields that are shown to people unless they are empty, in this order.
_FIELDS = (
    'number', 'request_id', 'instance_uuids', 'arrived', 'service', 'worker',
    'outcome', 'reason', 'code', 'kind', 'codes', 'picks', 'best', 'filters',
    'rejected', 'candidates', 'claims', 'state', 'tries', 'milliseconds',
    'seed', 'configuration', 'others')
#: Field -> its form for people, function of the value.
_FORMS = {
    'instance_uuids': lambda found: _lines(found, str),
    'codes': lambda codes: forms.lines(
        codes, lambda code: f'{code["code"]}: {code["hosts"]} hosts'),
    'milliseconds': forms.pairs,
    'state': lambda state: forms.DualValue(state, *facts.state_texts(state)),
    'candidates': lambda data: forms.DualValue(data, facts.candidates(data)),
    'filters': lambda found: _lines(found, _filter),
    'picks': lambda found: _lines(found, _pick),
    'best': lambda found: _lines(
        found, lambda host: f'{facts.name(host)}: {_weight(host)}'),
    'claims': lambda found: _lines(found, _claim),
    'rejected': lambda rejected: forms.lines(rejected, _rejection),
    'others': lambda found: forms.listed([*map(str, found)]),
}
