# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts make of measurements: tools/measure, on made-up rows. Needs neither a GPU nor PyTorch."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from measure import facts, figures, peer_times, report, shapes, sweeps  # noqa: E402


def kiln_row(name, us, math="fp32", told=True, **more):
    """As tools/bench writes one: 1,000 bytes and 4,000,000 multiply-adds, which the products' unit could do in 2 µs."""
    return {"name": name, "math": math, "told": told, "target_us": None, "target_met": None, "forward_us": us, "read_us": 4.0, "empty_us": 1.0,
            "floor_us": 3.0, "floors_us": {"memory": 3.0, "products": 2.0, "activations": 1.0}, "multiply_adds": 4e6, "input_bytes": 1000.0,
            "read_terabytes_per_second": 4.5, "inputs_pass_l2": True, "share_of_product_rate": 0.5, "predicted_us": us, "limiter": "memory",
            "kernel": {"family": "simt"}, **more}


def peer_row(us, math="fp32", form="composite", error=1e-7, mode="eager", layout="nchw", graph_us=None):
    return {"math": math, "form": form, "mode": mode, "layout": layout, "plain_us": us, "graph_us": graph_us or us + 1,
            "largest_relative_error": error}


class Shapes(unittest.TestCase):
    def test_the_benchmark_shapes_can_be_read_and_are_whole(self):
        every = shapes.read_shapes(facts.shapes_file())
        self.assertEqual(len(every), 12)
        for shape in every:
            self.assertEqual(set(shapes.spec_of(shape)["expected"]), {"batch", "height", "width"})
            self.assertGreater(shapes.target_us(shape, 10.0), 0)

    def test_a_name_that_is_not_there_is_told_with_those_that_are(self):
        self.assertEqual([shape["name"] for shape in shapes.read_shapes(facts.shapes_file(), ["mid", "headline"])], ["mid", "headline"])
        with self.assertRaisesRegex(ValueError, "nowhere is none of headline, "):
            shapes.read_shapes(facts.shapes_file(), ["nowhere"])

    def test_the_target_is_the_most_lenient_of_those_given(self):
        self.assertEqual(shapes.target_us({"target_us": 45}, 10), 45)
        self.assertAlmostEqual(shapes.target_us({"target_over_read": 1.1}, 100), 110)
        self.assertEqual(shapes.target_us({"target_us": 9, "or_read_plus_us": 6}, 4), 10)
        self.assertIsNone(shapes.target_us({}, 4))


class Sweeps(unittest.TestCase):
    def test_every_point_has_every_size(self):
        points = list(sweeps.points())
        self.assertEqual({name for name, _, _ in points}, {sweep[0] for sweep in sweeps.SWEEPS})
        for name, size, shape in points:
            self.assertIn(size, shape.values(), name)
            shapes.spec_of(shape)

    def test_neighbours_are_compared_over_their_floors_whichever_is_larger(self):
        ratios = sweeps.neighbour_ratios([(1, 30, 10), (2, 40, 10), (4, 40, 20)])
        self.assertEqual([pair[:2] for pair in ratios], [(1, 2), (2, 4)])
        self.assertAlmostEqual(ratios[0][2], 4 / 3)
        self.assertAlmostEqual(ratios[1][2], 2)

    def test_short_times_are_not_compared(self):
        self.assertEqual(sweeps.neighbour_ratios([(1, 20, 1), (2, 50, 10)]), [])


