#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `kiln run --device cpu --check` on files that NumPy and safetensors wrote: real_files_test.py KILN

The sums are compared with NumPy's own, and what Kiln does not take is refused with status 3. Exits with 77, which CTest counts as
skipped, where this Python has no NumPy; without safetensors, that part alone is skipped and said to be.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
try:
    from safetensors.numpy import save_file
except ImportError:
    save_file = None
    print("skipped in part: this Python has no safetensors")

SPEC = ["--in-channels", "3", "--out-channels", "5", "--kernel", "3x2", "--pool", "2x3", "--padding", "1", "--stride", "1x2"]


def expected_sums(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Conv2d(stride 1x2, padding 1), AvgPool2d(2x3), sigmoid, sum, in double."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(2, 3))[:, :, :, ::2]
    z = np.einsum("nchwyx,ocyx->nohw", windows, weight.astype(np.float64)) + bias.astype(np.float64)[:, None, None]
    height, width = z.shape[2] // 2, z.shape[3] // 3
    z = z[:, :, : 2 * height, : 3 * width].reshape(*z.shape[:2], height, 2, width, 3).mean(axis=(3, 5))
    return (1 / (1 + np.exp(-z))).sum(axis=(1, 2, 3))


class Runner:
    def __init__(self, program: str, folder: Path):
        self.program, self.folder, self.failures = program, folder, 0
        self.environment = {**os.environ, "KILN_CACHE_DIR": str(folder / "cache")}

    def run(self, weights: list, image: Path):
        command = [self.program, "run", *SPEC, *weights, "--input", str(image), "--device", "cpu", "--check", "--json",
                   "--output", str(self.folder / "y.npy")]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)

    def check(self, name: str, good: bool, detail: str) -> None:
        print(f"{'passed' if good else 'FAILED'}: {name}")
        if not good:
            print(detail)
            self.failures += 1

    def expect_sums(self, name: str, weights: list, image: Path, expected: np.ndarray) -> None:
        done = self.run(weights, image)
        good = done.returncode == 0 and np.allclose(json.loads(done.stdout)["sums"], expected, rtol=1e-12, atol=0)
        good = good and json.loads(done.stdout)["check"]["passed"]
        good = good and np.array_equal(np.load(self.folder / "y.npy"), expected.astype(np.float32))
        self.check(name, good, f"{done.stdout}\n{done.stderr}\nexpected {expected.tolist()}")

    def expect_refusal(self, name: str, weights: list, image: Path, words: str) -> None:
        done = self.run(weights, image)
        self.check(name, done.returncode == 3 and words in done.stderr, f"status {done.returncode}\n{done.stderr}")


def arrays(runner: Runner, x, weight, bias) -> None:
    folder, expected = runner.folder, expected_sums(x, weight, bias)
    np.save(folder / "w.npy", weight)
    np.save(folder / "b.npy", bias)
    weights = ["--weights", str(folder / "w.npy"), "--bias", str(folder / "b.npy")]
    np.save(folder / "x.npy", x)
    runner.expect_sums("numpy.save", weights, folder / "x.npy", expected)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(folder / "v.npy", "wb") as file:
            np.lib.format.write_array(file, x, version=version)
        runner.expect_sums(f"numpy format {version}", weights, folder / "v.npy", expected)
    refusals = {
        "Fortran order": (np.asfortranarray(x), "Fortran order"),
        "float64": (x.astype(np.float64), "'<f8'"),
        "float16": (x.astype(np.float16), "'<f2'"),
        "big-endian": (x.astype(">f4"), "'>f4'"),
        "three dimensions": (x[0], "the model needs [images, 3, height, width]"),
        "structured": (x.view([("a", "<f4")]), "dtype"),
    }
    for name, (array, words) in refusals.items():
        np.save(folder / "bad.npy", array)
        runner.expect_refusal(name, weights, folder / "bad.npy", words)
    np.savez(folder / "z.npz", x=x)
    os.rename(folder / "z.npz", folder / "z.npy")
    runner.expect_refusal("an archive of arrays", weights, folder / "z.npy", "does not begin as a .npy file does")


def tensors(runner: Runner, x, weight, bias) -> None:
    folder, expected = runner.folder, expected_sums(x, weight, bias)
    for prefix in ("", "conv.", "module.conv."):
        save_file({prefix + "weight": weight, prefix + "bias": bias}, folder / "w.safetensors", metadata={"format": "pt"})
        runner.expect_sums(f"safetensors {prefix}weight", ["--weights", str(folder / "w.safetensors")], folder / "x.npy", expected)
    save_file({"x": x}, folder / "x.safetensors")
    runner.expect_sums("an input in safetensors", ["--weights", str(folder / "w.safetensors")], folder / "x.safetensors", expected)
    save_file({"weight": weight.astype(np.float16), "bias": bias}, folder / "half.safetensors")
    runner.expect_refusal("half precision", ["--weights", str(folder / "half.safetensors")], folder / "x.npy", "dtype F16")


def main() -> int:
    generator = np.random.default_rng(1)
    x = generator.standard_normal((4, 3, 13, 17), dtype=np.float32)
    weight = generator.standard_normal((5, 3, 3, 2), dtype=np.float32)
    bias = generator.standard_normal(5, dtype=np.float32)
    with tempfile.TemporaryDirectory() as name:
        runner = Runner(sys.argv[1], Path(name))
        arrays(runner, x, weight, bias)
        if save_file:
            tensors(runner, x, weight, bias)
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
