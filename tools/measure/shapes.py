# SPDX-License-Identifier: Apache-2.0
"""The shapes of bench/shapes.json: as specs of Kiln, and what is asked of them."""
import json


def read_shapes(file, names=()):
    """The shapes of a file, or those named; a name that is not there is a ValueError."""
    with open(file) as opened:
        shapes = json.load(opened)
    known = {shape["name"]: shape for shape in shapes}
    for name in names:
        if name not in known:
            raise ValueError(f"{name} is none of {', '.join(known)}")
    return [known[name] for name in names] if names else shapes


def spec_of(shape, math="fp32"):
    """As `kiln bench --specs` wants it."""
    fields = ("in_channels", "out_channels", "kernel_size", "pool_kernel_size")
    return {**{field: shape[field] for field in fields}, "math": math,
            "expected": {field: shape[field] for field in ("batch", "height", "width")}}


def shape_sentence(shape):
    """128, 8→64, 384×384, 3, 4"""
    return (f"{shape['batch']}, {shape['in_channels']}→{shape['out_channels']}, {shape['height']}×{shape['width']}, "
            f"{shape['kernel_size']}, {shape['pool_kernel_size']}")


def target_us(shape, read_us):
    """What a forward in fp32 accuracy may take, in microseconds, where the read-only kernel of the same run takes `read_us`."""
    targets = []
    if shape.get("target_us") is not None:
        targets.append(shape["target_us"])
    if "target_over_read" in shape:
        targets.append(shape["target_over_read"] * read_us)
    if "or_read_plus_us" in shape:
        targets.append(read_us + shape["or_read_plus_us"])
    return max(targets) if targets else None