class Peers(unittest.TestCase):
    def test_the_best_is_the_fastest_that_is_right_by_either_way_of_calling(self):
        wrong = peer_row(1, error=1e-2)
        by_graph = peer_row(30, graph_us=5)
        self.assertIs(peer_times.best([peer_row(10), wrong, by_graph], "fp32"), by_graph)
        self.assertIsNone(peer_times.best([wrong], "fp32"))

    def test_tf32_allows_fp32_and_not_the_other_way_round(self):
        fp32, tf32 = peer_row(10), peer_row(5, "tf32")
        self.assertIs(peer_times.best([fp32, tf32], "fp32"), fp32)
        self.assertIs(peer_times.best([fp32, tf32], "tf32"), tf32)
        self.assertEqual(peer_times.best([peer_row(4), tf32], "tf32")["math"], "fp32")

    def test_eager_is_what_one_writes_first(self):
        first = peer_row(100, form="naive")
        self.assertIs(peer_times.eager([peer_row(1), peer_row(2, "tf32", "naive"), first]), first)
        self.assertIsNone(peer_times.eager([peer_row(1)]))


class Figures(unittest.TestCase):
    def test_bars_have_the_shapes_that_both_files_have(self):
        ours = {"rows": [kiln_row("a", 10), kiln_row("a", 8, "tf32"), kiln_row("a", 99, told=False), kiln_row("b", 5)]}
        peers = {"shapes": [{"name": "a", "rows": [peer_row(50), peer_row(30, "tf32"), peer_row(80, form="naive")]},
                            {"name": "c", "rows": [peer_row(1)]}]}
        self.assertEqual(figures.bars(ours, peers), [{"name": "a", "eager": 80, "peer_fp32": 50, "peer_tf32": 30, "kiln_fp32": 10,
                                                      "kiln_tf32": 8, "read": 4.0}])

    def test_a_shape_that_failed_has_no_bar_and_no_point(self):
        failed = {"name": "a", "math": "fp32", "told": True, "error": {"message": "no"}}
        self.assertEqual(figures.bars({"rows": [failed]}, {"shapes": [{"name": "a", "rows": [peer_row(50)]}]}), [])
        self.assertEqual(len(figures.roofline([failed, kiln_row("b", 8)], "fp32")["points"]), 1)

    def test_the_roofline_is_in_multiply_adds_and_bytes(self):
        roof = figures.roofline([kiln_row("a", 8)], "fp32")
        self.assertEqual(roof["points"], [("a", 4000.0, 0.5)])  # 4e6 in 8 µs are 0.5 of 1e12 a second
        self.assertEqual(roof["products"], 2.0)
        self.assertEqual(roof["memory"], 4.5)

    def test_sweeps_keep_their_order_and_leave_failures_out(self):
        rows = [{**kiln_row("", us), "sweep": "images", "size": size} for size, us in ((1, 5), (2, 6))]
        rows.append({"sweep": "images", "size": 4, "error": {"message": "no"}})
        self.assertEqual(figures.sweeps(rows), {"images": [(1, 5, 3.0, "simt"), (2, 6, 3.0, "simt")]})


class Report(unittest.TestCase):
    rows = [kiln_row("a", 10, target_us=12.0, target_met=True), kiln_row("a", 8, "tf32"), kiln_row("a", 15, told=False),
            kiln_row("b", 20, target_us=12.0, target_met=False),
            {"name": "c", "math": "fp32", "told": True, "error": {"message": "out of memory"}}]

    def test_the_summary_counts_targets_losses_and_gains(self):
        self.assertEqual(report.summary(self.rows), ["1 of 2 targets met", "without being told the shape, a loses most: 50 %",
                                                     "tf32 is faster than fp32 by a 1.25"])

    def test_the_share_of_the_roof_is_that_of_the_slowest_limit(self):
        self.assertEqual(report.share_of_roof(kiln_row("a", 8)), 0.5)  # reading took 4 µs

    def test_every_row_is_in_the_table_also_one_that_failed(self):
        text = report.shapes_text(self.rows)
        for part in ("15.0", "missed", "out of memory"):
            self.assertIn(part, text)

    def test_sweeps_end_with_the_least_even_neighbours(self):
        rows = [{**kiln_row("", us), "sweep": "images", "size": size} for size, us in ((1, 30), (2, 60))]
        self.assertIn("of all: 2.00 (images)", report.sweeps_text(rows))


if __name__ == "__main__":
    unittest.main()
