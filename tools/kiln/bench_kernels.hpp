// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/library.hpp"

namespace kiln::tools {

/// Two kernels to measure beside: one that does nothing, which is what a launch costs, and one that only reads, which is the
/// least that reading the input costs. Compiled for the device when made.
class BenchKernels {
public:
    [[nodiscard]] static Result<BenchKernels> build(const driver::Context& context);

    [[nodiscard]] Result<void> launch_empty(CUstream stream) const;

    /// Reads `bytes`, of which a remainder of less than 16 is left out. `sink` is where it would write if the data were not
    /// numbers.
    [[nodiscard]] Result<void> launch_read(const void* data, std::uint64_t bytes, float* sink, CUstream stream) const;

private:
    BenchKernels(driver::LoadedLibrary library, driver::Kernel empty, driver::Kernel read, unsigned read_blocks)
        : library_(std::move(library)), empty_(empty), read_(read), read_blocks_(read_blocks) {}

    driver::LoadedLibrary library_;
    driver::Kernel empty_;
    driver::Kernel read_;
    unsigned read_blocks_;
};

}  // namespace kiln::tools
