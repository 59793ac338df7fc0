// SPDX-License-Identifier: Apache-2.0
// What a forward costs the CPU, beside the driver's own launch of the same kernel with the same arguments. Needs a GPU.
#include <benchmark/benchmark.h>

#include <vector>

#include <kiln/kiln.hpp>

#include "model/model_state.hpp"
#include "support/gpu.hpp"

namespace {

using namespace kiln;
using namespace kiln::test;

/// Small, so that the GPU keeps up and the queue never fills: the CPU's part is what is measured.
struct Setup {
    RandomCase random =
        drawn_case({.in_channels = 8, .out_channels = 64, .kernel_size = 3, .pool_kernel_size = 4}, {2, 40, 40}, 1);
    Model model = model_of(random);
    driver::Stream stream = value_or_throw(driver::Stream::create(device_context()));
    DeviceArray<float> x{random.input.size()};
    DeviceArray<float> y{2};
    Workspace workspace = model.workspace(random.shape);

    Setup() { x.upload(random.input); }
};

constexpr int burst = 100;  // launches between two waits

template <typename Launch>
void measure(benchmark::State& state, const Setup& setup, Launch launch) {
    int queued = 0;
    for (auto _ : state) {
        launch();
        if (++queued == burst) {
            state.PauseTiming();
            value_or_throw(setup.stream.synchronize());
            queued = 0;
            state.ResumeTiming();
        }
    }
    value_or_throw(setup.stream.synchronize());
}

void forward_with_workspace(benchmark::State& state) {
    Setup setup;
    measure(state, setup, [&] {
        setup.model.forward(setup.x.data(), setup.y.data(), setup.random.shape, setup.stream.handle(), setup.workspace);
    });
}
BENCHMARK(forward_with_workspace)->Unit(benchmark::kMicrosecond);

void forward_with_pool(benchmark::State& state) {
    Setup setup;
    measure(state, setup,
            [&] { setup.model.forward(setup.x.data(), setup.y.data(), setup.random.shape, setup.stream.handle()); });
}
BENCHMARK(forward_with_pool)->Unit(benchmark::kMicrosecond);

/// cuLaunchKernel itself.
void bare_launch(benchmark::State& state) {
    Setup setup;
    const auto guard = value_or_throw(device_context().enter());
    const BareLaunch bare =
        ModelAccess::bare_launch(setup.model, setup.x.data(), setup.y.data(), setup.random.shape, setup.workspace);
    const auto launch_kernel = device_context().cuda().launch_kernel;
    measure(state, setup, [&] {
        void* parameters[] = {const_cast<KernelParameter*>(&bare.parameter)};
        benchmark::DoNotOptimize(launch_kernel(bare.function, bare.grid, 1, 1, bare.block, 1, 1, bare.shared_bytes,
                                               setup.stream.handle(), parameters, nullptr));
    });
}
BENCHMARK(bare_launch)->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    if (const auto device = kiln::driver::device(0); !device) {
        printf("SKIPPED: no GPU to measure on: %s\n", device.error().message.c_str());
        return 77;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
