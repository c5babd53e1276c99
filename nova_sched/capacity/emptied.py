"""Hosts as they are without instances."""

import dataclasses

import numpy as np


def emptied(table):
    """Return a HostTable without the usage of instances.

    NUMA cells are free as a whole.  Devices that instances hold are not in the
    pools of a host, so they stay unavailable.  What a host reserves for itself
    is known only without instances; then its RAM and disk stay as they are.
    """
    columns, size = table.columns, table.size
    is_empty = columns['num_instances'] == 0
    return table.with_columns(
        free_ram_mb=np.where(is_empty, columns['free_ram_mb'],
                             columns['total_usable_ram_mb']),
        free_disk_mb=np.where(is_empty, columns['free_disk_mb'],
                              columns['total_usable_disk_gb'] * 1024),
        vcpus_used=[0] * size, num_instances=[0] * size,
        num_io_ops=[0] * size,
        numa_topology=[_free(topology) for topology
                       in columns['numa_topology'].items()])


def _free(topology):
    if topology is None or not topology.cells:
        return topology
    return topology.with_cells(dataclasses.replace(
        cell, memory_usage=0, cpu_usage=0, pinned_cpus=frozenset(),
        pages=tuple(pages._replace(used=0) for pages in cell.pages))
        for cell in topology.cells)
