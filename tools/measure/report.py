# SPDX-License-Identifier: Apache-2.0
"""Measurements as text tables."""
from . import sweeps


def columns(rows):
    """Rows of text, the first being the heading, so that columns line up: the first one to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def shapes_text(rows):
    """A line for each shape and math: the forward, the same without being told the shape, what only reading takes, and the targets."""
    told = [row for row in rows if row["told"]]
    untold = {(row["name"], row["math"]): row for row in rows if not row["told"]}
    table = [["shape", "math", "µs", "any shape", "read µs", "empty µs", "roof", "products", "target", "", "predicted", "limiter", "kernel"]]
    for row in told:
        if "error" in row:
            table.append([row["name"], row["math"], "failed"] + [""] * 9 + [row["error"]["message"][:40]])
            continue
        other = untold.get((row["name"], row["math"]), {})
        any_shape = f"{other['forward_us']:.1f}" if "forward_us" in other else "-"
        met = {None: "", True: "met", False: "missed"}[row["target_met"]]
        table.append([row["name"], row["math"], f"{row['forward_us']:.1f}", any_shape, f"{row['read_us']:.1f}", f"{row['empty_us']:.1f}",
                      f"{100 * share_of_roof(row):.0f} %", f"{100 * row['share_of_product_rate']:.0f} %",
                      "" if row["target_us"] is None else f"{row['target_us']:.1f}", met, f"{row['predicted_us']:.1f}", row["limiter"],
                      row["kernel"]["family"]])
    return columns(table) + "\n\n" + "\n".join(summary(rows))


def share_of_roof(row):
    """Of what the slower of memory, as the read-only kernel measured it, and the unit of products leaves possible."""
    roof_us = max(row["read_us"], row["floors_us"]["products"], row["floors_us"]["activations"])
    return roof_us / row["forward_us"] if row["forward_us"] > 0 else 0


def summary(rows):
    """What is asked of the set as a whole."""
    good = [row for row in rows if "error" not in row]
    time = {(row["name"], row["math"], row["told"]): row["forward_us"] for row in good}
    judged = [row for row in good if row["told"] and row["target_met"] is not None]
    lines = [f"{sum(row['target_met'] for row in judged)} of {len(judged)} targets met"]
    losses = {name: us / time[name, "fp32", True] - 1 for (name, math, told), us in time.items()
              if math == "fp32" and not told and time.get((name, "fp32", True))}
    if losses:
        worst = max(losses, key=losses.get)
        lines.append(f"without being told the shape, {worst} loses most: {100 * losses[worst]:.0f} %")
    gains = {name: time[name, "fp32", True] / us for (name, math, told), us in time.items()
             if math == "tf32" and told and us > 0 and (name, "fp32", True) in time}
    if gains:
        lines.append("tf32 is faster than fp32 by " + ", ".join(f"{name} {gain:.2f}" for name, gain in gains.items()))
    return lines


def sweeps_text(rows):
    """A table for each sweep, and the least even neighbours of all."""
    parts, worst = [], []
    for name in dict.fromkeys(row["sweep"] for row in rows):
        own = [row for row in rows if row["sweep"] == name]
        table = [["size", "µs", "floor µs", "ratio", "read µs", "kernel"]]
        for row in own:
            if "error" in row:
                table.append([str(row["size"]), "failed", "", "", "", row["error"]["message"][:40]])
            else:
                table.append([str(row["size"]), f"{row['forward_us']:.1f}", f"{row['floor_us']:.1f}",
                              f"{row['forward_us'] / row['floor_us']:.2f}", f"{row['read_us']:.1f}", row["kernel"]["family"]])
        good = [(row["size"], row["forward_us"], row["floor_us"]) for row in own if "error" not in row]
        ratios = sweeps.neighbour_ratios(good)
        largest = max(ratios, key=lambda each: each[2], default=None)
        line = "no neighbours above 20 µs"
        if largest:
            line = f"largest ratio between neighbours: {largest[2]:.2f}, from {largest[0]} to {largest[1]}"
            worst.append((largest[2], name))
        parts.append(f"{name}\n{columns(table)}\n{line}\n")
    if worst:
        parts.append("of all: {:.2f} ({})".format(*max(worst)))
    return "\n".join(parts)
