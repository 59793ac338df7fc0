// SPDX-License-Identifier: Apache-2.0
// How long NVRTC takes for each benchmark shape's kernel on sm_90a, told the shape, once NVRTC is loaded. The label says which
// kernel it is; one that spills is an error.
#include <string>

#include <benchmark/benchmark.h>

#include "driver/cubin.hpp"
#include "jit/compiler.hpp"
#include "model/specialised_kernel.hpp"
#include "support/benchmark_shapes.hpp"

namespace {

using namespace kiln;

void compile(benchmark::State& state, const ModelSpec& spec) {
    const auto specialised = value_or_throw(specialise_best(spec, Arch::sm_90a));
    const KernelRequest& request = specialised->request;
    for (auto _ : state) {
        const auto compiled = jit::compile(request.arch, request.source);
        if (!compiled) return state.SkipWithError(compiled.error().message.c_str());
        const auto info = driver::inspect_cubin(compiled->cubin, jit::kernel_name);
        if (!info || info->local_bytes != 0) return state.SkipWithError("the kernel spills, or does not say");
        state.SetLabel(request.family + " " + request.tile);
        state.counters["registers"] = static_cast<double>(info->registers);
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (const Math math : {Math::fp32, Math::tf32}) {
        for (const test::BenchmarkShape& shape : test::benchmark_shapes()) {
            ModelSpec spec = shape.spec;
            spec.expected = shape.shape;
            spec.math = math;
            benchmark::RegisterBenchmark((shape.name + (math == Math::fp32 ? "/fp32" : "/tf32")).c_str(),
                                         [spec](benchmark::State& state) { compile(state, spec); })
                ->Unit(benchmark::kMillisecond)
                ->Iterations(3);
        }
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
