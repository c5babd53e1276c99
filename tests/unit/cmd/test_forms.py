"""Values as people and programs read them."""

import pytest

from nova_sched.cmd.manage import forms


@pytest.mark.parametrize(('value', 'text'), [
    (0, '0'), (-0.0, '0'), (-0.00001, '0'), (8002000.0, '8,002,000'),
    (1.5, '1.5'), (-2.0, '-2'), (16.0, '16'), (0.12345, '0.1235')])
def test_a_number_has_no_exponent_and_no_zero_below_zero(value, text):
    assert str(forms.number(value)) == text
    assert forms.number(value).machine_readable() == value


@pytest.mark.parametrize(('value', 'text'), [
    (0, '0 MB'), (-512, '-512 MB'), (8192, '8,192 MB'),
    (5120000, '5,120,000 MB')])
def test_memory_is_told_in_mb_however_much_it_is(value, text):
    assert str(forms.megabytes(value)) == text
    assert forms.megabytes(value).machine_readable() == value


@pytest.mark.parametrize(('value', 'text'), [
    (0, '0 GB'), (-512, '-0.5 GB'), (5120000, '5,000 GB'),
    (32256, '31.5 GB')])
def test_disk_is_told_in_gb(value, text):
    assert str(forms.gigabytes(7, value)) == text
    assert forms.gigabytes(7, value).machine_readable() == 7
