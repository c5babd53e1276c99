"""As ``nova.loadables``: finding the classes of rules, for plug-ins that load
and run rules themselves.

The service does so by ``plugins.loading``, which checks what it is given.
"""

import importlib
import inspect

from oslo_utils import importutils

from nova_sched import exception
from nova_sched.rules import built_ins


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
        return built_ins.find_classes(importlib.import_module(self.package),
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
            if built_ins.is_rule(target, self.loadable_cls_type):
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
