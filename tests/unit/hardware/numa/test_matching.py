"""Whether guest cells can have host cells to themselves."""

import pytest

from nova_sched.hardware.numa.matching import Matching


@pytest.mark.parametrize(('fits', 'impossible'), [
    ({(0, 0), (1, 1)}, False), ({(0, 1), (1, 0)}, False),
    ({(0, 0), (1, 0)}, True), ({(0, 0), (0, 1)}, True), (set(), True)])
def test_guest_without_a_match_under_any_verdicts_is_ruled_out(
        fits, impossible):
    """Only then the guest's other ways to Placement are not tried."""
    found = Matching([0, 1], 2, lambda *places: places in fits)

    assert found.is_impossible([0, 1], False, True) == impossible
    assert found.is_ruled_out == impossible


def test_guest_is_not_ruled_out_by_verdicts_of_one_attempt():
    found = Matching([0, 1], 1, lambda *_: True)

    assert found.is_impossible([0], True, True, good={}, bad={0: 0b11})
    assert not found.is_ruled_out
