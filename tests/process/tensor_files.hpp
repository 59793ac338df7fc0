// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tensor/npy.hpp"
#include "tensor/tensor.hpp"

namespace kiln::test {

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string raw(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

inline void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    write_file(path, tools::npy_header(shape) + raw(values));
}

/// conv.bias and conv.weight, as PyTorch's state dictionaries are saved.
inline void write_weights(const std::string& path, const std::vector<std::int64_t>& shape, const std::vector<float>& weight,
                          const std::vector<float>& bias) {
    const std::size_t bias_bytes = bias.size() * sizeof(float);
    const std::size_t end = bias_bytes + weight.size() * sizeof(float);
    const nlohmann::ordered_json header{
        {"conv.bias", {{"dtype", "F32"}, {"shape", {bias.size()}}, {"data_offsets", {0, bias_bytes}}}},
        {"conv.weight", {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {bias_bytes, end}}}}};
    const std::string text = header.dump();
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
    write_file(path, length + text + raw(bias) + raw(weight));
}

/// 0.01, 0.02, … in a saw-tooth: different everywhere, and no random numbers.
inline std::vector<float> saw(std::size_t count, float step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = step * static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
    return values;
}

}  // namespace kiln::test
