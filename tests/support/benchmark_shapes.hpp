// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <kiln/spec.hpp>
#include <nlohmann/json.hpp>

#include "benchmark_shapes_json.hpp"

namespace kiln::test {

/// One of the shapes by which Kiln is judged: bench/shapes.json.
struct BenchmarkShape {
    std::string name;
    ModelSpec spec;
    Shape shape;
};

inline std::vector<BenchmarkShape> benchmark_shapes() {
    std::vector<BenchmarkShape> shapes;
    for (const auto& each : nlohmann::json::parse(benchmark_shapes_json)) {
        shapes.push_back({each.at("name"),
                          {.in_channels = each.at("in_channels").get<std::int64_t>(),
                           .out_channels = each.at("out_channels").get<std::int64_t>(),
                           .kernel_size = each.at("kernel_size").get<std::int64_t>(),
                           .pool_kernel_size = each.at("pool_kernel_size").get<std::int64_t>()},
                          {each.at("batch"), each.at("height"), each.at("width")}});
    }
    return shapes;
}

}  // namespace kiln::test
