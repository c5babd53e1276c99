"""As ``nova.loadables``: finding the classes of rules.

``find_classes`` finds the rules that come with the service in their package.
BaseLoader is for plug-ins that load and run rules themselves; the service does
so by ``plugins.loading``, which checks what it is given.
"""

import importlib
import inspect
import pkgutil

from oslo_utils import importutils

from nova_sched import exception


class BaseLoader:
    """Finds classes of one kind.

    A class derived from it stands in a package's ``__init__``, whose modules
    are searched.
    """

    def __init__(self, loadable_cls_type):
        self.loadable_cls_type = loadable_cls_type
        self.package = type(self).__module__

    def get_all_classes(self):
        """Return the public classes of that kind in the modules of the
        package.

        Abstract ones and those called Base... are left out.
        """
        return find_classes(importlib.import_module(self.package),
                                      self.loadable_cls_type)

    def get_matching_classes(self, loadable_class_names):
        """Return the classes that dotted paths name: list.

        A path leads to a class or to a function that returns classes.
        Raises ClassNotFound for any other.
        """
        found = []
        for path in loadable_class_names:
            try:
                target = importutils.import_class(path)
            except (ImportError, ValueError) as error:
                raise exception.ClassNotFound(
                    class_name=path, exception=error) from error
            if is_rule(target, self.loadable_cls_type):
                found.append(target)
            elif inspect.isfunction(target):
                found += target()
            else:
                raise exception.ClassNotFound(
                    class_name=path,
                    exception='Not a class of the correct type')
        return found


def made(rule):
    """Return a rule; of a class, as handlers were given in Juno, an object."""
    return rule() if inspect.isclass(rule) else rule


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
