"""All filters and weighers that Nova has had: ``nova_classes.toml``."""

from nova_sched import toml_files

_TABLE = toml_files.read('nova_classes.toml', __package__)
FILTER_MODULES, WEIGHER_MODULES = _TABLE['filters'], _TABLE['weighers']
#: Filter -> the Nova release that removed it.
REMOVED_FILTERS = _TABLE['removed']

#: Weigher -> its path in Nova.
WEIGHER_PATHS = {
    name: f'nova.scheduler.weights.{module}.{name}'
    for module, names in WEIGHER_MODULES.items() for name in names}
