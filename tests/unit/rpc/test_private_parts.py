"""Uses of oslo.messaging's private parts."""

import ast
import functools
import pathlib
import re

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

#: Parts of oslo.messaging that these modules use, as the server lists them.
LISTED = {*re.findall('``(.+?)``', rpc_server.__doc__.partition(
    'Private parts of oslo.messaging')[2])} - {'requirements.txt'}
PRIVATE = {name for name in LISTED if '.' not in name}

#: Names that other files use for attributes of their own.
COMMON = {'_callback', '_listen'}

#: Private modules that a file may import: file -> names.
ALLOWED = {
    'rpc/declarations.py': {'oslo_messaging._drivers.common'},
    'rpc/driver.py': {'oslo_messaging._drivers.base',
                      'oslo_messaging._drivers.common',
                      'oslo_messaging._drivers.impl_rabbit'},
    'rpc/listener.py': {'oslo_messaging._drivers.amqpdriver'},
    'rpc/replies.py': {'oslo_messaging._drivers.amqpdriver'},
    # The check of options reads the supported versions of TLS.
    'conf/messaging.py': {'oslo_messaging._drivers.impl_rabbit'},
    # Options get older names and other defaults.
    'options/libraries.py': {'oslo_messaging._drivers.amqp',
                             'oslo_messaging._drivers.impl_rabbit'},
}


@functools.cache
def tree(path):
    """A file, parsed."""
    return ast.parse(path.read_text())


def private(name):
    return name.startswith('_') and not name.startswith('__')


def attributes(path):
    """The names of a file's attributes and functions: set."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def own(path):
    """Names that a file defines: functions, classes, attributes: set."""
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
    """Private parts of oslo.messaging that a file imports or names: set."""
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


class TestPrivateParts:
    """A release of oslo.messaging may change them without notice."""

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

    def test_are_imported_by_the_allowed_files(self):
        assert {name: private_imports(ROOT / name)
                for name in ALLOWED} == ALLOWED

    def test_are_listed_in_the_docstring_of_the_server(self):
        used = set()
        for path in MODULES:
            used |= {name for name in attributes(path)
                     if private(name) and name not in own(path)}

        assert used == {name for name in PRIVATE if private(name)}
        assert {name.removeprefix('oslo_messaging.') for path in MODULES
                for name in private_imports(path)} <= LISTED

    def test_exist_in_the_installed_version(self):
        conf = rules.a_conf(DEFAULT__transport_url='kombu+memory://')
        made = rpc.get_server(rpc.get_transport(conf), conf, [])
        made.start()
        listener = made.listener._listener
        connection = listener.conn.connection
        request = rpc_listener.Request(
            listener, {}, {}, None, 'id', 'queue', None, None, None)
        held = [made, made.transport, made.dispatcher,
                made.listener._adapter, listener, request,
                listener.driver, listener.driver._connection_pool,
                connection, *connection._consumers]
        try:
            missing = {name for name in PRIVATE
                       if not any(hasattr(each, name) for each in held)}
        finally:
            made.stop()
            made.wait()
        assert missing == set()
