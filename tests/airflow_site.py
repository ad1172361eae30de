"""A real Airflow on this computer, with its scheduler and API server, and `bursar serve`."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.dask_cluster import eventually, free_port

from bursar.client import Client
from bursar.web.service.running import noted_address

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".venv" / "peers" / "airflow"
PYTHON = PLACE / "bin" / "python"
WHY_NOT = None
if not (PLACE / ".installed").exists():
    WHY_NOT = "Airflow is not installed: make peers installs it, if packages can be reached"
MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.10"
billing = "60s"
limit = 6
"""
SLOW = 400
"""seconds that anything may take on a busy computer"""


class AirflowSite:
    """Airflow whose executor is ours, and the service; `users` are as for `bursar serve --user`."""

    def __init__(self, place, dags, users, provision="pfa:interval=10000000"):
        self.place = Path(place)
        self.processes = {}
        self.client = self._token = None
        try:
            self._begin(dags, users, provision)
        except BaseException:
            self.close()
            raise

    def _begin(self, dags, users, provision):
        (self.place / "dags").mkdir()
        for name, text in dags.items():
            (self.place / "dags" / f"{name}.py").write_text(text)
        (self.place / "market.toml").write_text(MARKET)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.environment = {**os.environ, **self._settings()}
        words = [word for user in users for word in ("--user", user)]
        self._start(
            "serve", sys.executable, "-m", "bursar", "serve", "--port", "0", "--market",
            "market.toml", "--provision", provision, *words,
        )  # fmt: skip
        home = self.place / ".bursar" / "service"
        assert eventually(lambda: noted_address(home) is not None, SLOW), self.last("serve")
        self.service_url = noted_address(home).url
        self.tokens = home / "tokens"
        self.environment["AIRFLOW__BURSAR__URL"] = self.service_url
        self.environment["AIRFLOW__BURSAR__TOKEN_FILE"] = str(self.tokens / "admin")
        self.client = Client(self.service_url, token_file=self.tokens / "admin")
        migrated = self._run("db", "migrate")
        assert migrated.returncode == 0, migrated.stdout + migrated.stderr
        for name in ("api-server", "dag-processor", "scheduler"):
            self.start(name)
        assert eventually(self._is_up, SLOW), self.last("api-server")
        for dag in dags:
            assert eventually(lambda dag=dag: self._has(dag), SLOW), self.last("dag-processor")
        self.kill("dag-processor")  # all DAGs are known, and it takes much time of processors

    def _settings(self):
        port = self.url.rpartition(":")[2]
        reported = {
            "CORE__EXECUTOR": "bursar.airflow.executor.BursarExecutor",
            "CORE__DAGS_FOLDER": str(self.place / "dags"),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.place}/airflow.db?timeout=20",
            "API__HOST": "127.0.0.1",
            "API__PORT": port,
            "API__BASE_URL": self.url,
            "API__WORKERS": "1",
            "API__SECRET_KEY": secrets.token_hex(16),
            "API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "SCHEDULER__TASK_QUEUED_TIMEOUT": "86400",
            "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
            "SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "30",
            "WORKERS__EXECUTION_API_TIMEOUT": "60",
            "WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
        }
        return {
            "AIRFLOW_HOME": str(self.place / "airflow"),
            "PYTHONPATH": str(ROOT / "src"),
            "NO_COLOR": "1",
            **{f"AIRFLOW__{name}": value for name, value in reported.items()},
        }

    # --- processes -------------------------------------------------------------------------------

    def _run(self, *words, **settings):
        return subprocess.run(
            [PYTHON, "-m", "airflow", *words],
            cwd=self.place,
            env={**self.environment, **settings},
            check=False,
            capture_output=True,
            text=True,
            timeout=SLOW,
        )

    def _start(self, name, *words):
        with (self.place / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words, cwd=self.place, env=self.environment, stdout=log, stderr=log
            )

    def start(self, name):
        """A part of Airflow, in a process of its own."""
        self._start(name, PYTHON, "-m", "airflow", name)

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait(30)

    def log(self, name):
        return (self.place / f"{name}.log").read_text()

    def last(self, name="scheduler", count=30):
        """The end of a log, for the message of a test that fails."""
        lines = [line for line in self.log(name).splitlines() if "orphaned tasks" not in line]
        return "\n".join(line[:300] for line in lines[-count:])

    def scheduler_with(self, **settings):
        """What a scheduler prints that ends by itself."""
        done = self._run("scheduler", **settings)
        return done.stdout + done.stderr

    def close(self):
        if self.client is not None:
            self.client.close()
        for name, process in reversed(self.processes.items()):
            if process.poll() is None:
                process.send_signal(signal.SIGQUIT if name == "serve" else signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)

    # --- Airflow's REST API ----------------------------------------------------------------------

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, method=method)  # noqa: S310
        request.add_header("Content-Type", "application/json")
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        with urllib.request.urlopen(request, timeout=SLOW) as answer:  # noqa: S310
            return json.load(answer)

    def _is_up(self):
        try:
            self._token = self.ask("GET", "/auth/token")["access_token"]
        except OSError:
            return False
        return True

    def _has(self, dag):
        try:
            return self.ask("GET", f"/api/v2/dags/{dag}")["dag_id"] == dag
        except urllib.error.HTTPError:
            time.sleep(0.5)
            return False

    def trigger(self, dag):
        """The id of the run."""
        return self.ask("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"]

    def run_state(self, dag, run):
        return self.ask("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")["state"]

    def tasks(self, dag, run):
        """State and try of each task."""
        found = self.ask("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")
        return {one["task_id"]: one for one in found["task_instances"]}

    def state(self, dag, run, task):
        return self.tasks(dag, run)[task]["state"]

    def change(self, method, path, body):
        """Until it succeeds: SQLite may be locked for a while."""

        def is_done():
            try:
                self.ask(method, path, body)
            except urllib.error.HTTPError as error:
                assert error.code == 500, error
                return False
            return True

        assert eventually(is_done, SLOW), self.last("api-server")

    def mark(self, dag, run, task, state):
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        self.change("PATCH", path, {"new_state": state})

    def clear(self, dag, run, task):
        reported = {"dry_run": False, "task_ids": [task], "dag_run_id": run, "only_failed": False}
        self.change("POST", f"/api/v2/dags/{dag}/clearTaskInstances", reported)

    def reported(self, dag):
        """What the executor has written into the log of events."""
        found = self.ask("GET", f"/api/v2/eventLogs?dag_id={dag}&event=bursar&limit=100")
        return [one["extra"] for one in found["event_logs"]]
