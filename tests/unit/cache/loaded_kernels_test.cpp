// SPDX-License-Identifier: Apache-2.0
#include "cache/loaded_kernels.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace kiln;

namespace {

using Kernels = LoadedKernels<int>;

std::shared_ptr<const Key> shared_key(const std::string& text) {
    return std::make_shared<const Key>(key_of_text(text));
}

Result<Kernels::Pointer> load_one() {
    return std::make_shared<const int>(1);
}

}  // namespace

TEST_CASE("a loaded kernel is shared for as long as somebody holds it") {
    Kernels kernels;
    const auto key = shared_key("key");
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
    const auto key = shared_key("key");
    const auto first = kernels.get(key, 0, load_one);
    CHECK_FALSE(kernels.get(key, 1, load_one)->shared);
    CHECK_FALSE(kernels.get(shared_key("other"), 0, load_one)->shared);
    Key colliding = *key;
    colliding.text = "other text, same name";
    CHECK_FALSE(kernels.get(std::make_shared<const Key>(colliding), 0, load_one)->shared);
}

TEST_CASE("a key that was made again is the same key") {
    Kernels kernels;
    const auto first = kernels.get(shared_key("key"), 0, load_one);
    const auto again = kernels.get(shared_key("key"), 0, load_one);
    REQUIRE((first && again));
    CHECK(again->shared);
    CHECK(again->kernel == first->kernel);
}

TEST_CASE("a failed load is not kept") {
    Kernels kernels;
    const auto key = shared_key("key");
    const auto failed = kernels.get(key, 0, []() -> Result<Kernels::Pointer> { return fail(ErrorCode::driver_failure, "no"); });
    CHECK(failed.error().code == ErrorCode::driver_failure);
    CHECK_FALSE(kernels.get(key, 0, load_one)->shared);
}

TEST_CASE("models that ask at the same time wait for one load") {
    Kernels kernels;
    const auto key = shared_key("key");
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
    for (int i = 0; i < 1000; ++i) REQUIRE(kernels.get(shared_key(std::to_string(i)), 0, load_one));
    CHECK(kernels.size() == 0);
}
