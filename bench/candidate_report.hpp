// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace kiln::bench {

/// One line for people, of what `measure_job` says.
void print_line(const nlohmann::ordered_json& result);

/// What is asked of the planner, counted over all specs' results.
[[nodiscard]] nlohmann::ordered_json summary(const nlohmann::ordered_json& results);

/// What the cost models of this build would have chosen among the candidates of an earlier run's file.
void replay(const std::string& path);

}  // namespace kiln::bench
