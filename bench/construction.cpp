// SPDX-License-Identifier: Apache-2.0
// How long a model's kernel takes to be had, at the headline spec: cold, from disk, from memory. No GPU is needed: where there is
// no driver, "from memory" loads into the tests' fake of one (the path of which CMake gives), and the label says so.
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <kiln/kiln.hpp>

#include "cache/kernel_cache.hpp"
#include "jit/nvrtc.hpp"
#include "model/loaded_kernel.hpp"
#include "model/specialised_kernel.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace kiln;
using Clock = std::chrono::steady_clock;

const ModelSpec headline{
    .in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4, .expected = Shape{128, 384, 384}};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Runs `body` in a child that has loaded nothing yet, and returns the seconds that it reports; negative if it failed.
template <typename Body>
double in_fresh_process(Body body) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        double seconds = -1;
        try {
            seconds = body();
        } catch (const std::exception& error) {
            fprintf(stderr, "%s\n", error.what());
        }
        const bool written = write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    double seconds = -1;
    if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return seconds;
}

/// Spec to cubin with an empty cache and NVRTC not loaded yet.
void cold(benchmark::State& state) {
    for (auto _ : state) {
        const test::TemporaryDirectory directory;
        const double seconds = in_fresh_process([&] {
            const auto begin = Clock::now();
            const auto reports = warm({headline}, {Arch::sm_90a}, {.jobs = 1, .cache = {.directory = directory.path()}});
            const double taken = seconds_since(begin);
            if (reports[0].error) throw *reports[0].error;
            return taken;
        });
        if (seconds < 0) return state.SkipWithError("the kernel was not compiled");
        state.SetIterationTime(seconds);
    }
}
BENCHMARK(cold)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(10);

/// Spec to cubin from the user's directory, in a process that has not seen it.
void from_disk(benchmark::State& state) {
    const test::TemporaryDirectory directory;
    const CacheOptions options{.directory = directory.path()};
    if (warm({headline}, {Arch::sm_90a}, {.cache = options})[0].error) return state.SkipWithError("the kernel was not compiled");
    for (auto _ : state) {
        const double seconds = in_fresh_process([&] {
            const auto begin = Clock::now();
            const auto specialised = value_or_throw(specialise_best(headline, Arch::sm_90a));
            const auto cache = value_or_throw(KernelCache::open(options, jit::nvrtc_build_id));
            const auto cached = value_or_throw(cache->obtain(specialised->request, compiler_of(*specialised)));
            const double taken = seconds_since(begin);
            return cached.origin == Origin::user ? taken : -1.0;
        });
        if (seconds < 0) return state.SkipWithError("the entry was not taken from disk");
        state.SetIterationTime(seconds);
    }
}
BENCHMARK(from_disk)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(50);

/// What the hot benchmarks share: a directory that has the kernel, and a model that keeps it loaded.
struct Hot {
    test::TemporaryDirectory directory;
    Options options{.device = 0, .cache = {.directory = directory.path()}};
    std::vector<float> weight = std::vector<float>(64 * 8 * 3 * 3, 0.01F), bias = std::vector<float>(64, 0.1F);
    Model kept{headline, {weight, bias}, options};
};

const Hot& hot() {
    static const Hot one;
    return one;
}

/// Spec to a function that this process has loaded already: planning, key, look-up. No weights, no upload.
void from_memory(benchmark::State& state) {
    const Options& options = hot().options;
    auto context = driver::Context::retain(0);
    if (!context) return state.SkipWithError(context.error().message.c_str());
    if (state.thread_index() == 0) state.SetLabel(context->device().name);
    const Arch arch = value_or_throw(driver::arch_of(context->device()));
    for (auto _ : state) {
        const auto specialised = value_or_throw(specialise_best(headline, arch));
        const auto cache = value_or_throw(KernelCache::open(options.cache, jit::nvrtc_build_id));
        benchmark::DoNotOptimize(value_or_throw(obtain_loaded(*specialised, *context, *cache)));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(from_memory)->Threads(1)->Threads(4)->Threads(16)->Threads(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// A whole model of a kernel that is loaded: with folding and packing its weights, memory for them and their upload.
void whole_model(benchmark::State& state) {
    const Hot& shared = hot();
    for (auto _ : state) benchmark::DoNotOptimize(Model(headline, {shared.weight, shared.bias}, shared.options));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(whole_model)->Threads(1)->Threads(4)->Threads(16)->Threads(64)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
    if (!kiln::driver::open_library()) setenv("KILN_CUDA_LIBRARY", KILN_FAKE_CUDA_LIBRARY, 0);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
