"""The architecture, read from the imports.

A file imports only from floors below its own.  Within a floor no modules
import each other in a circle, no rooms of the process floor do, the rules and
the ports do not know each other, and ``rules`` does not know its users.
"""

import ast
import functools
import graphlib
import pathlib

import nova_sched

ROOT = pathlib.Path(nova_sched.__file__).parent

GROUND, TABLE, RULES, PORTS, DECISION, DOOR, PROCESS = range(7)

#: Floor -> its rooms, and the few files of Nova's names that are not in one.
#: Longest prefix counts.
ROOMS = {
    GROUND: """
        compat.current_hosts compat.legacy compat.nova_exception
        concurrency conf context exception nova_compat objects options
        printable remote shared_region toml_files version""",
    TABLE: 'hardware hosts',
    RULES: """
        filters rules scheduler.filters scheduler.instance_counts
        scheduler.ranking scheduler.refusals scheduler.utils
        scheduler.weights weights""",
    PORTS: """
        compat.provider_tree compat.report_methods db network
        placement rpc scheduler.client.report
        scheduler.scheduler_options service_adapter single_flight
        timed_http""",
    DECISION: """
        capacity compat dry_run.trial explain inventory plugins scheduler""",
    DOOR: """
        compat.nova.client compat.nova.rpcapi scheduler.client
        scheduler.manager scheduler.rpcapi""",
    PROCESS: """
        cloud cmd compat.nova.manager daemon dry_run health observe
        page preflight service testing""",
}
FLOORS = {f'nova_sched.{room}': floor for floor, rooms in ROOMS.items()
          for room in rooms.split()}

#: What a rule may not touch: the world, the clock, and chance.
NOT_IN_RULES = {'sqlalchemy', 'oslo_db', 'oslo_messaging', 'requests',
                'keystoneauth1', 'socket', 'ssl', 'http', 'urllib', 'random',
                'secrets', 'time'}
#: What only writes and reads text, in spite of its library's name.
MERE_TEXT = {'urllib.parse'}
#: TrustedFilter's questions to its attestation server.
MAY_TALK = {'nova_sched.rules.attestation'}
#: Nova's global configuration, which plug-ins know and nothing else reads.
FOR_PLUG_INS = 'nova_sched.compat.nova.conf'
CLOCKS = {'now', 'utcnow', 'today'}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob('*.py'))}


def floor(name):
    """A module's floor; that of a module without one is the ground."""
    while name not in FLOORS and name:
        name = name.rpartition('.')[0]
    return FLOORS.get(name, GROUND)


def on(*floors):
    """Names of the modules on these floors: list."""
    return [name for name in MODULES if floor(name) in floors]


@functools.cache
def nodes(name):
    """All parts of a module's file: list of ast.AST."""
    return list(ast.walk(ast.parse(MODULES[name].read_text())))


@functools.cache
def imports(name):
    """The modules that a module imports anywhere in its file: a set."""
    found = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{name} imports relatively'
            for alias in node.names:
                member = f'{node.module}.{alias.name}'
                found.add(member if member in MODULES else node.module)
    return found


def libraries(name):
    """The libraries that a module imports from: a set of their names."""
    return {other.partition('.')[0] for other in imports(name) - MERE_TEXT}


def lines(name, wanted):
    """Where a module reads attributes of these names: list of texts."""
    return [f'line {node.lineno} reads .{node.attr}' for node in nodes(name)
            if isinstance(node, ast.Attribute) and node.attr in wanted]


def offenders(names, wrong):
    """What is wrong with which modules: one text a thing.

    wrong: function from a module's name to what is wrong there.
    """
    return [f'{name}: {what}' for name in names for what in sorted(
        wrong(name))]


def test_a_module_knows_only_the_floors_below_and_its_own():
    assert offenders(MODULES, lambda name: {
        f'imports {other}, of a floor above'
        for other in imports(name) & set(MODULES)
        if floor(other) > floor(name)}) == []


def test_no_imports_make_a_circle():
    order = graphlib.TopologicalSorter(
        {name: imports(name) & set(MODULES) for name in MODULES})

    assert set(order.static_order()) == set(MODULES)


def test_rooms_of_the_process_floor_make_no_circle():
    def room(name):
        return name.split('.')[1]

    order = graphlib.TopologicalSorter()
    for name in on(PROCESS):
        order.add(room(name), *(
            room(other) for other in imports(name) & {*on(PROCESS)}
            if room(other) != room(name)))

    assert 'daemon' in set(order.static_order())


def test_only_compat_imports_compat():
    compat = {name for name in MODULES
              if f'{name}.'.startswith('nova_sched.compat.')}

    assert offenders(set(MODULES) - compat, lambda name: {
        f'imports {other}' for other in imports(name) & compat}) == []


def test_rules_and_ports_do_not_know_each_other():
    strangers = {RULES: PORTS, PORTS: RULES}

    assert offenders(on(RULES, PORTS), lambda name: {
        f'imports {other}' for other in imports(name) & set(MODULES)
        if floor(other) == strangers[floor(name)]}) == []


def test_rules_do_not_know_the_filters_and_weighers_that_share_them():
    rules = {name for name in MODULES
             if name.startswith('nova_sched.rules.')}

    assert offenders(rules, lambda name: {
        f'imports {other}' for other in imports(name) & {*on(RULES)} - rules
    }) == []


def test_a_rule_touches_neither_the_world_nor_the_clock_nor_chance():
    assert offenders(
        [name for name in on(RULES) if name not in MAY_TALK],
        lambda name: [
            *(f'imports {other}' for other in libraries(name) & NOT_IN_RULES),
            *lines(name, CLOCKS)]) == []


def test_nothing_is_built_on_eventlet():
    assert offenders(MODULES, lambda name: libraries(name) & {
        'eventlet', 'greenlet', 'gevent'}) == []


def test_only_the_process_floor_may_use_the_global_configuration():
    assert offenders(
        [name for name in MODULES
         if floor(name) < PROCESS and name != FOR_PLUG_INS],
        lambda name: lines(name, {'CONF'})) == []


def test_every_module_is_in_a_room():
    """A new file or folder is put on a floor on purpose."""
    placed = {name for name in MODULES
              if any(name == room or name.startswith(f'{room}.')
                     for room in FLOORS)}

    assert placed == set(MODULES) - {'nova_sched'}


def test_every_floor_is_of_a_module():
    """The table names nothing that is not there."""
    assert set(FLOORS) <= set(MODULES)
