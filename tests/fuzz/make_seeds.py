#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the fuzzers' seed corpora: make_seeds.py FOLDER → FOLDER/fuzz_npy and so on.

Each seed is a small valid file or one rule away from it, so that the fuzzers begin behind the first checks. Plain Python, no NumPy.
"""
import json
import struct
import sys
from pathlib import Path


def npy(dictionary: str, data: bytes, version: int = 1) -> bytes:
    header = dictionary.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def safetensors(header, data: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype: str, shape: list, begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def npy_seeds() -> list:
    floats = struct.pack("<6f", 1.5, -2, 3.25, 0, 1e30, -1e-30)
    form = "{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}"
    good = form.format("<f4", False, "(2, 3)")
    return [
        *(npy(good, floats, version) for version in (1, 2, 3)),
        npy(form.format("<f4", False, "()"), floats[:4]),
        npy(form.format("<f4", False, "(6,)"), floats),
        npy(form.format("<f4", False, "(0, 9223372036854775807)"), b""),
        npy(form.format("<f4", True, "(2, 3)"), floats),
        npy(form.format("<f8", False, "(3,)"), floats),
        npy(form.format("<f4", False, "(4294967296, 4294967296)"), floats),
        npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", floats),
        npy('{"shape": (2L, 3L), "fortran_order": False, "descr": "<f4"}', floats),
        npy(good, floats[:-1]),
    ]


def safetensors_seeds() -> list:
    data = bytes(range(24))
    bias = {"conv.bias": tensor("F32", [2], 0, 8)}
    weight = {"conv.weight": tensor("F32", [2, 1, 2, 1], 8, 24)}
    return [
        safetensors({}, b""),
        safetensors({**weight, **bias}, data),
        safetensors({"__metadata__": {"format": "pt"}, **bias, **weight}, data),
        safetensors({"a": tensor("BF16", [4], 0, 8), "b": tensor("I64", [], 8, 16), "c": tensor("F32", [0, 7], 16, 16),
                     "d": tensor("F64", [1], 16, 24)}, data),
        safetensors({**bias, "w": tensor("F32", [5], 4, 24)}, data),
        safetensors({"w": tensor("F32", [4294967296, 4294967296], 0, 24)}, data),
        safetensors({"w": tensor("F32", [6], 0, 25)}, data),
        struct.pack("<Q", 1 << 63) + b"{}",
    ]


def spec_seeds() -> list:
    small = {"in_channels": 1, "out_channels": 2, "kernel_size": 3, "pool_kernel_size": 4}
    full = {**small, "kernel_size": [3, 5], "stride": [1, 2], "padding": 1, "dilation": 2, "bias": False, "activation": "identity",
            "math": "tf32", "expected": {"batch": 1, "height": 32, "width": 33}}
    return [json.dumps(each).encode() for each in ([], [small], [full, small], [{**small, "bias": 1}], small)]


def main() -> None:
    root = Path(sys.argv[1])
    for name, seeds in {"fuzz_npy": npy_seeds(), "fuzz_safetensors": safetensors_seeds(), "fuzz_spec": spec_seeds()}.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"seed{number:02}").write_bytes(seed)


if __name__ == "__main__":
    main()
