// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

namespace kiln::tools {

/// What a forward has to do at least, whatever the kernel.
struct Work {
    double input_bytes = 0;    ///< of rows that some window uses, each read once
    double multiply_adds = 0;  ///< with the pixels summed before they are multiplied
    double direct = 0;         ///< the same as PyTorch's layers say it
    double activations = 0;    ///< sigmoids; identity costs nothing
};

/// The spec and the shape have been checked, and the shape is not empty.
[[nodiscard]] Work work_of(const ModelSpec& spec, const Shape& shape);

/// The time that each unit needs for the work at its full rate, in microseconds: no kernel takes less than the longest.
struct Floor {
    double memory_us = 0;
    double products_us = 0;  ///< three TF32 products for fp32 and one for tf32, or multiply-adds where those are faster
    double activations_us = 0;

    [[nodiscard]] double us() const;
};

/// By the rates of the arch (model/rates.hpp).
[[nodiscard]] Floor floor_of(const Work& work, Math math, const Arch& arch);

}  // namespace kiln::tools
