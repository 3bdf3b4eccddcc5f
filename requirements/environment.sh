#!/bin/sh
# Makes .venv with the first Python >= 3.11 that is found (or the one given) and puts uv into it.
set -eu

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=""
for candidate in ${1:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if usable "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or later is needed${1:+, and $1 is not one}." >&2
    echo "Debian: apt-get install python3 python3-venv. macOS: brew install python. Then run make again." >&2
    exit 1
fi

# Debian packs what makes an environment apart from Python itself.
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    package=$("$python" -c 'import sys; print(f"python3.{sys.version_info[1]}-venv")')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing $package …"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null
    else
        echo "$python can't make a virtual environment. Debian: sudo apt-get install $package" >&2
        exit 1
    fi
fi

echo "Making .venv with $("$python" --version) …"
"$python" -m venv --clear .venv
.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
