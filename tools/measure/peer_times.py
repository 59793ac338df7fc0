# SPDX-License-Identifier: Apache-2.0
"""What a peer takes at its best, out of many variants."""

ACCURATE = 1e-3  # a variant whose sums are further off than this computes something else


def best_us(row):
    return min(row["plain_us"], row["graph_us"])


def best(rows, math):
    """The fastest variant in this math, or None. TF32 allows fp32 too, where that is faster."""
    allowed = ("fp32", "tf32") if math == "tf32" else ("fp32",)
    right = [row for row in rows if row["math"] in allowed and row["largest_relative_error"] < ACCURATE]
    return min(right, key=best_us, default=None)


def eager(rows):
    """The layers as they are defined, called plainly, in fp32: what one writes first."""
    for row in rows:
        if (row["form"], row["mode"], row["math"], row["layout"]) == ("naive", "eager", "fp32", "nchw"):
            return row
    return None


def described(row):
    """pool_first, default, channels_last, graph"""
    return ", ".join((row["form"], row["mode"], row["layout"], "graph" if row["graph_us"] < row["plain_us"] else "plain"))


def line(name, rows):
    parts = [f"{name:<9}"]
    for label, row, us in (("eager", eager(rows), lambda row: row["plain_us"]), ("fp32", best(rows, "fp32"), best_us),
                           ("tf32", best(rows, "tf32"), best_us)):
        parts.append(f"{label} {us(row):.1f} µs" + ("" if label == "eager" else f" ({described(row)})") if row else f"{label} -")
    return "  ".join(parts)
