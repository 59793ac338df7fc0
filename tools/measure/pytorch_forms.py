# SPDX-License-Identifier: Apache-2.0
"""One benchmark shape in PyTorch: the forms in which the layers can be written, their data, and their times. Nothing here imports
PyTorch or NumPy before it is used, so that who only asks for the forms' names needs neither."""
import statistics
import time
import types

FORMS = ("naive", "composite", "pool_first")
LAYOUTS = ("nchw", "channels_last")
MATHS = ("fp32", "tf32")
L2_BYTES = 60 << 20
ROUNDS = 7
ROUND_SECONDS = 0.04  # a slow variant is launched less often than the twenty times and more of a fast one


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
