"""Which of oslo.messaging's private parts are used, and where."""

import ast
import functools
import pathlib

import nova_sched
from nova_sched import rpc
from nova_sched.rpc import broadcast as rpc_broadcast
from nova_sched.rpc import declarations as rpc_declarations
from nova_sched.rpc import driver as rpc_driver
from nova_sched.rpc import listener as rpc_listener
from nova_sched.rpc import replies as rpc_replies
from nova_sched.rpc import server as rpc_server
from tests.builders import rules

ROOT = pathlib.Path(nova_sched.__file__).parent
PATHS = sorted(ROOT.rglob('*.py'))
MODULES = [pathlib.Path(module.__file__) for module in (
    rpc_server, rpc_broadcast, rpc_declarations, rpc_driver, rpc_listener,
    rpc_replies)]

#: What these use of objects of oslo.messaging uninvited.
PRIVATE = {'_listen', '_create_listener', '_on_incoming', '_process_incoming',
           '_executor_cls', '_work_executor', '_poll_style_listener',
           '_watchdog',
           'orig_msg_id', '_obsolete_reply_queues', 'message_cls',
           '_send_reply', '_get_connection', '_get_exchange',
           '_connection_pool', 'connection_cls', '_connection_lock',
           '_consumers', '_new_tags', '_poll_timeout', '_set_current_channel',
           '_transform_transport_url', '_callback', '_shutdown', '_shutoff',
           '_message_operations_handler', '_get_quorum_configurations',
           '_q_manager'}

#: Those that other files have of their own, by the same name.
COMMON = {'_callback', '_listen'}

#: The modules of its own that others import: file -> names.
ALLOWED = {
    'rpc/declarations.py': {'oslo_messaging._drivers.common'},
    'rpc/driver.py': {'oslo_messaging._drivers.base',
                      'oslo_messaging._drivers.common',
                      'oslo_messaging._drivers.impl_rabbit'},
    'rpc/listener.py': {'oslo_messaging._drivers.amqpdriver'},
    'rpc/replies.py': {'oslo_messaging._drivers.amqpdriver'},
    # Which versions of TLS it knows is asked where its options are checked.
    'conf/messaging.py': {'oslo_messaging._drivers.impl_rabbit'},
    # Options are given older names and other defaults where they are.
    'options/libraries.py': {'oslo_messaging._drivers.amqp',
                             'oslo_messaging._drivers.impl_rabbit'},
}

#: Libraries in which nothing is assigned to.
LIBRARIES = ('oslo_messaging', 'amqp', 'kombu')


@functools.cache
def tree(path):
    """A file, parsed."""
    return ast.parse(path.read_text())


def private(name):
    return name.startswith('_') and not name.startswith('__')


def attributes(path):
    """The names of attributes that a file reads or writes, its own methods
    among them: set.
    """
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def own(path):
    """Names that a file gives to its own functions, classes and attributes:
    set.
    """
    found = {node.name for node in ast.walk(tree(path))
             if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = getattr(node, 'targets', None) or [node.target]
            found |= {part.attr for target in targets
                      for part in ast.walk(target)
                      if isinstance(part, ast.Attribute)}
    return found - PRIVATE


def private_imports(path):
    """Private parts of oslo.messaging that a file imports or reaches into by
    the library's name: set.
    """
    found = set()
    for node in ast.walk(tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f'{node.module}.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        found |= {name for name in names
                  if name.startswith(('oslo_messaging.', 'messaging.'))
                  and any(map(private, name.split('.')))}
    return found


def assignments(path):
    """Assignments of a file to what it imports from LIBRARIES: set."""
    imported = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = getattr(node, 'module', None)
            imported |= {alias.asname or alias.name: origin or alias.name
                         for alias in node.names}
    names = {name for name, origin in imported.items()
             if origin.partition('.')[0] in LIBRARIES}
    targets = [target for node in ast.walk(tree(path))
               if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
               for target in getattr(node, 'targets', None) or [node.target]]
    return {text for target in targets if isinstance(target, ast.Attribute)
            for text in [ast.unparse(target)]
            if text.partition('.')[0] in names}


class TestPrivateParts:
    """What a release of oslo.messaging may change without a word."""

    def test_are_used_by_no_other_module(self):
        found = {}
        for path in PATHS:
            name = str(path.relative_to(ROOT))
            uses = private_imports(path) - ALLOWED.get(name, set())
            if path not in MODULES:
                uses |= attributes(path) & (PRIVATE - COMMON)
            if uses:
                found[name] = uses
        assert found == {}

    def test_are_imported_where_that_is_allowed(self):
        assert {name: private_imports(ROOT / name)
                for name in ALLOWED} == ALLOWED

    def test_are_those_that_the_docstring_of_the_server_names(self):
        """Other private names of these modules are their own."""
        used = set()
        for path in MODULES:
            used |= {name for name in attributes(path)
                     if private(name) and name not in own(path)}

        assert used == {name for name in PRIVATE if private(name)}
        assert {name for name in PRIVATE
                if f'``{name}``' not in rpc_server.__doc__} == set()
        assert {name for path in MODULES for name in private_imports(path)
                if f'``{name.removeprefix("oslo_messaging.")}``'
                not in rpc_server.__doc__} == set()

    def test_are_there_in_the_installed_version(self):
        conf = rules.a_conf(DEFAULT__transport_url='kombu+memory://')
        made = rpc.get_server(rpc.get_transport(conf), conf, [])
        made.start()
        listener = made.listener._listener
        connection = listener.conn.connection
        request = rpc_listener.Request(
            listener, {}, {}, None, 'id', 'queue', None, None, None)
        held = [made, made.transport, made.dispatcher,
                made.listener._listener, listener, request,
                listener.driver, listener.driver._connection_pool,
                connection, *connection._consumers]
        try:
            missing = {name for name in PRIVATE
                       if not any(hasattr(each, name) for each in held)}
        finally:
            made.stop()
            made.wait()
        assert missing == set()


def test_nothing_of_the_libraries_is_assigned_to():
    assert {str(path.relative_to(ROOT)): found for path in PATHS
            if (found := assignments(path))} == {}
