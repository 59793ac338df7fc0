// SPDX-License-Identifier: Apache-2.0
#include "driver/stream.hpp"

#include <array>

#include "driver/library.hpp"
#include "driver/memory.hpp"
#include "fake_gpu.hpp"
#include "support/cubin_builder.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::FakeGpu;

TEST_CASE("streams and events belong to the context and end with their objects") {
    const FakeGpu gpu;
    auto made = Stream::create(gpu.context());
    REQUIRE(made);
    const Stream stream = std::move(*made);
    CHECK(stream.synchronize());
    const auto before = Event::create(gpu.context());
    const auto after = Event::create(gpu.context());
    REQUIRE(before);
    REQUIRE(after);
    CHECK_FALSE(after->milliseconds_since(*before));  // not recorded yet
    REQUIRE(before->record(stream.handle()));
    REQUIRE(after->record(stream.handle()));
    CHECK(after->synchronize());
    CHECK(after->milliseconds_since(*before).value() >= 0);
    fake_cuda::fail("cuStreamSynchronize=719");
    CHECK(stream.synchronize().error().native_code == 719);
}

TEST_CASE("a captured launch runs when its graph is launched, each time") {
    const FakeGpu gpu;
    auto library = LoadedLibrary::load(gpu.context(), kiln::test::build_cubin());
    REQUIRE(library);
    const auto kernel = library->kernel("kiln_forward");
    REQUIRE(kernel);
    const auto stream = Stream::create(gpu.context());
    REQUIRE(stream);
    const auto guard = gpu.context().enter();
    const std::array<std::byte, 64> parameter{};
    auto graph = Graph::capture(*stream, [&] { return kernel->launch({}, stream->handle(), &parameter); });
    REQUIRE(graph);
    CHECK(fake_cuda::counters().launches == 0);
    CHECK(graph->launch(stream->handle()));
    CHECK(graph->launch(stream->handle()));
    CHECK(fake_cuda::counters().launches == 2);
}

TEST_CASE("allocating or waiting inside a capture fails, and the stream is usable afterwards") {
    const FakeGpu gpu;
    const auto stream = Stream::create(gpu.context());
    REQUIRE(stream);
    const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
        auto memory = DeviceMemory::allocate(gpu.context(), 16);
        if (!memory) return pass_on(memory);
        return {};
    });
    REQUIRE_FALSE(graph);
    CHECK(graph.error().native_code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(stream->synchronize());
    CHECK(DeviceMemory::allocate(gpu.context(), 16));
}
