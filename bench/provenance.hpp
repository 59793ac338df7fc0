// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "driver/device.hpp"

namespace kiln::bench {

/// What this program was built from: 40 digits, with "-modified" where files differed; written by cmake/CommitSource.cmake.
extern const char* const commit;

/// What was measured, on what and when: commit, date, GPU, its driver and NVRTC. The head of every file of measurements.
[[nodiscard]] nlohmann::ordered_json provenance(const driver::Device& device);

}  // namespace kiln::bench
