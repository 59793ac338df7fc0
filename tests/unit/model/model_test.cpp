// SPDX-License-Identifier: Apache-2.0
// Construction and launching, against a libcuda of our own; what the kernels compute is for tests/gpu.
#include <kiln/model.hpp>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include <kiln/error.hpp>

#include "cache/kernel_cache.hpp"
#include "driver/context.hpp"
#include "driver/stream.hpp"
#include "fake_cuda.hpp"
#include "jit/nvrtc.hpp"
#include "model/forward_arguments.hpp"
#include "model/model_state.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/random_case.hpp"
#include "support/temporary_directory.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const RandomCase& small_case() {
    static const RandomCase random =
        drawn_case({.in_channels = 2, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 2}, {4, 20, 22}, 1);
    return random;
}

/// One cache for the whole binary, so that each spec is compiled once.
Options options_of(const TemporaryDirectory& directory) {
    return {.device = 0, .cache = {.directory = directory.path()}};
}

const TemporaryDirectory& shared_directory() {
    static const TemporaryDirectory directory;
    return directory;
}

Model make_model(const Options& options = options_of(shared_directory())) {
    return {small_case().spec, small_case().weights(), options};
}

struct Caught {
    ErrorCode code = ErrorCode::internal;
    int native_code = 0;
    std::string message;
};

template <typename Call>
Caught caught(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.code(), error.native_code(), error.what()};
    }
    return {ErrorCode::internal, 0, "nothing was thrown"};
}

/// Host memory serves as device memory here.
struct Buffers {
    std::vector<float> x = small_case().input;
    std::vector<float> y = std::vector<float>(4, -1.0F);
};

long leaked() {
    const auto counters = fake_cuda::counters();
    return counters.contexts_retained - counters.contexts_released + counters.libraries_loaded - counters.libraries_unloaded +
           counters.allocations - counters.frees + counters.bytes_in_use;
}

}  // namespace

TEST_CASE("a forward is one launch, with the arguments that the kernel declares") {
    fake_cuda::reset();
    const Model model = make_model();
    Buffers buffers;
    Workspace workspace = model.workspace(small_case().shape);
    const auto before = fake_cuda::counters();
    model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, workspace);
    const auto after = fake_cuda::counters();

    REQUIRE(fake_cuda::launches().size() == 1);
    CHECK(after.allocations == before.allocations);
    CHECK(after.copies == before.copies);
    CHECK(after.libraries_loaded == before.libraries_loaded);
    CHECK(after.waits == before.waits);

    const fake_cuda::Launch launch = fake_cuda::launches()[0];
    REQUIRE(launch.parameters.size() == sizeof(ForwardArguments));
    ForwardArguments arguments;
    std::memcpy(&arguments, launch.parameters.data(), sizeof arguments);
    CHECK(arguments.x == buffers.x.data());
    CHECK(arguments.y == buffers.y.data());
    CHECK(arguments.batch == 4);
    CHECK(arguments.height == 20);
    CHECK(arguments.width == 22);
    CHECK(arguments.pooled_height == 9);
    CHECK(arguments.pooled_width == 10);
    CHECK(launch.grid[1] == 1);
    CHECK(launch.grid[2] == 1);
}

TEST_CASE("a forward describes its input to a kernel that copies boxes of it, where the copy engine can") {
    fake_cuda::reset();
    const Shape shape{2, 20, 24};
    const RandomCase random =
        drawn_case({.in_channels = 4, .out_channels = 3, .kernel_size = 3, .pool_kernel_size = 4, .expected = shape}, shape, 1);
    std::vector<Plan> plans = enumerate_plans(random.spec, Arch::sm_90a);
    std::erase_if(plans, [&](const Plan& plan) {
        return plan.family->geometry(random.spec, plan.candidate.tile, shape, {132, 232448, 1}).input_box.columns == 0;
    });
    REQUIRE_FALSE(plans.empty());
    const Model model = ModelAccess::with_plan(random.spec, random.weights(), plans.front(), options_of(shared_directory()));
    std::vector<float> memory(random.input.size() + 8), y(2);
    float* x = memory.data();
    while (reinterpret_cast<std::uintptr_t>(x) % 16 != 0) ++x;
    const auto map_of = [&](const float* input, const Shape& of_input) {
        model.forward(input, y.data(), of_input, nullptr);
        const fake_cuda::Launch launch = fake_cuda::launches().back();
        REQUIRE(launch.parameters.size() == sizeof(KernelParameter));
        KernelParameter parameter;
        std::memcpy(&parameter, launch.parameters.data(), sizeof parameter);
        CHECK(parameter.forward.x == input);
        return parameter.input_map;
    };
    // As the fake driver encodes it: the address, sizes and box from the columns on, then channels, rows, images.
    const auto map = map_of(x, shape);
    const std::int64_t rows = tile_value(plans.front().candidate.tile, "stage_rows");
    CHECK(map == std::array<std::uint64_t, 16>{reinterpret_cast<std::uintptr_t>(x), 24, 4, 20, 2, 32, 4,
                                               static_cast<std::uint64_t>(rows), 1});
    CHECK(map_of(x + 1, shape) == std::array<std::uint64_t, 16>{});
    CHECK(map_of(x, {2, 20, 23}) == std::array<std::uint64_t, 16>{});
}

