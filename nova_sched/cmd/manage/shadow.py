"""``shadow``: the results of a shadow scheduler."""

from nova_sched import exception
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import forms
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import report


class Report(forms.Lister):
    """Count the requests that a shadow has compared, by verdict.

    FILE is the file of [nova_sched] shadow_report.  Next to a disagreement
    stands its cause, such as a filter.
    """

    empty = 'The file has no such request.'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='FILE')
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            '--each', action='store_true',
            help='List the requests with a disagreement, instead of totals.')
        instead.add_argument(
            '--copy', action='store_true',
            help='Count the requests by how far the candidates from the '
                 "mirror agree with Placement's listing ([nova_sched] "
                 'candidates = mirror).')
        return parser

    def take_action(self, parsed_args):
        try:
            return self._table(parsed_args)
        except exception.NovaSchedException as error:
            raise exits.WrongFile(str(error)) from error

    @staticmethod
    def _table(parsed_args):
        entries = report.read(parsed_args.file)
        if parsed_args.each:
            return (('At', 'Request', 'Instances', 'Verdict', 'Why', 'Here',
                     'Live'), list(map(_row, filter(_differs, entries))))
        if parsed_args.copy:
            totals = report.mirror_totals(entries)
            total = sum(count for _, count, _ in totals)
            return (('Copy', 'Requests', 'Share (%)', 'Oldest copy (s)'), [
                (verdict, count, _percent(count, total), round(oldest, 1))
                for verdict, count, oldest in totals])
        totals = report.totals(entries)
        total = sum(count for *_, count in totals)
        return (('Verdict', 'Because of', 'Requests', 'Share (%)'), [
            (verdict, rule, count, _percent(count, total))
            for verdict, rule, count in totals])


def _percent(count, every):
    return round(100 * count / every, 1)


def _differs(entry):
    return entry['verdict'] not in compare.AGREEMENTS


def _row(entry):
    return (entry['at'], entry['request_id'],
            forms.listed(entry['instances']), entry['verdict'], entry['why'],
            *(_side(entry[side]) for side in ('here', 'live')))


def _side(side):
    """Return the hosts of one side, or its outcome without hosts."""
    return forms.DualValue(
        {'outcome': side['outcome'], 'hosts': side['hosts']},
        ', '.join(side['hosts']) or side['outcome'])
