#!/usr/bin/env bash
# Shows the service at work on a fake cloud of 20 hosts.
#
#   ./tools/demo.sh [--transport-url rabbit://user:password@host:5672/]
set -eu
source "$(dirname "$0")/venv.sh"
make_venv
exec "$venv/bin/python" "$top/tools/demo.py" "$@"
