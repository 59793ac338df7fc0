// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <kiln/report.hpp>
#include <kiln/warm.hpp>
#include <nlohmann/json.hpp>

namespace kiln::tools {

/// A kernel's facts under the names that scripts rely on; `error` is null.
[[nodiscard]] nlohmann::ordered_json kernel_to_json(const KernelReport& report);

/// The same of a warm, with its spec. A kernel that could not be had has an `error` and no `origin`.
[[nodiscard]] nlohmann::ordered_json warm_to_json(const WarmReport& report);

/// "simt (positions=128,filters=64) for sm_90a, compiled in 312 ms", for people.
[[nodiscard]] std::string kernel_sentence(const KernelReport& report);

/// "3→64, kernel 3, pool 4, stride 2": what differs from the defaults, for people.
[[nodiscard]] std::string spec_sentence(const ModelSpec& spec);

}  // namespace kiln::tools
