"""``config``: checks of the configuration, before the service starts."""

import argparse
import logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import forms
from nova_sched.conf import messaging
from nova_sched.options import files
from nova_sched.options import releases
from nova_sched.preflight import differences
from nova_sched.preflight import startup
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row

#: Columns for people and for programs, which get ``Row.value``, too.
_TITLES = ('Check', 'Outcome', 'Found', 'What to do')
_KEYS = ('option', 'level', 'text', 'advice', 'value')

#: Prefixes of options with addresses of services.
_ADDRESSES = ('[database]', '[api_database]', '[placement]', '[neutron]',
              '[oslo_messaging_', '[DEFAULT] transport_url',
              '[DEFAULT] rpc_backend')


class Check(forms.Lister):
    """Check the configuration and print the effective setup.

    Changes nothing anywhere.  Exits with 2 if the service would refuse to
    start, with 1 if --connect finds a service that does not answer or does not
    fit, or if --strict finds warnings.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--connect', action='store_true',
            help='Also query the databases, the message broker, Placement '
                 'and Neutron, with the timeouts of their options.')
        parser.add_argument(
            '--from', dest='release', metavar='RELEASE', type=_release,
            help="List differences from that release's nova-scheduler, Kilo "
                 'to 2026.2. A name, a number or a date: queens, 17 or '
                 '2018.1.')
        parser.add_argument(
            '--strict', action='store_true',
            help='Exit with 1 also if there are only warnings.')
        return parser

    def run(self, parsed_args):
        super().run(parsed_args)
        if self._refused:
            return exits.WRONG
        failures = {ERROR, WARNING} if parsed_args.strict else {ERROR}
        return (exits.NO if failures & {row.outcome for row in self._rows}
                else exits.DONE)

    def take_action(self, parsed_args):
        conf = self.app.configuration()    # a copy: its defaults may be set
        problems, wrong = startup.all_problems(conf)
        self._refused = bool(problems)
        self._rows = self._checked(conf, problems, wrong, parsed_args)
        self._rows.append(_verdict(self._rows, self._refused))
        if forms.is_structured(parsed_args):
            return _KEYS, self._rows
        return _TITLES, [row[:len(_TITLES)] for row in self._rows]

    def _checked(self, conf, problems, wrong, parsed_args):
        """Return all rows except the last: list.

        problems, wrong: as returned by ``startup.all_problems``.
        """
        rows = [_files(conf), *map(_refused, problems)]
        rows += [
            Row(f'[{group}] {name}', WARNING, 'is not an option',
                _meant(nearest))
            for group, name, nearest in config.unknown_options(conf)]
        rows += [Row('options', WARNING, text)
                  for text in config.warnings(conf)]
        setup = startup.Setup(conf)
        if not problems:
            rows += setup.rows()
        if parsed_args.connect:
            rows += self._connected(setup, wrong)
        if parsed_args.release:
            rows += differences.rows(setup, parsed_args.release)
        return rows

    def _connected(self, setup, wrong):
        """Return the rows about services that the scheduler needs: list."""
        addresses = sorted(option for option in wrong
                           if option.startswith(_ADDRESSES))
        if addresses:
            return [Row('--connect', WARNING, 'no service was queried: '
                        f'{", ".join(addresses)} must be correct first')]
        # Only this option needs the clients of all these services.
        from nova_sched.preflight import connectivity
        if self.app.options.verbose_level < 2:
            logging.disable()    # the log repeats the rows
        try:
            return connectivity.check(setup)
        finally:
            logging.disable(logging.NOTSET)


def _files(conf):
    paths = files.config_files(conf)
    return Row('files', OK if paths else WARNING,
               ', '.join(paths) or 'none: all options have their defaults',
               value=paths)


def _meant(nearest):
    """Return the advice for a misspelt option."""
    question = f'Did you mean {nearest}?'
    if nearest not in messaging.QUEUE_FORMS:
        return question
    return (f'{question} Set it for all services of Nova at once, while they '
            'are stopped, and delete their queues and exchanges before they '
            'start: the broker refuses those that are there in another form')


def _verdict(rows, refused):
    """Return the last row: the summary of the others."""
    errors = sum(row.outcome == ERROR for row in rows)
    count = errors + sum(row.outcome == WARNING for row in rows)
    value = {'would_start': not refused, 'to_look_at': count}
    starts = 'no' if refused else 'yes' if not errors else (
        'yes, but would not work right, as '
        + ('an error says' if errors == 1 else f'{errors} errors say'))
    return Row('verdict', ERROR if errors else OK,
               f'would start: {starts}; {count or "nothing"} to look at',
               value=value)


def _refused(error):
    if isinstance(error, exception.ConfigurationError):
        return Row(error.option, ERROR, repr(error.value), error.hint)
    return Row('options', ERROR, str(error))


def _release(text):
    try:
        return releases.find(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
