"""Finding the classes of rules, as ``nova.loadables``.

``find_classes`` finds the built-in rules of a package.  BaseLoader is for
plug-ins that load and run rules themselves; the service uses
``plugins.loading``, which also checks classes.
"""

import importlib
import inspect
import pkgutil

from oslo_utils import importutils

from nova_sched import exception


class BaseLoader:
    """Finds classes that derive from a base class.

    It searches the modules of the package whose ``__init__`` defines the
    derived loader class.
    """

    def __init__(self, loadable_cls_type):
        self.loadable_cls_type = loadable_cls_type
        self.package = type(self).__module__

    def get_all_classes(self):
        """Return the public classes in the modules of the package: list.

        Abstract classes and classes called Base... are left out.
        """
        return find_classes(self.package, self.loadable_cls_type)

    def get_matching_classes(self, loadable_class_names):
        """Return the classes that dotted paths name: list.

        A path may also name a function that returns classes.
        Raises ClassNotFound for any other path.
        """
        classes = []
        for path in loadable_class_names:
            try:
                target = importutils.import_class(path)
            except (ImportError, ValueError) as error:
                raise exception.ClassNotFound(
                    class_name=path, exception=error) from error
            if is_rule(target, self.loadable_cls_type):
                classes.append(target)
            elif inspect.isfunction(target):
                classes += target()
            else:
                raise exception.ClassNotFound(
                    class_name=path,
                    exception='Not a class of the correct type')
        return classes


def made(rule):
    """Return a rule; for a class, as in Juno, an object of it."""
    return rule() if inspect.isclass(rule) else rule


def find_classes(package, base, order=()):
    """Return the public classes derived from ``base`` in a package: list.

    package: dotted name of a package; all its modules are imported.
    Abstract classes, classes called Base... and classes that a module merely
    imports are left out.  Classes in ``order`` come first, then the others by
    name.
    """
    by_name = {}
    for info in pkgutil.walk_packages(
            importlib.import_module(package).__path__, f'{package}.'):
        module = importlib.import_module(info.name)
        for name, member in vars(module).items():
            if (is_rule(member, base) and not name.startswith('Base') and
                    not inspect.isabstract(member) and
                    member.__module__ == module.__name__):
                by_name[member.__name__] = member
    position = {name: number for number, name in enumerate(order)}
    return sorted(by_name.values(), key=lambda cls: (
        position.get(cls.__name__, len(position)), cls.__name__))


def is_rule(member, base):
    """Return whether a module member is a public class derived from ``base``.
    """
    return (inspect.isclass(member) and issubclass(member, base) and
            member is not base and not member.__name__.startswith('_'))
