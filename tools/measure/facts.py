# SPDX-License-Identifier: Apache-2.0
"""What was measured, and on what: written into every file of measurements."""
import json
import os
import pathlib
import subprocess
import time

TOOLS = pathlib.Path(__file__).resolve().parent.parent
PACKED = (TOOLS / "commit").exists()  # by `gpu-check --pack`: the scripts lie beside the programs, without a repository
ROOT = TOOLS if PACKED else TOOLS.parent


def output_of(*command):
    """What a command prints, or None where it does not exist or fails."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def commit():
    if PACKED:
        return (ROOT / "commit").read_text().strip()
    head = output_of("git", "-C", ROOT, "rev-parse", "HEAD") or "unknown"
    return head + ("-modified" if output_of("git", "-C", ROOT, "status", "--porcelain") else "")


def machine(kiln):
    """The GPUs as nvidia-smi and the program describe them; NVRTC and the driver are in the program's part."""
    fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.memory"
    doctor = output_of(kiln, "doctor", "--json")
    return {
        "gpus": [dict(zip(fields.split(","), (value.strip() for value in line.split(","))))
                 for line in (output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader") or "").splitlines()],
        "doctor": json.loads(doctor) if doctor else None,
        "cpus": os.cpu_count(),
        "kernel": os.uname().release,
    }


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def shapes_file():
    return ROOT / "shapes.json" if PACKED else ROOT / "bench" / "shapes.json"


def default_kiln():
    return ROOT / "bin" / "kiln" if PACKED else ROOT / "build" / "release" / "bin" / "kiln"
