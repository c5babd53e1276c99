"""The hosts as data: columns, table, one request's copy of it, its record."""
