#!/usr/bin/env bash
# Makes the virtual environment .venv-nova with the real Nova that the interop
# tests ask, unless it is there:
#
#   ./tools/nova-venv.sh
set -eu
source "$(dirname "$0")/venv.sh"
wanted=$top/tests/interop/requirements.txt
release=$top/constraints-2026.2.txt
venv=$top/.venv-nova

stamp=$(cat "$wanted" "$release" | sha256sum)
[ "$(cat "$venv/stamp" 2>/dev/null)" = "$stamp" ] && exit
make_python
echo "Making $venv; this takes two minutes the first time"
python3 -m venv --clear "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check \
    --no-compile -r "$wanted" -c "$release"
echo "$stamp" >"$venv/stamp"
