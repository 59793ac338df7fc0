# SPDX-License-Identifier: Apache-2.0
"""The numbers behind each figure, out of files of measurements."""
from . import peer_times


def told_rows(rows, math):
    """The measurements of the set in this math, built for the shape that they were given, by name."""
    return {row["name"]: row for row in rows if row["told"] and row["math"] == math and "error" not in row}


def bars(shapes, peers):
    """For each shape that both files have: {name, eager, peer_fp32, peer_tf32, kiln_fp32, kiln_tf32, read}, microseconds, or None
    where nothing was measured. The peers are each the best of their forms."""
    ours = {math: told_rows(shapes["rows"], math) for math in ("fp32", "tf32")}
    result = []
    for peer in peers["shapes"]:
        name, rows = peer["name"], peer["rows"]
        if name not in ours["fp32"]:
            continue
        eager, fp32, tf32 = peer_times.eager(rows), peer_times.best(rows, "fp32"), peer_times.best(rows, "tf32")
        result.append({"name": name,
                       "eager": eager and eager["plain_us"],
                       "peer_fp32": fp32 and peer_times.best_us(fp32),
                       "peer_tf32": tf32 and peer_times.best_us(tf32),
                       "kiln_fp32": ours["fp32"][name]["forward_us"],
                       "kiln_tf32": ours["tf32"].get(name, {}).get("forward_us"),
                       "read": ours["fp32"][name]["read_us"]})
    return result


def roofline(rows, math):
    """Where each shape stands: {points: [(name, multiply-adds per byte, tera multiply-adds per second)…], memory: terabytes per second
    that reading reached at best, products: tera multiply-adds per second that the unit of this math allows at most}."""
    measured = told_rows(rows, math)
    points = [(name, row["multiply_adds"] / row["input_bytes"], row["multiply_adds"] / row["forward_us"] / 1e6)
              for name, row in measured.items()]
    return {"points": points,
            "memory": max(row["read_terabytes_per_second"] for row in measured.values() if row["inputs_pass_l2"]),
            "products": max(row["multiply_adds"] / row["floors_us"]["products"] / 1e6 for row in measured.values())}


def sweeps(rows):
    """{sweep: [(size, µs, floor µs, family)…]}, in the order in which they were measured."""
    result = {}
    for row in rows:
        if "error" not in row:
            result.setdefault(row["sweep"], []).append((row["size"], row["forward_us"], row["floor_us"], row["kernel"]["family"]))
    return result
