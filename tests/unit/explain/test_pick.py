"""Why the host that is picked."""


from nova_sched.explain.pick import why_pick
from nova_sched.hosts.table import Cells
from nova_sched.scheduler.attempt import HostSelector
from tests.builders.hosts import a_host
from tests.unit.explain.builders import a_matrix
from tests.unit.explain.builders import full

#: The empty one has most RAM; the quiet one does nothing but has less.
EMPTY = a_host('empty', num_io_ops=1)
QUIET = a_host('quiet', free_ram_mb=24576)
SMALL = a_host('small', free_ram_mb=8192, num_io_ops=2)


def sentence(*records, **kwargs):
    line, = why_pick(a_matrix(*records), **kwargs).sentences()
    return line


def test_a_small_gap_is_not_rounded_to_zero():
    assert '(+0.004 of a gap of 0.004 to b)' in sentence(
        a_host('a'), a_host('b', vcpus_used=1), a_host('c', vcpus_used=1100))


def test_weighers_for_and_against_the_pick_are_named():
    """And the host that would be first without each important weigher."""
    assert sentence(a_host('a'), a_host('b', free_ram_mb=8192,
                                        vcpus_used=8)) == (
        'a is first because of RAMWeigher (+0.75 of a gap of 0.78 to b) and '
        'CPUWeigher (+0.03)')
    assert sentence(EMPTY, QUIET, SMALL) == (
        'quiet is first because of IoOpsWeigher (+0.50 of a gap of 0.25 to '
        'empty); RAMWeigher opposed; without IoOpsWeigher empty would be '
        'first')


def test_the_only_host_that_fits_is_first_without_a_weigher():
    assert sentence(a_host('a'), full('b')) == 'a is the only host that fits'


def test_hosts_of_its_weight_are_counted():
    same = [a_host(name) for name in 'abc']

    assert sentence(*same) == (
        'a weighs as much as all hosts that fit; tie of 3, first in their '
        'order')
    assert sentence(*same, selector=HostSelector(0.0, 1), picked=1) == (
        'b weighs as much as all hosts that fit; tie of 3, drawn by seed')


def test_hosts_that_are_drawn_from_count_as_tied():
    small = [a_host(f'a{i}', free_ram_mb=30000 - i) for i in range(5)]

    assert why_pick(a_matrix(*small), selector=HostSelector(None, 3)).tied == 3
    assert why_pick(a_matrix(*small), selector=HostSelector(0.5, 1)).tied == 5


def test_the_gap_is_to_the_best_host_that_weighs_less():
    found = why_pick(a_matrix(a_host('a'), a_host('b'), SMALL))

    assert (found.tied, found.next_host) == (2, 'small')
    assert found.gap == sum(part.adds for part in found.parts) == 1.75


def test_a_host_without_cell_mapping_has_a_warning():
    matrix = a_matrix(a_host('a'), full('b'))
    matrix.hosts.cells = Cells(unmapped=frozenset('a'))
    found = why_pick(matrix)

    assert found.to_dict()['mapped'] is False
    assert found.sentences()[1:] == [
        'no cell mapping leads to a: nova-conductor does not build there; '
        'run nova-manage cell_v2 discover_hosts']


def test_where_no_host_fits_none_is_picked():
    assert why_pick(a_matrix(full('a'))) is None
