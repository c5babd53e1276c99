"""``capacity show``: how many more instances of flavors fit."""

import contextlib
import dataclasses
import time

import numpy as np

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.capacity import flavors as capacities
from nova_sched.capacity import report
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import flavors
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import specs
from nova_sched.cmd.manage import what_if
from nova_sched.dry_run import decider
from nova_sched.dry_run import overrides
from nova_sched.explain import words
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.options import nearest
from nova_sched.printable import printable

#: Columns behind the flavor and the group of hosts.
COLUMNS = ('Placeable', 'Hosts', 'Empty cloud', 'Without worst host',
           'Runs out first', 'Stranded')

#: Most flavors of one command.
MOST_FLAVORS = 10_000
#: Most hosts that one --hosts adds.
MOST_HOSTS = 100_000
#: Filters of the amounts that Placement checks, where it is not used.
_AMOUNTS = ('RamFilter', 'CoreFilter', 'DiskFilter')
#: Filters with the same purpose.
_SIMILAR = {name: (name, f'Aggregate{name}') for name in _AMOUNTS}


class Show(forms.Lister):
    """Show how many more instances of flavors fit, and what runs out first.

    The numbers are those of placing instances one after the other until the
    scheduler refuses, by the filters and options of the service, on the
    content of its databases and of Placement, or on the cloud of a file.
    Claims, writes and sends nothing.

    Exits with 0, with 1 if fewer than --at-least instances fit, with 2 for
    wrong input, and with 3 if a database or Placement does not answer.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--flavor', action='append', default=[], metavar='NAME',
            help='Name or id of a flavor, or NAME=RAM,VCPUS,DISK[,KEY=VALUE] '
                 'for a flavor that the cloud does not have, such as '
                 'web=4G,2,20G,hw:cpu_policy=dedicated; may be repeated.')
        parser.add_argument('--all-flavors', action='store_true',
                            help='All flavors of the cloud.')
        parser.add_argument(
            '--image-property', action='append', default=[],
            metavar=specs.pair.__name__, type=specs.pair,
            help='A property of the image; may be repeated.')
        parser.add_argument('--project', metavar='ID',
                            help='Project of the instances.')
        parser.add_argument('--by', choices=report.GROUPINGS,
                            default=report.ALL,
                            help='Groups of hosts (default: all hosts).')
        parser.add_argument(
            '--without-host', action='append', default=[], metavar='HOST',
            help='Count as if this host were gone; may be repeated.')
        parser.add_argument(
            '--without-aggregate', action='append', default=[],
            metavar='NAME',
            help='Count as if the hosts of this aggregate were gone; may be '
                 'repeated.')
        parser.add_argument(
            '--hosts', action='append', default=[], metavar='"N like HOST"',
            type=_like, help='Count N hosts more, which are like a host of '
            'the cloud without instances, such as "20 like cmp-041"; may be '
            'repeated.')
        parser.add_argument('--as-empty', action='store_true',
                            help='Count as if there were no instances.')
        parser.add_argument(
            '--at-least', type=int, metavar='N',
            help='Exit with 1 if fewer than N instances of a flavor fit in a '
                 'group.')
        what_if.add_arguments(parser)
        return parser

    def run(self, parsed_args):
        """Run the command; 1 if there are too few."""
        self._rows = []
        code, least = super().run(parsed_args), parsed_args.at_least
        if code or least is None:
            return code
        # A group without hosts has no row.
        is_short = (least > 0 and not self._rows) or any(
            row.placeable is not None and row.placeable < least
            for row in self._rows)
        return exits.NO if is_short else exits.DONE

    def take_action(self, parsed_args):
        begun = time.monotonic()
        with contextlib.ExitStack() as stack:
            conf, self._notes = self._conf(parsed_args, stack)
            requests = [(flavor['name'], _request(flavor, conf, parsed_args))
                        for flavor in _flavors(conf, parsed_args)]
            self._notes += [*_changes(parsed_args),
                            *_unlimited(conf, requests)]
            own = decider.Decider(conf, reported=dict(
                parsed_args.host_ratios))
            stack.callback(own.stop)
            own.start()
            present = capacities.CloudCapacity(own, self._progress)
            self._count(present, requests, parsed_args)
        self._seconds = time.monotonic() - begun
        group = ('Group' if parsed_args.by == report.ALL
                 else parsed_args.by.title())
        return ('Flavor', group, *COLUMNS), [_row(row) for row in self._rows]

    def _count(self, present, requests, parsed_args):
        """Set the GroupCapacities of all flavors and groups.

        present: CloudCapacity.  requests: list of (name, RequestSpec).
        """
        without = present.emptied()
        names = list(present.hosts.objects('host'))
        more = _more(names, parsed_args.hosts)
        hosts = [*names, *(names[row] for row in more)]
        remaining = ~_gone(present.hosts, parsed_args)
        everywhere = np.append(remaining, remaining[more])
        self._hosts, self._totals = int(everywhere.sum()), []
        groups = report.groups(present.hosts, parsed_args.by,
                               self.app.conf.default_availability_zone)
        for name, spec_obj in requests:
            with _naming(name):
                empty = without.of(name, spec_obj)
                here = (empty if parsed_args.as_empty
                        else present.of(name, spec_obj))
            here, empty = (capacity.with_hosts(empty, more)
                           for capacity in (here, empty))
            self._rows += [
                report.of_group(
                    here, group, np.append(members, members[more])
                    & everywhere, hosts, empty)
                for group, members in groups.items()]
            self._totals.append(report.of_group(
                here, report.ALL, everywhere, hosts).placeable)

    def produce_output(self, parsed_args, column_names, data):
        if forms.is_structured(parsed_args):
            document = self._document(parsed_args)
            self.formatter.emit_one(tuple(document), tuple(document.values()),
                                    self.app.stdout, parsed_args)
            return
        super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            for line in (*self._notes, *_bounds(self._rows),
                         'In flight: not known. Not looked at: quotas, '
                         'volumes, server groups.', self._line()):
                self.app.stdout.write(f'{printable(line)}\n')

    def _conf(self, parsed_args, stack):
        """Return the configuration to count by, and notes on it: sentences.

        Raises ConfigurationError and InvalidInput.
        """
        conf, notes = self.app.conf, []
        overrides.apply(conf, map(overrides.Setting.parse,
                                  parsed_args.settings),
                        parsed_args.without, parsed_args.enable)
        if parsed_args.cloud:
            what_if.load_cloud(conf, parsed_args.cloud, stack)
        if not config.placement_configured(conf):
            enabled = config.enabled_filters(conf)
            missing = [name for name in _AMOUNTS
                       if name not in parsed_args.without
                       and not any(similar in enabled
                                   for similar in _SIMILAR[name])]
            if missing:
                overrides.apply(conf, enable=missing)
                notes.append('Without Placement, amounts are counted by '
                             f'{", ".join(missing)}.')
        for error in config.check(conf)[:1]:
            raise error
        return conf, notes

    def _progress(self, done, count):
        if self.app.stderr.isatty() and (done % 100 == 0 or done == count):
            self.app.stderr.write(
                f'\rReading resource providers: {done:,} of {count:,}'
                + '\n' * (done == count))

    def _document(self, parsed_args):
        """Return all of it as plain JSON: dict."""
        return {
            'version': report.VERSION, 'by': parsed_args.by,
            'capacity': [row.to_dict() for row in self._rows],
            'hosts': self._hosts, 'notes': self._notes}

    def _line(self):
        """Return the result as one line of NAME=VALUE."""
        exact = not any(row.inexact for row in self._rows)
        total = 'unlimited' if None in self._totals else sum(self._totals)
        return (f'capacity: flavors={len(self._totals)} hosts={self._hosts} '
                f'placeable={total} '
                f'exact={"yes" if exact else "no"} '
                f'ms={self._seconds * 1000:.0f}')


def _changes(args):
    """Return a sentence on what differs from the cloud and the service: list.
    """
    changes = [
        *what_if.changed(args, args.settings),
        *(f'--without-host {name}' for name in args.without_host),
        *(f'--without-aggregate {name}' for name in args.without_aggregate),
        *(f'--hosts "{number} like {host}"' for number, host in args.hosts),
        *(['--as-empty'] if args.as_empty else [])]
    return [f'Counted with {", ".join(changes)}.'] if changes else []


def _unlimited(conf, requests):
    """Return a sentence for each filter that flavors need: list.

    requests: list of (name, RequestSpec).  The filters are not enabled, so
    that the scheduler places more instances than computes accept.
    """
    enabled, specs_ = config.enabled_filters(conf), [
        spec_obj for _, spec_obj in requests]
    return [f'{name} is not enabled: {what} do not count.'
            for name, what, needed in (
                ('NUMATopologyFilter', 'NUMA cells', any(
                    spec_obj.numa_topology for spec_obj in specs_)),
                ('PciPassthroughFilter', 'PCI devices', any(
                    numa_guest.pci_requests(spec_obj)
                    for spec_obj in specs_)))
            if needed and name not in enabled]


def _flavors(conf, args):
    """Return the flavors of the command line: list of dicts.

    Raises InvalidInput and DatabaseUnavailable.
    """
    cloud = flavors.Flavors(conf, args.cloud)
    chosen = [specs.flavor_of(text) or cloud.find(
        text, f'--flavor {text}=RAM,VCPUS,DISK') for text in args.flavor]
    if args.all_flavors:
        chosen += cloud.all()
    if not chosen:
        raise exception.InvalidInput(
            reason='no flavor is named: give --flavor NAME, or --all-flavors')
    if len(chosen) > MOST_FLAVORS:
        raise exception.InvalidInput(
            reason=f'{len(chosen):,} flavors are more than the '
                   f'{MOST_FLAVORS:,} of one command: name some by --flavor')
    return chosen


def _request(flavor, conf, args):
    """Return the RequestSpec of a flavor; a wrong one is named."""
    with _naming(flavor['name']):
        return specs.of_flavor(flavor, conf, args.project,
                               args.image_property)


@contextlib.contextmanager
def _naming(name):
    """Add the name of a flavor to InvalidInput."""
    try:
        yield
    except exception.InvalidInput as error:
        raise exception.InvalidInput(
            reason=f'flavor {name}: {error.kwargs["reason"]}') from error


def _like(text):
    """Return the number and the host of a text "N like HOST"."""
    number, like, host = text.partition(' like ')
    if not (like and host.strip() and 0 < int(number) <= MOST_HOSTS):
        raise ValueError(text)
    return int(number), host.strip()


_like.__name__ = 'N like HOST'


def _more(names, likes):
    """Return the row of each additional host: int (m,).  Raises InvalidInput.
    """
    rows = []
    for number, host in likes:
        if host not in names:
            raise exception.InvalidInput(
                reason=f'--hosts "{number} like {host}": no host has this '
                       f'name; {nearest.did_you_mean(host, {*names})}')
        rows += [names.index(host)] * number
    return np.array(rows, np.intp)


def _gone(hosts, args):
    """Return which hosts do not count: bool (n,).  Raises InvalidInput."""
    names = [{host} for host in hosts.objects('host')]
    aggregates = [{key for aggregate in of_host
                   for key in (aggregate.name, aggregate.uuid)}
                  for of_host in hosts.objects('aggregates')]
    gone = np.zeros(len(hosts), np.bool_)
    for option, wanted, keys in (
            ('--without-host', args.without_host, names),
            ('--without-aggregate', args.without_aggregate, aggregates)):
        for name in wanted:
            chosen = np.array([name in of_host for of_host in keys], np.bool_)
            if not chosen.any():
                known = {key for of_host in keys for key in of_host if key}
                raise exception.InvalidInput(
                    reason=f'{option} {name}: no host has this name; '
                           + nearest.did_you_mean(name, known))
            gone |= chosen
    return gone


def _row(row):
    """Return the flavor, the group and the values of COLUMNS: tuple."""
    limits = [f'{limit} on {words.counted(hosts, "host")}'
              for limit, hosts in row.limits.items()]
    return (row.flavor, row.group, _number(row.placeable), row.hosts,
            _number(row.empty), _number(row.without_worst),
            limits[0] if limits else '-',
            forms.DualValue([dataclasses.asdict(part)
                             for part in row.stranded],
                            *_stranded_texts(row)))


def _stranded_texts(row):
    """Return the largest stranded amount by a cause, as texts."""
    parts = [part for part in row.stranded
             if part.cause != report.REMAINDER]
    return [f'{_amount(part)}: {part.cause}' for part in parts[:1]] or ['-']


def _amount(part):
    if part.unit != 'MB':
        return f'{part.amount:,} {part.resource}'
    for unit, size in (('TiB', 1 << 20), ('GiB', 1 << 10)):
        if part.amount >= size:
            return f'{part.amount / size:,.1f} {unit} of {part.resource}'
    return f'{part.amount:,} MB of {part.resource}'


def _number(count):
    return forms.DualValue(count, 'no limit' if count is None
                           else f'{count:,}')


def _bounds(rows):
    """Return a sentence for each rule whose numbers are bounds: list."""
    reasons = {(rule, reason) for row in rows
               for rule, reason in row.inexact.items()}
    return [f'The numbers are upper bounds: {rule} {reason}.'
            for rule, reason in sorted(reasons)]

