// SPDX-License-Identifier: Apache-2.0
#include "cache/loaded_kernels.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace kiln;

namespace {

using Kernels = LoadedKernels<int>;

Result<Kernels::Pointer> load_one() {
    return std::make_shared<const int>(1);
}

}  // namespace

TEST_CASE("a loaded kernel is shared for as long as somebody holds it") {
    Kernels kernels;
    const Key key = key_of_text("key");
    auto first = kernels.get(key, 0, load_one);
    REQUIRE(first);
    CHECK_FALSE(first->shared);
    auto second = kernels.get(key, 0, load_one);
    REQUIRE(second);
    CHECK(second->shared);
    CHECK(first->kernel == second->kernel);
    CHECK(kernels.size() == 1);
    first->kernel.reset();
    second->kernel.reset();
    CHECK(kernels.size() == 0);
    CHECK_FALSE(kernels.get(key, 0, load_one)->shared);
}

TEST_CASE("another device or another key is another kernel") {
    Kernels kernels;
    const Key key = key_of_text("key");
    const auto first = kernels.get(key, 0, load_one);
    CHECK_FALSE(kernels.get(key, 1, load_one)->shared);
    CHECK_FALSE(kernels.get(key_of_text("other"), 0, load_one)->shared);
    Key colliding = key;
    colliding.text = "other text, same name";
    CHECK_FALSE(kernels.get(colliding, 0, load_one)->shared);
}

TEST_CASE("a failed load is not kept") {
    Kernels kernels;
    const Key key = key_of_text("key");
    const auto failed = kernels.get(key, 0, []() -> Result<Kernels::Pointer> { return fail(ErrorCode::driver_failure, "no"); });
    CHECK(failed.error().code == ErrorCode::driver_failure);
    CHECK_FALSE(kernels.get(key, 0, load_one)->shared);
}

TEST_CASE("models that ask at the same time wait for one load") {
    Kernels kernels;
    const Key key = key_of_text("key");
    std::atomic<int> loads{0};
    std::atomic<int> shared{0};
    std::vector<std::jthread> threads;
    std::vector<Kernels::Pointer> held(8);
    for (auto& mine : held) {
        threads.emplace_back([&] {
            auto got = kernels.get(key, 0, [&] {
                ++loads;
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return load_one();
            });
            if (!got) return;
            if (got->shared) ++shared;
            mine = got->kernel;
        });
    }
    threads.clear();
    CHECK(loads == 1);
    CHECK(shared == 7);
}

TEST_CASE("kernels that are gone are forgotten") {
    Kernels kernels;
    for (int i = 0; i < 1000; ++i) REQUIRE(kernels.get(key_of_text(std::to_string(i)), 0, load_one));
    CHECK(kernels.size() == 0);
}
