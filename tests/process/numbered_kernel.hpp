// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/sample_kernel.hpp"

namespace kiln::test {

inline KernelRequest numbered_request(int number) {
    return sample_request(number);
}

/// Another cubin for each number, so that a wrong one is noticed.
inline Bytes numbered_cubin(int number) {
    return build_cubin({.registers = 16 + number % 200, .parameter_bytes = number});
}

}  // namespace kiln::test
