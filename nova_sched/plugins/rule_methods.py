"""What is wrong with a method of a filter or weigher, without calling it."""

import dis
import inspect

#: Method -> what it is called with.
_ARGUMENTS = {
    'host_passes': ('host_state', 'spec_obj'),
    '_filter_one': ('obj', 'spec_obj'),
    'filter_all': ('filter_obj_list', 'spec_obj'),
    'mask': ('hosts', 'spec_obj'), 'keep': ('hosts', 'spec_obj'),
    '_weigh_object': ('host_state', 'weight_properties'),
    'weigh_objects': ('weighed_obj_list', 'weight_properties'),
    'column': ('hosts', 'spec_obj'), 'raw': ('hosts', 'spec_obj')}


def fault(plugin, names):
    """Return what is wrong with a method of a rule, in words; '' if nothing.

    plugin: a filter or weigher.  names: of those of its methods to look at.
    """
    for name in names:
        method, arguments = getattr(plugin, name), _ARGUMENTS[name]
        if not _takes(method, arguments):
            return (f'its {name}{inspect.signature(method)} is called with '
                    f'({", ".join(arguments)}); give it these arguments')
        if _returns_nothing(method):
            return (f'its {name} never returns a value; is a return '
                    'statement missing?')
    return ''


def _takes(method, arguments):
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    except ValueError:
        # Of what is not written in Python nothing is known.
        return True
    return True


def _returns_nothing(method):
    """Return whether all that a method returns, if it does, is None."""
    function = inspect.unwrap(getattr(method, '__func__', method))
    if not inspect.isfunction(function) or inspect.isgeneratorfunction(
            function):
        return False
    found, before = [], None
    for each in dis.get_instructions(function):
        if each.opname == 'RETURN_CONST':
            found.append(each.argval is None)
        elif each.opname == 'RETURN_VALUE':
            found.append(before.opname == 'LOAD_CONST'
                         and before.argval is None)
        before = each
    return bool(found) and all(found)
