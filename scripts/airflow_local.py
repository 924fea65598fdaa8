#!/usr/bin/env python3
"""Airflow's services for this checkout, on 127.0.0.1 only: started together, ended together.

`airflow standalone` is not used: it serves task logs on all interfaces (ports 8793 and 8794), and leaves its
services behind when it is terminated. Settings come from the environment (Makefile, airflow-env.sh).
"""

import fcntl
import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import psutil

SERVICES = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READY_WITHIN_S = 240
END_WITHIN_S = 25


class Trouble(Exception):
    """Something a person must mend; the message says how."""


class LocalAirflow:
    """The running services; a context manager that leaves no process behind.

    Args:
        home: AIRFLOW_HOME, with a migrated database; the services log there.
        port: of the web pages and the API.
        services: which of SERVICES.

    Raises:
        Trouble: the port is taken, this home's Airflow runs already, or a service ended.
    """

    def __init__(self, home: Path, port: int, services: Sequence[str] = tuple(SERVICES)) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        self._wanted = services
        self._services: dict[str, psutil.Popen] = {}
        self._token = ""

    def __enter__(self) -> Self:
        self._lock = (self.home / "services.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Trouble("Airflow runs already in this checkout; end that one first (Ctrl-C).") from None
        check_port(self.port)
        for name in SIGNALS:
            signal.signal(name, signal.default_int_handler)
        # Tasks talk to the API under this address; Airflow's own default is port 8080, whatever the port is.
        environ = {**os.environ, "AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__API__BASE_URL": self.url}
        environ |= {"AIRFLOW__API__PORT": str(self.port), "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False"}
        try:
            for name in self._wanted:
                with (self.home / f"{name}.log").open("wb") as log:
                    # A session of its own: Ctrl-C reaches this process only, which ends them in order.
                    self._services[name] = psutil.Popen(
                        ["airflow", *SERVICES[name]],
                        stdout=log,
                        stderr=log,
                        env=environ,
                        start_new_session=True,
                    )
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def end(self) -> None:
        """Terminate all services; what is still there after a while is killed, their children too."""
        for name in SIGNALS:  # an impatient second Ctrl-C would leave processes behind
            signal.signal(name, signal.SIG_IGN)
        everyone = self._everyone()
        for service in self._services.values():
            if service.poll() is None:
                service.terminate()
        until = time.monotonic() + END_WITHIN_S
        while any(map(runs, everyone)) and time.monotonic() < until:
            time.sleep(0.2)
        for process in filter(runs, {*everyone, *self._everyone()}):
            process.kill()
        for service in self._services.values():
            service.wait()
        self._services.clear()
        self._lock.close()

    def check(self) -> None:
        """Raise Trouble when a service ended."""
        for name, service in self._services.items():
            if service.poll() is not None:
                log = self.home / f"{name}.log"
                last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
                raise Trouble(f"{last}\nAirflow's {name} ended (code {service.returncode}); its log: {log}")

    def login(self) -> tuple[str, str]:
        """User and password; Airflow makes them when the API starts."""
        file = self.home / "simple_auth_manager_passwords.json.generated"
        return next(iter(json.loads(file.read_text(encoding="utf-8")).items()))

    def wait_for_dag(self, dag_id: str) -> None:
        """Until all services are healthy and the DAG can be seen. Raises Trouble."""
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            self.check()
            try:
                health = self.call("GET", "/api/v2/monitor/health")
                if all(health[part]["status"] == "healthy" for part in ("scheduler", "dag_processor")):
                    self.call("GET", f"/api/v2/dags/{dag_id}")
                    return
            except (OSError, ValueError):
                pass  # not there yet
            time.sleep(1)
        raise Trouble(f"{dag_id} did not appear within {READY_WITHIN_S} s; see the logs in {self.home}")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One call of Airflow's REST API as the generated user. Raises OSError, ValueError."""
        if not self._token and path != "/auth/token":
            user, password = self.login()
            told = self.call("POST", "/auth/token", {"username": user, "password": password})
            self._token = told["access_token"]
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())

    def _everyone(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for service in self._services.values():
            try:
                found += [service, *service.children(recursive=True)]
            except psutil.NoSuchProcess:
                continue
        return found


def runs(process: psutil.Process) -> bool:
    """Whether a process is there and not just waiting for its parent to take note of its end."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def check_port(port: int) -> None:
    """Raise Trouble when something listens there already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Trouble(f"Port {port}: {error.strerror}. Choose another: make up PORT={port + 1}") from None


def main() -> None:
    """What `make up` runs: start, unpause the demo, print how to get in, wait for Ctrl-C."""
    home, port = Path(os.environ["AIRFLOW_HOME"]), int(os.environ["AIRFLOW__API__PORT"])
    dag_id, night = sys.argv[1:]
    try:
        with LocalAirflow(home, port) as airflow:
            say(f"Airflow is starting (logs: {home}) …")
            airflow.wait_for_dag(dag_id)
            airflow.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})
            user, password = airflow.login()
            told = {"url": airflow.url, "home": home, "user": user, "password": password}
            say(WELCOME.format(**told, dag=dag_id, night=night))
            try:
                while True:
                    airflow.check()
                    time.sleep(1)
            finally:
                say("Ending Airflow; running tasks get some seconds …")
    except KeyboardInterrupt:
        say("Airflow has ended.")
    except Trouble as trouble:
        sys.exit(str(trouble))


WELCOME = """
  Airflow is up: {url}   user: {user}   password: {password}

  The demo's DAG: {url}/dags/{dag}
  Its conversations end on {night}, so no night runs on its own. To run that one, press Trigger there and give
  night {night}, ask_bot yes, alert yes; or in another terminal:

    AIRFLOW_HOME={home} .venv/bin/airflow dags trigger {dag} \\
      --conf '{{"night": "{night}", "ask_bot": "yes", "alert": "yes"}}'

  Ctrl-C ends it.
"""


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)  # noqa: T201 - a script talks to its user


if __name__ == "__main__":
    main()
