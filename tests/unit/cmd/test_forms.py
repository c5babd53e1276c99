"""Values as people and programs read them."""

import pytest

from nova_sched.cmd.manage import forms


@pytest.mark.parametrize(('value', 'text'), [
    (0, '0'), (-0.0, '0'), (-0.00001, '0'), (8002000.0, '8,002,000'),
    (1.5, '1.5'), (-2.0, '-2'), (16.0, '16'), (0.12345, '0.1235')])
def test_a_number_has_no_exponent_and_no_zero_below_zero(value, text):
    assert str(forms.number(value)) == text
    assert forms.number(value).machine_readable() == value


@pytest.mark.parametrize(('value', 'memory', 'disk'), [
    (0, '0 MB', '0 GB'), (-512, '-512 MB', '-0.5 GB'),
    (32256, '32,256 MB', '31.5 GB'),
    (5120000, '5,120,000 MB', '5,000 GB')])
def test_memory_is_in_mb_and_disk_in_gb(value, memory, disk):
    for made, text in ((forms.megabytes(value), memory),
                       (forms.gigabytes(value, value), disk)):
        assert (str(made), made.machine_readable()) == (text, value)
