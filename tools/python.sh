#!/bin/sh
# Run a Python script with the best interpreter of this machine: sh tools/python.sh SCRIPT [ARGUMENT...]
#
# ibkit needs Python 3.11 or newer. PYTHON=/path/to/python3 decides. Otherwise /usr/bin/python3 is asked first, because
# the distribution's python3-pyverbs fits that one alone; then whatever else is there.
set -u

new_enough() {
    # Running it is the test: a name on PATH may be a pyenv shim of a version that is not active.
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
    new_enough "$PYTHON" && exec "$PYTHON" "$@"
else
    candidates="/usr/bin/python3 python3 python3.11 python3.12 python3.13 python3.14 python3.15"
    for candidate in $candidates; do
        new_enough "$candidate" && exec "$candidate" "$@"
    done
fi

{
    echo "ibkit needs Python 3.11 or newer, and none was found. Tried:"
    for candidate in $candidates; do
        echo "  $candidate: $("$candidate" --version 2>&1 | head -n 1)"
    done
    echo "Install one, for example:"
    echo "  apt-get install python3.11 python3.11-venv    (Debian 12, Ubuntu 22.04 and newer)"
    echo "  dnf install python3.11                        (RHEL 8 and 9 and their rebuilds; Fedora has it as python3)"
    echo "  zypper install python311                      (SLES 15, openSUSE Leap)"
    echo "or name one that lies elsewhere: PYTHON=/opt/python/bin/python3 make run"
} >&2
exit 1
