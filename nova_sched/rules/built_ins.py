"""The rules that come with the service: classes found in their package."""

import importlib
import inspect
import pkgutil


def find_classes(package, base, order=()):
    """Return every public class derived from ``base`` in a package: list.

    package: an imported package or its dotted name; all its modules are
    imported. Abstract classes, classes called Base... and classes that a
    module merely imports are left out. They come in the order of
    ``order``, others behind them by name. Errors of an import are not caught.
    """
    if isinstance(package, str):
        package = importlib.import_module(package)
    found = {}
    for info in pkgutil.walk_packages(package.__path__,
                                      package.__name__ + '.'):
        module = importlib.import_module(info.name)
        for name, member in vars(module).items():
            if (is_rule(member, base) and not name.startswith('Base') and
                    not inspect.isabstract(member) and
                    member.__module__ == module.__name__):
                found[member.__name__] = member
    position = {name: number for number, name in enumerate(order)}
    return sorted(found.values(), key=lambda cls: (
        position.get(cls.__name__, len(position)), cls.__name__))


def is_rule(member, base):
    """Return whether a member of a module is a public class derived from
    ``base``.
    """
    return (inspect.isclass(member) and issubclass(member, base) and
            member is not base and not member.__name__.startswith('_'))
