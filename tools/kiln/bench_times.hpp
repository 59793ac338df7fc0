// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <kiln/model.hpp>

#include "driver/context.hpp"
#include "kiln/bench_kernels.hpp"

namespace kiln::tools {

/// Microseconds per launch, medians over the rounds.
struct Times {
    double forward_us = 0;
    double fastest_forward_us = 0;
    double read_us = 0;           ///< a kernel that only reads the bytes that are needed, interleaved with the forwards
    double empty_us = 0;          ///< a kernel that does nothing
    std::size_t launches = 0;     ///< in one graph
    std::size_t buffers = 0;      ///< that they rotate over
    bool inputs_pass_l2 = false;  ///< whether the buffers together do not fit the L2 cache
};

/// Times forwards of this shape: CUDA graphs of at least 20 launches over inputs that rotate, each graph between two events, one
/// of forwards, one that reads `input_bytes` of the same inputs and one of empty kernels in turn, `rounds` times.
[[nodiscard]] Times measure(const Model& model, const driver::Context& context, const BenchKernels& kernels, const Shape& shape,
                            double input_bytes, int rounds);

}  // namespace kiln::tools
