// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/context.hpp"
#include "fake_cuda.hpp"
#include "support/catch.hpp"

namespace kiln::test {

/// GPU 0 of the fake driver, for one test case; afterwards nothing may be left.
class FakeGpu {
public:
    FakeGpu() : context_(begin()) {}
    FakeGpu(const FakeGpu&) = delete;
    FakeGpu& operator=(const FakeGpu&) = delete;
    ~FakeGpu() {
        fake_cuda::fail("");
        const auto counters = fake_cuda::counters();
        CHECK(counters.contexts_retained == counters.contexts_released + 1);  // ours
        CHECK(counters.libraries_loaded == counters.libraries_unloaded);
        CHECK(counters.allocations == counters.frees);
        CHECK(counters.bytes_in_use == 0);
        CHECK(counters.streams == 0);
        CHECK(counters.events == 0);
        CHECK(counters.graphs == 0);
        CUcontext current = nullptr;
        CHECK(context_.cuda().ctx_get_current(&current) == CUDA_SUCCESS);
        CHECK(current == nullptr);
    }
    [[nodiscard]] const driver::Context& context() const { return context_; }

private:
    static driver::Context begin() {
        fake_cuda::reset();
        auto context = driver::Context::retain(0);
        REQUIRE(context);
        return std::move(*context);
    }
    driver::Context context_;
};

}  // namespace kiln::test
