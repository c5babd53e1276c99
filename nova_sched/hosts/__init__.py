"""Hosts as data: columns, table, private snapshots, decision records."""
