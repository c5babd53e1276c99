"""What hosts are made of: NUMA cells and PCI devices, and what fits."""
