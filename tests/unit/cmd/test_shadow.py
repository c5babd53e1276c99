"""``shadow report``: the lines of a shadow, counted."""

import json

import pytest

from nova_sched.dry_run.mirror_comparison import FEWER
from nova_sched.dry_run.mirror_comparison import SAME
from nova_sched.dry_run.shadow import compare
from tests.unit.dry_run.shadow import test_report as lines


@pytest.fixture
def report(run, tmp_path):
    """Function of entries and options: the outcome of the command."""
    path = tmp_path / 'shadow.jsonl'

    def report(*entries, options=()):
        path.write_text(''.join(json.dumps(entry) + '\n' for entry in entries))
        return run('shadow', 'report', path, *options)
    return report


#: Two agreements and one disagreement.
ENTRIES = [lines.an_entry(comparison) for comparison in (
    lines.SAME, lines.LOWER, lines.SAME)]


def test_requests_are_counted_by_verdict(report):
    ended = report(*ENTRIES, options=['-f', 'json'])

    assert ended.code == 0, ended
    assert json.loads(ended.out) == [
        {'Verdict': compare.SAME, 'Because of': '', 'Requests': 2,
         'Share (%)': 66.7},
        {'Verdict': compare.LOWER, 'Because of': 'weight', 'Requests': 1,
         'Share (%)': 33.3}]


def test_each_disagreement_can_be_listed(report):
    [row] = json.loads(report(*ENTRIES, options=['--each', '-f', 'json']).out)

    assert (row['Verdict'], row['Why'], row['Instances']) == (
        compare.LOWER, 'b weighs less', ['uuid1'])
    assert set(row['Here']) == set(row['Live']) == {'outcome', 'hosts'}


def test_the_list_may_be_empty(report):
    assert report(lines.an_entry(), options=['--each']) == (
        0, 'The file has no such request.\n', '')


def test_mirror_is_counted_by_how_far_it_agrees(report):
    old = lines.an_entry()
    del old['copy']
    ended = report(old, lines.an_entry(), *(
        lines.an_entry(mirror={'verdict': verdict, 'age': age})
        for verdict, age in ((SAME, 1.25), (SAME, 0.5),
                             (FEWER, 2.0))),
        options=['--copy', '-f', 'json'])

    assert json.loads(ended.out) == [
        {'Copy': SAME, 'Requests': 2, 'Share (%)': 66.7,
         'Oldest copy (s)': 1.2},
        {'Copy': FEWER, 'Requests': 1, 'Share (%)': 33.3,
         'Oldest copy (s)': 2.0}]


def test_a_side_is_shown_by_its_hosts_or_else_its_outcome(report):
    ended = report(lines.an_entry(lines.LOWER, compare.LiveDecision()),
                   options=['--each', '-c', 'Here', '-c', 'Live'])

    assert '| a    | refused |' in ended.out

