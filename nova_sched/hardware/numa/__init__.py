"""NUMA: fitting the cells of guests on the cells of hosts."""
