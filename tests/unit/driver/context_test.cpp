// SPDX-License-Identifier: Apache-2.0
#include "driver/context.hpp"

#include <thread>

#include "fake_gpu.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::FakeGpu;

namespace {

CUcontext current(const Context& context) {
    CUcontext handle = nullptr;
    REQUIRE(context.cuda().ctx_get_current(&handle) == CUDA_SUCCESS);
    return handle;
}

}  // namespace

TEST_CASE("a context is retained once and released once, moves included") {
    const FakeGpu gpu;
    {
        auto first = Context::retain(0);
        REQUIRE(first);
        Context second = std::move(*first);
        auto third = second.share();
        REQUIRE(third);
        second = std::move(*third);
        CHECK(second.handle() == gpu.context().handle());
        CHECK(second.device().ordinal == 0);
        CHECK(fake_cuda::counters().contexts_released == 1);
    }
    CHECK(fake_cuda::counters().contexts_retained == 3);
    CHECK(fake_cuda::counters().contexts_released == 2);
}

TEST_CASE("a guard makes the context current and leaves what was current before") {
    const FakeGpu gpu;
    CHECK(current(gpu.context()) == nullptr);
    {
        const auto guard = gpu.context().enter();
        REQUIRE(guard);
        CHECK(current(gpu.context()) == gpu.context().handle());
        const long calls = fake_cuda::counters().calls;
        {
            const auto inner = gpu.context().enter();
            REQUIRE(inner);
        }
        CHECK(fake_cuda::counters().calls == calls + 1);  // one query, no push, no pop
        CHECK(current(gpu.context()) == gpu.context().handle());
        std::thread([&] { CHECK(current(gpu.context()) == nullptr); }).join();
    }
    CHECK(current(gpu.context()) == nullptr);
}

TEST_CASE("a GPU that cannot be opened or entered is an error") {
    const FakeGpu gpu;
    fake_cuda::fail("cuDevicePrimaryCtxRetain=2");
    const auto context = Context::retain(0);
    REQUIRE_FALSE(context);
    CHECK(context.error().code == ErrorCode::out_of_memory);
    CHECK(context.error().message.find("opening GPU 0 (Fake GPU 0)") == 0);
    fake_cuda::fail("cuCtxPushCurrent_v2=201");
    CHECK(gpu.context().enter().error().native_code == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("waiting for a context reports what went wrong on the GPU") {
    const FakeGpu gpu;
    CHECK(gpu.context().synchronize());
    fake_cuda::fail("cuCtxSynchronize=719");
    CHECK(gpu.context().synchronize().error().native_code == CUDA_ERROR_LAUNCH_FAILED);
}

TEST_CASE("a driver that has shut down does not disturb destructors") {
    fake_cuda::reset();
    {
        auto context = Context::retain(0);
        REQUIRE(context);
        const auto guard = context->enter();
        fake_cuda::fail("*=4");
    }
    CHECK(fake_cuda::counters().contexts_released == 0);  // refused, and nothing thrown
    fake_cuda::fail("");
    CUcontext popped = nullptr;
    CHECK(entry_points().value()->ctx_pop_current(&popped) == CUDA_SUCCESS);
    CHECK(entry_points().value()->device_primary_ctx_release(0) == CUDA_SUCCESS);
}
