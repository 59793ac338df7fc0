// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

namespace {

/// Before main, and so before anything asks for the driver.
const int is_chosen = setenv("KILN_CUDA_LIBRARY", FAKE_CUDA_PATH, 0);

}  // namespace