TEST_CASE("a forward on any stream finds the weights and a workspace of zeros") {
    fake_cuda::reset();
    const Model model = make_model();
    Buffers buffers;
    const auto context = driver::Context::retain(0);
    REQUIRE(context);
    const auto stream = driver::Stream::create(*context);
    REQUIRE(stream);
    SECTION("the weights") {
        model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, stream->handle());
    }
    SECTION("the workspace") {
        Workspace workspace = model.workspace(small_case().shape);
        model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, stream->handle(), workspace);
    }
    CHECK(fake_cuda::counters().launches == 1);
    CHECK(fake_cuda::counters().launches_too_early == 0);
}

TEST_CASE("without a workspace the scratch comes from the stream and goes back to it") {
    fake_cuda::reset();
    const Model model = make_model();
    Buffers buffers;
    const auto before = fake_cuda::counters();
    model.forward(buffers.x.data(), buffers.y.data(), small_case().shape);
    const auto after = fake_cuda::counters();
    CHECK(after.launches == before.launches + 1);
    CHECK(after.allocations - before.allocations == after.frees - before.frees);
    CHECK(after.waits == before.waits);
}

TEST_CASE("a batch of zero launches nothing, whatever the pointers") {
    fake_cuda::reset();
    const Model model = make_model();
    Workspace workspace = model.workspace({0, 20, 22});
    model.forward(nullptr, nullptr, {0, 20, 22}, nullptr, workspace);
    model.forward(nullptr, nullptr, {0, 20, 22}, nullptr);
    CHECK(fake_cuda::launches().empty());
}

TEST_CASE("bad arguments of a forward are named, and nothing is launched") {
    fake_cuda::reset();
    const Model model = make_model();
    Buffers buffers;
    Workspace workspace = model.workspace(small_case().shape), none;
    const auto message = [&](const float* x, float* y, const Shape& shape, Workspace& scratch) {
        const Caught error = caught([&] { model.forward(x, y, shape, nullptr, scratch); });
        CHECK(error.code == ErrorCode::invalid_argument);
        return error.message;
    };
    const Shape& shape = small_case().shape;
    CHECK(message(nullptr, buffers.y.data(), shape, workspace).find("x is a null pointer") != std::string::npos);
    CHECK(message(buffers.x.data(), nullptr, shape, workspace).find("y is a null pointer") != std::string::npos);
    const auto* misaligned = reinterpret_cast<const float*>(reinterpret_cast<const char*>(buffers.x.data()) + 2);
    CHECK(message(misaligned, buffers.y.data(), shape, workspace).find("aligned to 4 bytes") != std::string::npos);
    CHECK(message(buffers.x.data(), buffers.y.data(), {4, 20, 3}, workspace).find("pool_kernel_size") != std::string::npos);
    CHECK(message(buffers.x.data(), buffers.y.data(), {4000, 500, 500}, none).find("workspace holds 0") != std::string::npos);
    CHECK(fake_cuda::launches().empty());
}

TEST_CASE("forward with the workspace of another GPU", "[.]") {
    Options second = options_of(shared_directory());
    second.device = 1;
    const Model here = make_model(), there = make_model(second);
    Buffers buffers;
    Workspace of_here = here.workspace(small_case().shape), of_there = there.workspace(small_case().shape);
    fake_cuda::reset();
    const Caught error = caught([&] { there.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, of_here); });
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(error.message.find("workspace is memory of cuda:0; the model runs on cuda:1") != std::string::npos);
    CHECK(fake_cuda::launches().empty());
    there.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, of_there);
    CHECK(fake_cuda::launches().size() == 1);
}

TEST_CASE("a workspace of another GPU is refused, naming both") {
    CHECK(run_case("forward with the workspace of another GPU", {{"FAKE_CUDA_DEVICES", "2"}}).status == 0);
}

TEST_CASE("equal models share one loaded kernel, and the report says where each had it from") {
    const TemporaryDirectory directory;
    fake_cuda::reset();
    const Options options = options_of(directory);
    {
        const Model first = make_model(options);
        CHECK(first.kernel().origin == Origin::compiled);
        CHECK(first.kernel().compile_ms > 0);
        CHECK_FALSE(first.kernel().miss_reason.empty());
        CHECK(first.kernel().arch == "sm_90a");
        CHECK(first.kernel().registers > 0);
        CHECK(first.kernel().cubin_bytes > 0);
        CHECK(first.kernel().key.size() == 32);
        const Model second = make_model(options);
        CHECK(second.kernel().origin == Origin::memory);
        CHECK(second.kernel().compile_ms == 0);
        CHECK(second.kernel().key == first.kernel().key);
        CHECK(fake_cuda::counters().libraries_loaded == 1);
    }
    CHECK(fake_cuda::counters().libraries_unloaded == 1);
    CHECK(leaked() == 0);
}

