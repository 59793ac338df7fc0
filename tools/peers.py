#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what PyTorch takes for the benchmark shapes, in each of its best forms, on a machine with a GPU.

    tools/peers.py [NAME…] [--out FILE] [--seconds 150] [--modes eager,default] [--maths fp32,tf32] [--specs FILE]

The forms: naive (the layers as they are defined), composite (convolution and pooling as one convolution, its weights made in double),
pool_first (pooling with stride 1, then a convolution whose stride is the pool). Each in NCHW and channels-last, the input already
converted; run eagerly and through torch.compile; in fp32 and in TF32; called plainly and replayed from a CUDA graph; with
cudnn.benchmark. Times are medians by CUDA events over inputs that rotate and do not fit the L2 cache together, as `kiln bench` has it.
Every variant's sums are compared with the same in double.

A process for each shape: they measure in turn, and compile at the same time in between. What the seconds do not suffice for is left
out, and listed. FILE is written anew after each shape. Needs PyTorch and NumPy.
"""
import argparse
import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from measure import facts, peer_times, shapes  # noqa: E402

FORMS = ("naive", "composite", "pool_first")
LAYOUTS = ("nchw", "channels_last")
MATHS = ("fp32", "tf32")
L2_BYTES = 60 << 20
ROUNDS = 7
ROUND_SECONDS = 0.04  # a slow variant is launched less often than the twenty times and more of a fast one


# ---- one shape, in a process of its own -------------------------------------------------------------------------------------------

def composite_weights(weight, pool):
    """The weights of the one convolution of stride `pool` that convolution (of stride 1) and pooling make up, in double."""
    import numpy
    out_channels, in_channels, kernel, _ = weight.shape
    composite = numpy.zeros((out_channels, in_channels, kernel + pool - 1, kernel + pool - 1))
    for row in range(pool):
        for column in range(pool):
            composite[:, :, row:row + kernel, column:column + kernel] += weight
    return composite / pool**2


def form_functions(pool):
    """Each form as a function of images, weights (the composite ones where they are meant) and bias."""
    import torch
    import torch.nn.functional as F

    def naive(x, weight, bias):
        return torch.sigmoid(F.avg_pool2d(F.conv2d(x, weight, bias), pool)).sum(dim=(1, 2, 3))

    def composite(x, weight, bias):
        return torch.sigmoid(F.conv2d(x, weight, bias, stride=pool)).sum(dim=(1, 2, 3))

    def pool_first(x, weight, bias):
        return torch.sigmoid(F.conv2d(F.avg_pool2d(x, pool, stride=1), weight, bias, stride=pool)).sum(dim=(1, 2, 3))

    return {"naive": naive, "composite": composite, "pool_first": pool_first}


def separate(function, name):
    """The same function with code of its own: torch.compile keeps what it compiled, and how often, by the code object."""
    copy = types.FunctionType(function.__code__.replace(co_name=name), function.__globals__, name, function.__defaults__,
                              function.__closure__)
    return copy


class Shape:
    """One shape's data, reference and variants."""

    def __init__(self, shape, modes, maths):
        import torch
        self.torch = torch
        torch.set_grad_enabled(False)
        self.shape, self.modes, self.maths = shape, modes, maths
        self.functions = form_functions(shape["pool_kernel_size"])
        self.compiled = {}
        self.skipped = []
        generator = torch.Generator(device="cuda").manual_seed(1)
        size = (shape["batch"], shape["in_channels"], shape["height"], shape["width"])
        kernel = shape["kernel_size"]
        x = torch.randn(size, generator=generator, device="cuda")
        weight = 0.1 * torch.randn((shape["out_channels"], shape["in_channels"], kernel, kernel), generator=generator, device="cuda")
        self.bias = 0.1 * torch.randn(shape["out_channels"], generator=generator, device="cuda")
        self.expected = self.reference(x, weight)
        merged = torch.from_numpy(composite_weights(weight.double().cpu().numpy(), shape["pool_kernel_size"])).float().cuda()
        buffers = min(256, max(2, -(-2 * L2_BYTES // (4 * x.numel())) + 1))
        self.inputs, self.weights = {}, {}
        for layout in LAYOUTS:
            memory = torch.channels_last if layout == "channels_last" else torch.contiguous_format
            self.inputs[layout] = [x.clone(memory_format=memory) for _ in range(buffers)]
            for form in FORMS:
                self.weights[form, layout] = (merged if form == "composite" else weight).clone(memory_format=memory)
        torch.cuda.empty_cache()

    def reference(self, x, weight):
        """In double, pooled first to save time; one image as the layers define it shows that this is the same."""
        def sums(form, images):
            return self.functions[form](images.double(), weight.double(), self.bias.double())
        expected = sums("pool_first", x)
        one = sums("naive", x[:1])
        assert abs(one[0].item() - expected[0].item()) <= 1e-11 * abs(one[0].item()), "the two references differ"
        return expected

    def set_math(self, math):
        self.torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
        self.torch.backends.cudnn.allow_tf32 = math == "tf32"

    def variants(self, modes):
        return [(mode, math, form, layout) for mode in modes for math in self.maths for form in FORMS for layout in LAYOUTS]

    def compile_all(self, deadline):
        """Compiles and runs once what the time allows; GPU time is not measured meanwhile, so others may do the same."""
        torch = self.torch
        torch.backends.cudnn.benchmark = False  # algorithms are chosen when the GPU is ours
        for variant in self.variants([mode for mode in self.modes if mode != "eager"]):
            mode, math, form, layout = variant
            if time.time() > deadline:
                self.skipped.append({"mode": mode, "math": math, "form": form, "layout": layout, "why": "no time to compile"})
                continue
            self.set_math(math)
            function = separate(self.functions[form], "_".join(variant).replace("-", "_"))
            compiled = torch.compile(function, mode=None if mode == "default" else mode, dynamic=False, fullgraph=True)
            try:
                compiled(self.inputs[layout][0], self.weights[form, layout], self.bias)
                torch.cuda.synchronize()
                self.compiled[variant] = compiled
            except Exception as error:  # whatever a compiler may raise: the other variants go on
                self.skipped.append({"mode": mode, "math": math, "form": form, "layout": layout, "why": str(error)[:300]})
        torch.cuda.empty_cache()

    def measure(self, modes, deadline):
        """Rows of the variants of these modes that are there; the GPU is ours."""
        self.torch.backends.cudnn.benchmark = True
        rows = []
        for variant in self.variants(modes):
            mode, math, form, layout = variant
            function = self.functions[form] if mode == "eager" else self.compiled.get(variant)
            if function is None:
                continue
            row = {"mode": mode, "math": math, "form": form, "layout": layout}
            if time.time() > deadline:
                self.skipped.append({**row, "why": "no time to measure"})
                continue
            self.set_math(math)
            try:
                rows.append({**row, **self.measure_one(function, self.inputs[layout], self.weights[form, layout])})
            except Exception as error:
                self.skipped.append({**row, "why": str(error)[:300]})
            self.torch.cuda.empty_cache()
        return rows

    def measure_one(self, function, inputs, weight):
        torch = self.torch

        def launch(count):
            for index in range(count):
                function(inputs[index % len(inputs)], weight, self.bias)

        sums = function(inputs[0], weight, self.bias).double()
        relative_error = ((sums - self.expected).abs() / self.expected.abs()).max().item()
        launch(2)
        estimate = self.timed(lambda: launch(3)) / 3
        launches = max(2, min(max(20, len(inputs)), int(ROUND_SECONDS / max(estimate, 1e-6))))
        plain = statistics.median(self.timed(lambda: launch(launches)) for _ in range(ROUNDS)) / launches

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch(launches)
        graph.replay()
        replayed = statistics.median(self.timed(graph.replay) for _ in range(ROUNDS)) / launches
        return {"plain_us": plain * 1e6, "graph_us": replayed * 1e6, "launches": launches, "input_buffers": len(inputs),
                "largest_relative_error": relative_error}

    def timed(self, body):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        body()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3


def serve(shape, modes, maths):
    """Reads commands, one a line, and answers each with one line of JSON."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    worker = Shape(shape, modes, maths)
    torch = worker.torch
    answers.write(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                              "device_name": torch.cuda.get_device_name()}) + "\n")
    for line in sys.stdin:
        command, deadline = line.split()
        if command == "compile":
            worker.compile_all(float(deadline))
            rows = []
        else:
            rows = worker.measure([mode for mode in modes if (mode == "eager") == (command == "eager")], float(deadline))
        answers.write(json.dumps({"rows": rows, "skipped": worker.skipped}) + "\n")
        worker.skipped = []


# ---- all shapes -------------------------------------------------------------------------------------------------------------------

class Worker:
    def __init__(self, shape, arguments):
        self.shape, self.rows, self.skipped, self.facts = shape, [], [], None
        environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, __file__, "--serve", json.dumps(shape), "--modes", arguments.modes, "--maths", arguments.maths]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, command, deadline):
        if self.process:
            try:
                self.process.stdin.write(f"{command} {deadline}\n")
                self.process.stdin.flush()
            except OSError:
                self.end("its process ended")

    def answer(self, deadline):
        """The answer, or nothing where none came in time; then the process is ended."""
        if not self.process:
            return None
        ready, _, _ = select.select([self.process.stdout], [], [], max(1.0, deadline - time.time()))
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.end("its process ended" if ready else "it took too long")
            return None
        answer = json.loads(line)
        self.rows += answer.get("rows", [])
        self.skipped += answer.get("skipped", [])
        return answer

    def end(self, why=None):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            if why:
                self.skipped.append({"why": why})


def document(workers, about):
    return {"kind": "peers", **about,
            "shapes": [{"name": worker.shape["name"], "rows": worker.rows, "skipped": worker.skipped} for worker in workers]}


def run_all(wanted, arguments):
    begin = time.time()
    deadline = begin + arguments.seconds
    grace = 20
    workers = [Worker(shape, arguments) for shape in wanted]
    about = {"commit": facts.commit(), "date": facts.now(), "machine": facts.machine(arguments.kiln)}

    def keep():
        if arguments.out:
            arguments.out.write_text(json.dumps(document(workers, about), indent=1) + "\n")

    try:
        for worker in workers:
            about["peer"] = worker.answer(deadline) or about.get("peer")
        print(f"{time.time() - begin:5.0f} s  data and references made", flush=True)
        modes = arguments.modes.split(",")
        if "eager" in modes:
            for worker in workers:
                worker.ask("eager", deadline)
                worker.answer(deadline + grace)
                keep()
                print(f"{time.time() - begin:5.0f} s  {peer_times.line(worker.shape['name'], worker.rows)}", flush=True)
        if modes != ["eager"]:
            # Measuring takes about as long as it took for eager; compiling has what is left.
            compile_until = deadline - arguments.reserve
            for worker in workers:
                worker.ask("compile", compile_until)
            for worker in workers:
                worker.answer(compile_until + grace)
            print(f"{time.time() - begin:5.0f} s  compiled", flush=True)
            for worker in workers:
                worker.ask("compiled", deadline)
                worker.answer(deadline + grace)
                keep()
                print(f"{time.time() - begin:5.0f} s  {peer_times.line(worker.shape['name'], worker.rows)}", flush=True)
    finally:
        for worker in workers:
            worker.end()
        keep()
    left_out = sum(len(worker.skipped) for worker in workers)
    print(f"{sum(len(worker.rows) for worker in workers)} variants measured, {left_out} left out", flush=True)
    for worker in workers:
        for each in worker.skipped[:2]:
            print(f"  {worker.shape['name']}: {each}")
    return 0 if all(worker.rows for worker in workers) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--specs", type=pathlib.Path, default=facts.shapes_file(), metavar="FILE")
    parser.add_argument("--modes", default="eager,default", help="eager, default, max-autotune-no-cudagraphs")
    parser.add_argument("--maths", default=",".join(MATHS))
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--reserve", type=float, default=40, help="seconds kept for measuring what was compiled")
    parser.add_argument("--kiln", type=pathlib.Path, default=facts.default_kiln(), metavar="PROGRAM", help="which describes the machine")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(json.loads(arguments.serve), arguments.modes.split(","), arguments.maths.split(","))
    try:
        wanted = shapes.read_shapes(arguments.specs, arguments.names)
    except ValueError as error:
        parser.error(str(error))
    return run_all(wanted, arguments)


if __name__ == "__main__":
    sys.exit(main())
