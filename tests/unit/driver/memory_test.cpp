// SPDX-License-Identifier: Apache-2.0
#include "driver/memory.hpp"

#include <array>

#include "driver/stream.hpp"
#include "fake_gpu.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::FakeGpu;

TEST_CASE("what is copied to the GPU comes back") {
    const FakeGpu gpu;
    auto memory = DeviceMemory::allocate(gpu.context(), 64);
    REQUIRE(memory);
    CHECK(memory->bytes() == 64);
    CHECK(memory->address() % 256 == 0);
    const std::array<float, 4> sent{1, 2, 3, 4};
    std::array<float, 4> received{};
    REQUIRE(memory->copy_from_host(std::as_bytes(std::span(sent))));
    REQUIRE(memory->copy_to_host(std::as_writable_bytes(std::span(received))));
    CHECK(received == sent);
    REQUIRE(memory->fill_bytes(0xff));
    std::array<unsigned char, 64> bytes{};
    REQUIRE(memory->copy_to_host(std::as_writable_bytes(std::span(bytes))));
    CHECK(bytes[63] == 0xff);
}

TEST_CASE("memory is freed once, moves included, and keeps its context alive") {
    const FakeGpu gpu;
    DeviceMemory kept;
    {
        auto context = Context::retain(0);
        REQUIRE(context);
        auto memory = DeviceMemory::allocate(*context, 16);
        REQUIRE(memory);
        kept = std::move(*memory);
        CHECK(memory->bytes() == 0);
        CHECK(memory->address() == 0);
    }
    CHECK(kept.fill_bytes(0));
    kept = DeviceMemory();
    CHECK(fake_cuda::counters().frees == 1);
}

TEST_CASE("no bytes take no memory") {
    const FakeGpu gpu;
    auto memory = DeviceMemory::allocate(gpu.context(), 0);
    REQUIRE(memory);
    CHECK(memory->pointer() == nullptr);
    CHECK(memory->fill_bytes(1));
    CHECK(memory->copy_from_host({}));
    CHECK(fake_cuda::counters().allocations == 0);
}

TEST_CASE("running out of memory names the size, and nothing is left behind") {
    const FakeGpu gpu;
    fake_cuda::fail("cuMemAlloc_v2#2=2");
    const auto first = DeviceMemory::allocate(gpu.context(), 1000);
    const auto second = DeviceMemory::allocate(gpu.context(), 2000);
    CHECK(first);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == ErrorCode::out_of_memory);
    CHECK(second.error().message.find("allocating 2000 bytes on GPU 0") == 0);
    CHECK(DeviceMemory::allocate(gpu.context(), 3000));
}

TEST_CASE("a copy past the end is refused before the driver sees it") {
    const FakeGpu gpu;
    auto memory = DeviceMemory::allocate(gpu.context(), 4);
    REQUIRE(memory);
    std::array<std::byte, 8> bytes{};
    CHECK(memory->copy_from_host(bytes).error().code == ErrorCode::internal);
    CHECK(memory->copy_to_host(bytes).error().code == ErrorCode::internal);
    CHECK(fake_cuda::counters().copies == 0);
}

TEST_CASE("memory of the pool follows its stream and waits for nothing") {
    const FakeGpu gpu;
    const auto stream = Stream::create(gpu.context());
    REQUIRE(stream);
    const auto guard = gpu.context().enter();
    {
        auto memory = StreamMemory::allocate(gpu.context(), 100, stream->handle());
        REQUIRE(memory);
        CHECK(memory->fill_bytes(0, 100));
        CHECK_FALSE(memory->fill_bytes(0, 101));
        const StreamMemory moved = std::move(*memory);
        CHECK(moved.pointer() != nullptr);
    }
    CHECK(fake_cuda::counters().frees == 1);
    CHECK(fake_cuda::counters().waits == 0);
    fake_cuda::fail("cuMemAllocAsync=2");
    CHECK(StreamMemory::allocate(gpu.context(), 100, stream->handle()).error().code == ErrorCode::out_of_memory);
}