TEST_CASE("construction cleans up after each driver call that fails") {
    make_model();  // the cubin is in the cache now
    for (const char* call :
         {"cuDevicePrimaryCtxRetain", "cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction", "cuFuncGetAttribute",
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuMemAlloc_v2", "cuMemcpyHtoD_v2"}) {
        fake_cuda::reset();
        const long before = leaked();
        fake_cuda::fail(std::string(call) + "#1=2");
        const Caught error = caught([] { make_model(); });
        INFO(call << ": " << error.message);
        CHECK(error.code == ErrorCode::out_of_memory);
        CHECK(error.native_code == 2);
        fake_cuda::fail("");
        CHECK(leaked() == before);
        make_model();  // and the next one works
    }
}

TEST_CASE("a cached cubin that the driver refuses is compiled afresh, and a fresh one is an error") {
    const TemporaryDirectory directory;
    const Options options = options_of(directory);
    fake_cuda::reset();
    { const Model model = make_model(options); }
    fake_cuda::fail("cuLibraryLoadData#1=200");
    {
        const Model model = make_model(options);
        CHECK(model.kernel().origin == Origin::compiled);
        CHECK(model.kernel().miss_reason.find("refused") != std::string::npos);
    }
    const TemporaryDirectory empty;
    fake_cuda::fail("cuLibraryLoadData=200");
    const Caught error = caught([&] { make_model(options_of(empty)); });
    CHECK(error.code == ErrorCode::driver_failure);
    CHECK(error.native_code == 200);
    fake_cuda::fail("");
    CHECK(leaked() == 0);
}

TEST_CASE("a launch that fails is an error with the driver's code, and the next one works") {
    fake_cuda::reset();
    const Model model = make_model();
    Buffers buffers;
    Workspace workspace = model.workspace(small_case().shape);
    fake_cuda::fail("cuLaunchKernel#1=719");
    const Caught error =
        caught([&] { model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, workspace); });
    CHECK(error.code == ErrorCode::driver_failure);
    CHECK(error.native_code == 719);
    CHECK(error.message.find("CUDA_ERROR_LAUNCH_FAILED") != std::string::npos);
    model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, workspace);
}

TEST_CASE("a workspace and a scratch that do not fit are out of memory") {
    fake_cuda::reset();
    const Model model = make_model();
    const Shape many{5000, 20, 22};
    fake_cuda::fail("cuMemAlloc_v2=2,cuMemAllocAsync=2");
    CHECK(caught([&] { (void)model.workspace(many); }).code == ErrorCode::out_of_memory);
    Buffers buffers;
    CHECK(caught([&] { model.forward(buffers.x.data(), buffers.y.data(), many); }).code == ErrorCode::out_of_memory);
    fake_cuda::fail("");
}

TEST_CASE("destructors accept a driver that has shut down") {
    fake_cuda::reset();
    {
        const Model model = make_model();
        const Workspace workspace = model.workspace(small_case().shape);
        fake_cuda::fail("*=4");
    }
    fake_cuda::fail("");
}

TEST_CASE("models move, and are used from many threads") {
    fake_cuda::reset();
    Model first = make_model();
    Model second = std::move(first);
    first = std::move(second);
    Buffers buffers;
    std::vector<std::jthread> threads;
    for (int each = 0; each < 8; ++each) {
        threads.emplace_back([&] {
            Workspace workspace = first.workspace(small_case().shape);
            for (int repeat = 0; repeat < 50; ++repeat) {
                first.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, workspace);
            }
        });
    }
    threads.clear();
    CHECK(fake_cuda::counters().launches == 400);
}

TEST_CASE("10,000 models built and destroyed leave nothing behind") {
    fake_cuda::reset();
    make_model();
    const long before = leaked();
    const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
    const auto descriptors_before = descriptors();
    for (int each = 0; each < 10'000; ++each) make_model();
    CHECK(leaked() == before);
    CHECK(descriptors() == descriptors_before);
}

TEST_CASE("leave a model and a workspace to the end of the process", "[.]") {
    static const Model model = make_model();
    static Workspace workspace = model.workspace(small_case().shape);
    Buffers buffers;
    model.forward(buffers.x.data(), buffers.y.data(), small_case().shape, nullptr, workspace);
    CHECK(fake_cuda::launches().size() == 1);
}

TEST_CASE("static models end with their process, in silence") {
    const ChildResult ended = run_case("leave a model and a workspace to the end of the process");
    CHECK(ended.status == 0);
    CHECK(ended.output.find("All tests passed") != std::string::npos);
    CHECK(ended.output.find("kiln") == std::string::npos);  // no line of the log
}

TEST_CASE("weights and devices that are not right are named") {
    fake_cuda::reset();
    const RandomCase& random = small_case();
    CHECK(caught([&] {
              Model(random.spec, {std::span(random.weight).first(3), random.bias});
          }).message.find("weight has 3 values") != std::string::npos);
    CHECK(caught([&] { Model(random.spec, random.weights(), {.device = 7}); }).code == ErrorCode::no_device);
    ModelSpec spec = random.spec;
    spec.stride = 0;
    CHECK(caught([&] { Model(spec, random.weights()); }).message.find("stride is 0x0") != std::string::npos);
}
