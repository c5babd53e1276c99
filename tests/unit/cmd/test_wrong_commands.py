"""Errors of commands name the wrong word, and the next step.

They are short, have no traceback, and the exit codes of the page "Send a
request by hand".
"""

import pytest

from nova_sched.cmd.manage import exits

#: Configuration for a cloud of the hosts a and b, both up.
FILE = """
[DEFAULT]
transport_url = kombu+memory://
state_path = {folder}
[database]
connection = {url}
"""

#: Name in a command line -> text of the file that stands there.
FILES = {
    'NO_JSON': '{"flavor": ', 'DEEP': '[' * 100_000, 'LIST': '[]',
    'ODD_FIELD': '{"flavour": {}}', 'ODD_VALUE': '{"num_instances": "two"}',
    'NO_CLOUD': '{"compute_nodes": []}',
    'CONF': '[scheduler]\nmax_attempts = many\n',
    'ODD_FILTER': '[filter_scheduler]\nenabled_filters = RamFiltr\n',
    'TEXT': 'no configuration\n'}

W, N, A = exits.WRONG, exits.NO, exits.UNREACHABLE

#: (command line, exit code, text that is named, next step).
WRONG = [
    # Commands and options.
    ('plan', W, 'plan is no command', 'did you mean request plan?'),
    ('decision', W, 'decision is no command', 'did you mean decision explain'),
    ('hosts list', W, 'hosts list is no command', 'did you mean host list?'),
    ('help requst', W, 'requst is no command',
     'did you mean request'),
    ('requst plan', W, 'requst plan is no command', 'mean request plan?'),
    ('decision lst', W, 'decision lst is no command', 'mean decision list?'),
    ('plan --ram 5', W, 'plan is no command', 'did you mean request plan?'),
    ('frobnicate', W, 'frobnicate is no command', '--help"'),
    ('--config-file', W, '--config-file: expected one argument', '--help"'),
    ('request plan --flavr m1', W, '--flavr', 'did you mean --flavor?'),
    ('request plan --count two', W, "--count: invalid int value: 'two'",
     '--help"'),
    ('request plan --group-policy anti', W, "'anti'", 'anti-affinity'),
    ('request plan --hint same_host', W, 'invalid KEY=VALUE value', '--help"'),
    ('request plan --or-flavor small', W,
     'invalid NAME=RAM_MB,VCPUS,DISK_GB', '--help"'),
    ('request plan --host-ratio gpu=2', W, "invalid RESOURCE=RATIO value: "
     "'gpu=2'", '--help"'),
    ('request plan --host-ratio ram=0', W, "invalid RESOURCE=RATIO value: "
     "'ram=0'", '--help"'),
    ('decision show', W, 'NUMBER|REQUEST_ID|INSTANCE', '--help"'),
    ('decision list --limit many', W, "--limit: invalid int value: 'many'",
     '--help"'),
    ('decision list --kind full', W, "'full'", 'no_capacity'),
    *((f'cloud fake --hosts {number}', W, f'--hosts: {number}',
       'whole number of 1 or more') for number in (0, -3, 'many', 1.5)),
    *((f'cloud fake --huge-pages {text}', W, f'--huge-pages: {text}',
       'whole number from 0 to 100') for text in ('half', 101, -1)),
    *((f'cloud fake --ram-ratio {ratio}', W, f'--ram-ratio: {ratio}',
       'number above 0') for ratio in (0, 'inf', 'x')),
    ('config check --from juno', W, 'juno is no release of Nova',
     'queens, 17 or 2018.1'),
    # Files.
    ('--config-file /no/such.conf host list', W, '/no/such.conf', 'file'),
    ('--config-file TEXT host list', W, "TEXT:1, No ':' or '=' found", ''),
    ('--config-dir /no/such host list', W, '--config-dir', 'name one'),
    ('--log-file /no/such/log host list', W, '--log-file /no/such/log',
     'name another file'),
    ('--config-file CONF request plan', W, "[scheduler] max_attempts = 'many'",
     'must be'),
    ('--config-file CONF config check', W, 'max_attempts', 'must be'),
    ('--config-file ODD_FILTER config check', W, 'RamFiltr',
     'did you mean RamFilter?'),
    ('request plan --spec /no/such.json', W, '--spec /no/such.json',
     'cannot be read'),
    ('request plan --spec NO_JSON', W, 'NO_JSON', 'it is not JSON'),
    ('request plan --spec DEEP', W, 'DEEP', 'nested too deep'),
    ('request plan --spec LIST', W, 'LIST', 'must be a JSON object'),
    ('request plan --spec ODD_FIELD', W, 'flavour is not a field',
     'did you mean flavor?'),
    ('request plan --spec ODD_VALUE', W, 'num_instances', 'must be'),
    *((f'{command} {file}', W, file, words)
      for command in ('request plan --cloud', 'cloud load')
      for file, words in (
          ('NO_CLOUD', 'has no "services"'), ('NO_JSON', 'it is not JSON'),
          ('LIST', 'A cloud is a JSON object'), ('DEEP', 'nested too deep'),
          ('/no/such.json', 'No such file'))),
    ('cloud export CONF', W, 'CONF cannot be written', 'name another file'),
    ('cloud export /no/such/x', W, '/no/such/x cannot be written: No such '
     'file', 'name another file'),
    ('request plan --html CONF', W, '--html', 'name another file'),
    ('shadow report /no/such.json', W, '/no/such.json cannot be read',
     '[nova_sched] shadow_report'),
    ('shadow report DEEP', W, 'no line of a shadow',
     '[nova_sched] shadow_report'),
    # Requests.
    ('request plan --without RamFiltr', W, '--without RamFiltr',
     'did you mean RamFilter?'),
    ('request plan --without CoreFilter', W, '--without CoreFilter',
     'no such filter runs'),
    ('request plan --enable NumaFilter', W, '--enable NumaFilter',
     'did you mean NUMATopologyFilter?'),
    ('request plan --enable CorFilter', W, '--enable CorFilter: no such '
     'filter', 'did you mean CoreFilter?'),
    ('request plan --set ram=2', W, '--set ram=2', 'SECTION.OPTION=VALUE'),
    ('request plan --set filter_scheduler.ram_weight_multiplyer=1', W,
     'ram_weight_multiplyer',
     'did you mean filter_scheduler.ram_weight_multiplier?'),
    ('request plan --set nowhere.to_be_found=1', W, '--set', 'there is no '
     'option nowhere.to_be_found'),
    ('request plan --set placement.auth_url=x', W, 'placement.auth_url',
     'counts in a file only'),
    ('request plan --set filter_scheduler.ram_weight_multiplier=much', W,
     "[filter_scheduler] ram_weight_multiplier = 'much'",
     'must be a number'),
    ('request plan --set nova_sched.candidates=mirrors', W, 'mirrors',
     'did you mean mirror?'),
    ('request plan --set scheduler.driver=filter_schedule', W,
     'filter_schedule', 'did you mean filter_scheduler?'),
    ('request plan --set DEFAULT.ram_alocation_ratio=2', W,
     'DEFAULT.ram_alocation_ratio', 'did you mean DEFAULT.ram_allocation'),
    ('request plan --flavor m1', W, '--flavor m1: ', 'give --vcpus, --ram'),
    ('request plan --host c', W, '--host: there is no host c', 'among 2'),
    ('request plan --for resize', W, 'needs an instance', '--instance'),
    ('request plan --instance vm1', W, '--instance vm1', 'not a uuid'),
    ('request plan --group-host a', W, 'server group', '--group-policy'),
    ('request plan --spec LIST --ram 5', W, 'leave out --ram',
     'write it into that file'),
    ('request plan --extra-spec hw:numa_nodes=x', W, 'hw:numa_nodes',
     'must be a whole number'),
    ('request plan --ram 99999999', N, 'RamFilter', 'largest host'),
    ('host show c', N, 'Host c is not known', 'host list'),
    ('host list --zone novaa', N, 'availability zone novaa',
     'did you mean nova?'),
    ('decision show 7', W, 'there is no', 'state_path'),
    ('decision explain req-0', W, 'there is no', 'state_path'),
    # What does not answer.
    ('--database sqlite:////no/such.sqlite host list', A,
     '/no/such.sqlite', 'db sync'),
    ('--database mysql:/wrong host list', W, '[database] connection',
     'mysql+pymysql://USER:PASSWORD@HOST/DATABASE'),
    ('--transport-url amqp://h request call', W, '[DEFAULT] transport_url',
     'rabbit://USER:PASSWORD@HOST:5672/'),
    ('--transport-url rabbit://127.0.0.1:1 ping --timeout 2', A,
     '127.0.0.1:1', 'Check that it runs'),
    ('--transport-url rabbit://127.0.0.1:1 request call --timeout 2', A,
     '127.0.0.1:1', 'Check that it runs'),
]


@pytest.fixture
def command(run, plans, cloud, tmp_path):
    """Function: a command line, with names of FILES, in that cloud."""
    cloud.load(['a', 'b'])
    file = tmp_path / 'nova-sched.conf'
    file.write_text(FILE.format(folder=tmp_path, url=cloud.url))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def command(line):
        words = [str(tmp_path / word) if word in FILES else word
                 for word in line.split()]
        if '--config-file' not in words:
            words[:0] = ['--config-file', file]
        return run(*words)
    return command


@pytest.mark.parametrize(('line', 'code', 'named', 'step'), WRONG,
                         ids=[line for line, *_ in WRONG])
def test_a_wrong_command_names_the_thing_and_the_next_step(
        command, line, code, named, step):
    ended = command(line)
    said = ended.err + ended.out

    assert ended.code == code, ended
    assert named in said
    assert step in said
    assert 'Traceback' not in said
    # The rest of the output is the command's answer.
    assert len(ended.err.splitlines()) <= 2
