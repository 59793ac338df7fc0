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
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from measure import facts, peer_times, pytorch_forms, shapes  # noqa: E402


def serve(shape, modes, maths):
    """Reads commands, one a line, and answers each with one line of JSON."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    worker = pytorch_forms.Shape(shape, modes, maths)
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
    parser.add_argument("--maths", default=",".join(pytorch_forms.MATHS))
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
