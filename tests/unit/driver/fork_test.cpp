// SPDX-License-Identifier: Apache-2.0
#include "driver/fork.hpp"

#include <array>

#include "driver/library.hpp"
#include "driver/memory.hpp"
#include "driver/stream.hpp"
#include "fake_gpu.hpp"
#include "support/child_process.hpp"
#include "support/cubin_builder.hpp"

using namespace kiln;
using namespace kiln::driver;
using kiln::test::build_cubin;
using kiln::test::FakeGpu;
using kiln::test::run_case;
using kiln::test::run_forked;

namespace {

/// For children: prints what did not hold, and counts it.
int failures = 0;
void expect(bool holds, const char* what) {
    if (holds) return;
    std::puts(what);
    ++failures;
}
template <typename T>
bool is_forked_failure(const Result<T>& result) {
    return !result && result.error().code == ErrorCode::forked;
}

}  // namespace

TEST_CASE("a child of a process that has used the driver is refused everything, and its destructors call nothing") {
    const FakeGpu gpu;
    auto context = Context::retain(0);
    auto memory = DeviceMemory::allocate(gpu.context(), 16);
    auto stream = Stream::create(gpu.context());
    auto library = LoadedLibrary::load(gpu.context(), build_cubin());
    REQUIRE((context && memory && stream && library));
    auto kernel = library->kernel("kiln_forward");
    REQUIRE(kernel);
    CHECK_FALSE(is_forked());

    const auto child = run_forked([&] {
        const long calls = fake_cuda::counters().calls;
        const std::array<std::byte, 64> bytes{};
        expect(is_forked(), "is_forked");
        expect(is_forked_failure(entry_points()), "entry_points");
        expect(is_forked_failure(driver::device(0)), "device");
        expect(is_forked_failure(device_count()), "device_count");
        expect(is_forked_failure(Context::retain(0)), "retain");
        expect(is_forked_failure(context->enter()), "enter");
        expect(is_forked_failure(context->synchronize()), "synchronize");
        expect(is_forked_failure(DeviceMemory::allocate(*context, 1)), "allocate");
        expect(is_forked_failure(StreamMemory::allocate(*context, 1, nullptr)), "allocate from the pool");
        expect(is_forked_failure(memory->fill_bytes(0)), "fill");
        expect(is_forked_failure(LoadedLibrary::load(*context, build_cubin())), "load");
        expect(is_forked_failure(library->kernel("kiln_forward")), "kernel");
        expect(is_forked_failure(kernel->launch({}, nullptr, &bytes)), "launch");
        expect(is_forked_failure(kernel->allow_dynamic_shared_bytes(1)), "allow");
        expect(is_forked_failure(kernel->blocks_per_multiprocessor(1, 1)), "occupancy");
        expect(is_forked_failure(Stream::create(*context)), "stream");
        expect(is_forked_failure(Event::create(*context)), "event");
        {
            const Context ended = std::move(*context);
            const DeviceMemory freed = std::move(*memory);
            const Stream closed = std::move(*stream);
            const LoadedLibrary unloaded = std::move(*library);
        }
        expect(fake_cuda::counters().calls == calls, "nothing was called");
        return failures;
    });
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_FALSE(is_forked());
}

TEST_CASE("fork before the driver", "[.]") {
    const auto child = run_forked([] { return Context::retain(0) && !is_forked() ? 0 : 1; });
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(Context::retain(0));  // and the parent is not disturbed
}

TEST_CASE("fork after looking for the driver", "[.]") {
    REQUIRE(open_library());
    CHECK(run_forked([] { return Context::retain(0) ? 0 : 1; }).status == 0);
}

TEST_CASE("fork after the driver failed to start", "[.]") {
    REQUIRE_FALSE(entry_points());
    CHECK(run_forked([] { return Context::retain(0) && !is_forked() ? 0 : 1; }).status == 0);
}

TEST_CASE("a child of a process that has not used the driver can use it") {
    CHECK(run_case("fork before the driver").status == 0);
    CHECK(run_case("fork after looking for the driver").status == 0);
    CHECK(run_case("fork after the driver failed to start", {{"FAKE_CUDA_FAIL", "cuInit#1=999"}}).status == 0);
}

TEST_CASE("a grandchild is refused too") {
    const FakeGpu gpu;
    const auto child = run_forked([] { return run_forked([] { return is_forked_failure(Context::retain(0)) ? 0 : 1; }).status; });
    CHECK(child.status == 0);
}
