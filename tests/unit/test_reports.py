"""Reports of users, as files: see tests/data/reports/README.md."""

import json
import pathlib

import pytest

from nova_sched.cmd import manage
from tests.builders import clouds
from tests.builders import commands

FOLDER = pathlib.Path(__file__).parents[1] / 'data/reports'
ANSWERS = {'fits': 0, 'refused': 1, 'error': 2}

#: List of a cloud -> function that completes a row of it.
ROWS = {'compute_nodes': clouds.a_compute_node, 'services': clouds.a_service,
        'instances': clouds.an_instance, 'aggregates': clouds.an_aggregate,
        'instance_groups': clouds.a_group}
FILES = sorted(FOLDER.glob('*.json'))
CASES = [(file, number) for file in FILES
         for number in range(len(json.loads(file.read_text())['cases']))]


def filled(cloud):
    """Return the complete cloud of a file."""
    hosts = list(dict.fromkeys(
        node['host'] for node in cloud['compute_nodes']))
    made = {'services': [{'host': host} for host in hosts], **cloud}
    for name, row in ROWS.items():
        made[name] = [row(**{key: _text(value) if name == 'compute_nodes'
                             else value for key, value in each.items()})
                      for each in made.get(name, ())]
    return clouds.a_cloud(hosts, **made)


def _text(value):
    return json.dumps(value) if isinstance(value, (dict, list)) else value


@pytest.fixture
def plan(capsys, tmp_path):
    """Function: run "request plan" for a case on a cloud; code and output."""
    def plan(cloud, case):
        config, file = tmp_path / 'plan.conf', tmp_path / 'cloud.json'
        config.write_text('')
        file.write_text(json.dumps(filled(cloud)))
        options = ['--cloud', str(file), *case.get('options', ())]
        if 'spec' in case:
            spec = tmp_path / 'spec.json'
            spec.write_text(json.dumps(case['spec']))
            options += ['--spec', str(spec)]
        with commands.plans_undone():
            code = manage.main(
                ['--config-file', str(config), 'request', 'plan', *options])
        return code, ' '.join(''.join(capsys.readouterr()).split())
    return plan


@pytest.mark.parametrize(('file', 'number'), CASES, ids=[
    f'{file.stem}-{number}' for file, number in CASES])
def test_a_case_has_the_answer_and_texts_of_its_file(file, number, plan):
    report = json.loads(file.read_text())
    case = report['cases'][number]

    code, output = plan(report['cloud'], case)

    assert ANSWERS[case['answer']] == code, (case['name'], output)
    for text in case.get('contains', ()):
        assert text in output, case['name']
    for text in case.get('lacks', ()):
        assert text not in output, case['name']


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.stem)
def test_files_have_the_documented_form(file):
    """A mistyped name would hide its texts."""
    report = json.loads(file.read_text())

    assert {'title', 'source', 'cloud', 'cases'} == report.keys()
    for case in report['cases']:
        assert {'name', 'answer'} <= case.keys() <= {
            'name', 'options', 'spec', 'answer', 'contains', 'lacks'}
