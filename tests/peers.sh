#!/bin/sh
# Installs what the tests compare bursar with, or run it on: Debian packages, where this is root and has apt-get,
# and Python packages in an environment of their own, for their dependencies are many. It never
# fails: a test whose peer is missing is skipped, and says so.
cd "$(dirname "$0")/.." || exit 0

# program:package, separated by spaces; sshd and Slurm are for machines elsewhere, Chromium is for pages
DEBIAN="parallel:parallel sshd:openssh-server ssh:openssh-client munged:munge
    slurmctld:slurmctld slurmd:slurmd sbatch:slurm-client
    chromium:chromium"
PYTHON_PACKAGES="wfcommons"
AIRFLOW="apache-airflow==3.3.2"
CPYTHON_TESTS="libpython3.11-testsuite"
SECONDS_EACH=240

missing=""
for one in $DEBIAN; do
    command -v "${one%%:*}" >/dev/null 2>&1 || missing="$missing ${one#*:}"
done
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt() { timeout "$SECONDS_EACH" apt-get -qq -o DPkg::Lock::Timeout=60 "$@"; }
    # shellcheck disable=SC2086 # one word a package
    { apt update && apt install --yes --no-install-recommends $missing; } >/dev/null 2>&1 ||
        echo "peers: could not install$missing; the tests that need it are skipped"
fi

peers=.venv/peers
if [ -x .venv/bin/python ] && [ ! -e "$peers/.installed" ]; then
    # shellcheck disable=SC2086
    if .venv/bin/python -m venv "$peers" >/dev/null 2>&1 &&
        timeout "$SECONDS_EACH" "$peers/bin/python" -m pip install --quiet \
            --disable-pip-version-check $PYTHON_PACKAGES >/dev/null 2>&1; then
        touch "$peers/.installed"
    else
        echo "peers: could not install $PYTHON_PACKAGES; the tests that need it are skipped"
    fi
fi

# Airflow has an environment of its own: what it needs would not go together with the others.
airflow=.venv/peers/airflow
if [ -d .venv/peers ] && [ ! -e "$airflow/.installed" ]; then
    if .venv/bin/python -m venv "$airflow" >/dev/null 2>&1 &&
        timeout "$SECONDS_EACH" "$airflow/bin/python" -m pip install --quiet \
            --disable-pip-version-check "$AIRFLOW" >/dev/null 2>&1; then
        touch "$airflow/.installed"
    else
        echo "peers: could not install $AIRFLOW; the tests that need it are skipped"
    fi
fi

# axe looks for what keeps people from using a page.
axe=.venv/peers/axe
if [ -d .venv/peers ] && [ ! -d "$axe/node_modules/axe-core" ] && command -v npm >/dev/null 2>&1; then
    mkdir -p "$axe"
    (cd "$axe" && timeout "$SECONDS_EACH" npm install --silent --no-audit --no-fund --prefix . axe-core) >/dev/null 2>&1 ||
        echo "peers: could not install axe-core; the tests that need it are skipped"
fi

# CPython's own tests are unpacked, not installed: to install them would change the system's Python.
suite=.venv/peers/cpython
if [ -d .venv/peers ] && [ ! -d "$suite" ] && command -v apt-get >/dev/null 2>&1; then
    place=$(mktemp -d)
    if (cd "$place" && timeout "$SECONDS_EACH" apt-get -qq download "$CPYTHON_TESTS" >/dev/null 2>&1) &&
        dpkg-deb -x "$place"/*.deb "$place/all" 2>/dev/null; then
        mv "$place/all" "$suite"
    else
        echo "peers: could not get $CPYTHON_TESTS; the tests that need it are skipped"
    fi
    rm -rf "$place"
fi
exit 0
