#!/usr/bin/env python3
"""One life of a server, for faults.py: start it, send it rows, ask it to end, and pass on its exit code and its errors.

    python3 serve.py BODY PROGRAM ARGUMENTS...

BODY is a file of JSON that is posted to /predict REQUESTS times. Variables of the environment in STONET_FAULT (JSON) are set for
the server alone, so that faults do not strike this script.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

REQUESTS = 5
SECONDS = 60


def address(stdout):
    """Return where the server listens, which it says in an object of JSON over several lines; None if it could not start."""
    said = ""
    for line in stdout:
        said += line
        try:
            return json.loads(said).get("url")
        except ValueError:
            continue
    return None


def main():
    body, *command = sys.argv[1:]
    fault = json.loads(os.environ.pop("STONET_FAULT", "{}"))
    body = Path(body).read_bytes()
    server = subprocess.Popen([*command, "--json"], env=os.environ | fault, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Pipes that nobody reads would stop the server.
    errors = []
    reader = threading.Thread(target=lambda: errors.append(server.stderr.read()), daemon=True)
    reader.start()
    url = address(server.stdout)
    wrong = []
    if url is not None:
        for _ in range(REQUESTS):
            request = urllib.request.Request(f"{url}/predict", body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                    json.load(answer)
            except (urllib.error.URLError, ValueError) as e:
                wrong.append(f"a request failed: {e}")
        server.send_signal(signal.SIGTERM)
    code = server.wait(timeout=SECONDS)
    reader.join(timeout=SECONDS)
    sys.stderr.write("".join(errors))
    if wrong:
        sys.stderr.write("\n".join(wrong))
        return 3
    return code


if __name__ == "__main__":
    sys.exit(main())
