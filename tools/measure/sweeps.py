# SPDX-License-Identifier: Apache-2.0
"""How time scales with one size while the others stay: the sizes, and how even the time over the floor is."""

# (name, what varies, the shape around it, the sizes in order)
SWEEPS = [
    ("images", "batch", {"in_channels": 8, "out_channels": 64, "height": 384, "width": 384, "kernel_size": 3, "pool_kernel_size": 4},
     [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128]),
    ("images, many channels", "batch",
     {"in_channels": 512, "out_channels": 512, "height": 14, "width": 14, "kernel_size": 3, "pool_kernel_size": 2},
     [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64]),
    ("images, 64 channels", "batch",
     {"in_channels": 64, "out_channels": 128, "height": 56, "width": 56, "kernel_size": 3, "pool_kernel_size": 2},
     [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64]),
    ("height and width", "side", {"batch": 64, "in_channels": 8, "out_channels": 64, "kernel_size": 3, "pool_kernel_size": 4},
     [32, 48, 64, 96, 126, 127, 128, 129, 130, 160, 192, 224, 256, 257, 320, 384, 385, 512]),
    ("channels", "in_channels",
     {"batch": 32, "out_channels": 64, "height": 56, "width": 56, "kernel_size": 3, "pool_kernel_size": 2},
     [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 65, 96, 128, 192, 256, 384, 512]),
    ("filters", "out_channels",
     {"batch": 32, "in_channels": 64, "height": 56, "width": 56, "kernel_size": 3, "pool_kernel_size": 2},
     [1, 2, 4, 8, 10, 16, 24, 32, 48, 64, 65, 96, 128, 192, 256, 384, 512]),
    ("kernel", "kernel_size",
     {"batch": 32, "in_channels": 16, "out_channels": 64, "height": 112, "width": 112, "pool_kernel_size": 2},
     [1, 2, 3, 4, 5, 6, 7, 9, 11]),
    ("pool", "pool_kernel_size",
     {"batch": 64, "in_channels": 8, "out_channels": 64, "height": 192, "width": 192, "kernel_size": 3},
     [1, 2, 3, 4, 5, 6, 7, 8, 12, 16]),
]

SHORT_US = 20  # below this the time of a launch and its waves counts for more than the size


def points():
    """Every point of every sweep, in order: (sweep, size, shape)."""
    for name, varied, around, sizes in SWEEPS:
        for size in sizes:
            shape = {**around, **({"height": size, "width": size} if varied == "side" else {varied: size})}
            yield name, size, shape


def neighbour_ratios(measured):
    """For a sweep's [(size, µs, floor µs)…] in order: [(size, next size, ratio)…] of the time over the floor between neighbours of
    which both take more than SHORT_US; the larger over the smaller, so at least 1."""
    ratios = []
    for (size, us, floor), (next_size, next_us, next_floor) in zip(measured, measured[1:]):
        if min(us, next_us) > SHORT_US:
            ratio = (us / floor) / (next_us / next_floor)
            ratios.append((size, next_size, max(ratio, 1 / ratio)))
    return ratios
