"""Extra spec operators."""

import pytest

from nova_sched import exception
from nova_sched.scheduler.filters.extra_specs_ops import match
from nova_sched.scheduler.filters.extra_specs_ops import match_key

CASES = [
    # At least, greater, equal: numbers.
    ('1', '= 1', True), ('2', '= 1', True), ('1', '= 2', False),
    ('2', '!= 1', True), ('1', '!= 1.0', False), ('nan', '!= nan', True),
    # There are no numeric < and >.
    ('3', '> 2', False), ('> 2', '> 2', True), ('1', '< 2', False),
    # Text.
    ('a', 's== a', True), ('ab', 's== a', False), ('x', 's== x y', True),
    ('2', 's< 12', False), ('12', 's< 2', True), ('a', 's< a', False),
    ('a', 's<= a', True), ('b', 's> a', True), ('a', 's> a', False),
    # Parts of text.
    ('12311321', '<in> 11', True), ('12310321', '<in> 11', False),
    ("['aes', 'mmx']", '<all-in> aes mmx', True),
    ("['mmx', 'aes']", '<all-in> mmx', True),
    ("['mmx']", '<all-in> mmx txt', False),
    # Alternatives; text between them is ignored.
    ('a', '<or> a', True), ('b', '<or> a xx b', True),
    ('b', '<or> a <or> b', True), ('b', '<or> a b', False),
    ('c', '<or> a <or> b', False), ('a', '<or> a <or>', True),
    # No operator: the very text.
    ('1', '1', True), ('1.0', '1', False), ('', '', True), ('a', '', False),
    ('>=5', '>=5', True), ('6', '>=5', False), (' a', ' a', True),
    ('a', ' a', False),
    # An operator needs a value and an operand.
    (None, '= 1', False), (None, '<or> a', False), (None, 's!= a', False),
    (None, 'a', False), (None, '<or>', False),
    ('', '=', False), ('', 's==', False), ('', '<in>', False),
    ('', '<all-in>', False),
]


@pytest.mark.parametrize(('value', 'requirement', 'meets'), CASES)
def test_compares_a_value_with_a_requirement(value, requirement, meets):
    assert match(value, requirement) is meets


@pytest.mark.parametrize(('value', 'requirement'), [
    ('a', '= 1'), ('1', '>= a'), ('', '== 1'), ('1 2', '!= 1')])
def test_numeric_operators_refuse_text(value, requirement):
    with pytest.raises(ValueError):
        match(value, requirement)


def test_or_needs_an_alternative():
    with pytest.raises(IndexError):
        match('a', '<or>')


@pytest.mark.parametrize(('value', 'requirement', 'words'), [
    ('secret', '>= 1', "flavor.extra_specs.cores = '>= 1': compares numbers"),
    ('1', '== one', "flavor.extra_specs.cores = '== one': compares numbers"),
    ('1', '== ' + 'x' * 5000, 'flavor.extra_specs.cores = '),
    ('1', '<or>', "flavor.extra_specs.cores = '<or>': names no alternative")])
def test_a_refusal_names_extra_spec_and_notes_value(value, requirement, words):
    with pytest.raises(exception.InvalidInput) as failure:
        match_key('cores', value, requirement)

    assert words in str(failure.value)
    assert 'secret' not in str(failure.value)
    assert len(str(failure.value)) < 250
    assert failure.value.__notes__ == [f'at {value!r}']
