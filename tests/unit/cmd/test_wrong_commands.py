"""What is wrong in a command is named, with what to do about it.

In few lines, without a traceback, and with the exit code of the page
"Send a request by hand".
"""

import pytest

from nova_sched.cmd.manage import exits

#: Of the hosts a and b, both up.
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

W, N, A = exits.WRONG, exits.NO, exits.NOT_ASKED

#: (command line, exit code, what is named, the next step).
WRONG = [
    # Commands and options.
    ('plan', W, 'plan is no command', 'did you mean request plan?'),
    ('decision', W, 'decision is no command', 'did you mean decision explain'),
    ('hosts list', W, 'hosts list is no command', 'did you mean host list?'),
    ('help requst', W, 'requst is no command',
     'did you mean request'),
    ('frobnicate', W, 'frobnicate is no command', '--help"'),
    ('request plan --flavr m1', W, '--flavr', 'did you mean --flavor?'),
    ('request plan --count two', W, "--count: invalid int value: 'two'",
     '--help"'),
    ('request plan --group-policy anti', W, "'anti'", 'anti-affinity'),
    ('request plan --hint same_host', W, 'invalid KEY=VALUE value', '--help"'),
    ('request plan --or-flavor small', W,
     'invalid NAME=RAM_MB,VCPUS,DISK_GB', '--help"'),
    ('request plan --host-ratio gpu=2', W, "invalid RESOURCE=RATIO value: "
     "'gpu=2'", '--help"'),
    ('decision show', W, 'NUMBER|REQUEST_ID|INSTANCE', '--help"'),
    ('decision list --limit many', W, "--limit: invalid int value: 'many'",
     '--help"'),
    ('decision list --kind full', W, "'full'", 'no_capacity'),
    ('cloud fake --hosts 0', W, '--hosts: 0', 'whole number of 1 or more'),
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
    ('request plan --cloud NO_CLOUD', W, 'NO_CLOUD', 'has no "services"'),
    ('cloud load NO_CLOUD', W, 'NO_CLOUD', 'has no "services"'),
    ('cloud export CONF', W, 'CONF cannot be written', 'name another file'),
    ('request plan --html CONF', W, '--html', 'name another file'),
    ('shadow report /no/such.json', W, '/no/such.json cannot be read',
     '[nova_sched] shadow_report'),
    ('shadow report DEEP', W, 'no line of a shadow',
     '[nova_sched] shadow_report'),
    # What is asked for.
    ('request plan --without RamFiltr', W, '--without RamFiltr',
     'did you mean RamFilter?'),
    ('request plan --enable NumaFilter', W, '--enable NumaFilter',
     'did you mean NUMATopologyFilter?'),
    ('request plan --set ram=2', W, '--set ram=2', 'SECTION.OPTION=VALUE'),
    ('request plan --set DEFAULT.ram_alocation_ratio=2', W,
     'DEFAULT.ram_alocation_ratio', 'did you mean DEFAULT.ram_allocation'),
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
    # Of a command that answers the answer is the rest.
    assert len(ended.err.splitlines()) <= 2
