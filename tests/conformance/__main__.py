"""Run recorded cases: ``python -m tests.conformance DIR``.

Exits with 1 when an answer differs, with 2 for a folder without cases.
"""

import argparse
import collections
import contextlib
import functools
import logging
import sys

from tests.conformance import rules
from tests.conformance import runs
from tests.conformance import vectors
from tests.conformance.stage import Stages

LOG = logging.getLogger(__name__)

_CHECKS = {'filters': rules.check_filters, 'weighers': rules.check_weighers,
           'schedule': runs.check_schedule,
           'hoststates': runs.check_hoststates}
_VERDICTS = ('passed', 'waived', 'failed')


def main(argv=None):
    """Run the cases that the command line names; the exit status."""
    args = _parser().parse_args(argv)
    # These cases are meant to cause warnings.
    logging.getLogger('nova_sched').setLevel(logging.CRITICAL)
    outcomes = run(vectors.Folder(args.folder), lambda case: (
        args.era in (None, case['era']) and args.case in (None, case['id'])),
        args.word)
    tally, reasons = collections.defaultdict(collections.Counter), (
        collections.Counter())
    with contextlib.ExitStack() as stack:
        report = args.json and stack.enter_context(open(args.json, 'w'))
        for outcome in outcomes:
            case = outcome.case
            tally[case['kind'], outcome.name, case['era']][
                outcome.verdict] += 1
            if report:
                report.write(f'{outcome.line()}\n')
            if outcome.verdict == 'failed':
                _say(f"{case['id']} {outcome.name}: {outcome.reason}")
            elif outcome.verdict == 'waived':
                reasons[case['era'], outcome.reason] += 1
    _print(tally, reasons)
    if not tally:
        sys.stderr.write(f'no such cases in {args.folder}\n')
        return 2
    return int(any(counts['failed'] for counts in tally.values()))


def run(folder, wanted=lambda case: True, word=None):
    """Yield the outcomes of cases of a Folder.

    wanted: predicate of a case.
    word: select questions by a part of their name, id or kind.
    """
    stages = Stages(folder)
    try:
        for case in folder.cases():
            check = _CHECKS.get(case['kind'])
            if check is None or not wanted(case):
                continue
            asked = functools.partial(_asked, (word or '').lower(), case)
            try:
                yield from check(case, stages.of(case), asked)
            except Exception as exc:
                LOG.exception('%s cannot be run', case['id'])
                yield vectors.Outcome(
                    case, case['kind'], 'failed',
                    f'cannot be run: {type(exc).__name__}: {exc}')
    finally:
        stages.close()


def _asked(word, case, name):
    return word in f"{name} {case['id']} {case['kind']}".lower()


def _parser():
    parser = argparse.ArgumentParser(
        'python -m tests.conformance', description=__doc__)
    parser.add_argument('folder', metavar='DIR')
    parser.add_argument('-k', dest='word', metavar='WORD', help='only '
                        'questions with this word in name, id or kind')
    parser.add_argument('--era', choices=sorted(vectors.ERA_DEFAULTS))
    parser.add_argument('--case', metavar='ID', help='only this case')
    parser.add_argument('--json', metavar='FILE',
                        help='write one line a question')
    return parser


def _say(text):
    sys.stdout.write(f'{text}\n')


def _print(tally, reasons):
    _say(f'{"kind":11}{"name":34}{"era":8}'
          + ''.join(f'{verdict:>11}' for verdict in _VERDICTS))
    for (kind, name, era), counts in sorted(tally.items()):
        _say(f'{kind:11}{name:34}{era:8}' + ''.join(
            f'{counts[verdict]:11}' for verdict in _VERDICTS))
    total = sum(tally.values(), collections.Counter())
    _say(f'{"total":53}' + ''.join(
        f'{total[verdict]:11}' for verdict in _VERDICTS))
    for (era, reason), count in sorted(reasons.items()):
        _say(f'waived {count} of {era}: {reason}')


if __name__ == '__main__':
    sys.exit(main())
