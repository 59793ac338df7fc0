// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "tensor/tensor.hpp"

namespace kiln::tools {

/// The safetensors format:
///
///     file   = length header data
///     length = of the header: 8 bytes, little-endian
///     header = a JSON object: a tensor's name → {"dtype", "shape", "data_offsets": [begin, end]}, and "__metadata__" → strings;
///              begins with '{', may end with spaces
///     data   = the tensors' bytes; offsets count from its beginning, cover it whole, and no two overlap
///
/// A header that breaks a rule is refused with a `bad_file`, also where the tensor that breaks it is not wanted.

/// The format's own limit.
constexpr std::uint64_t safetensors_maximum_header_bytes = 100'000'000;
constexpr std::size_t safetensors_length_bytes = 8;

struct SafetensorsEntry {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  ///< in the data, in bytes
    std::uint64_t end = 0;
};

/// The header's length, checked against the file's. `start` holds the file's first 8 bytes, or all it has. `source` begins the
/// messages.
[[nodiscard]] Result<std::uint64_t> parse_safetensors_length(std::span<const std::byte> start, std::uint64_t file_bytes,
                                                             std::string_view source);

/// The tensors in the order of their bytes. A success means that each lies inside the data and has the bytes that its shape
/// needs.
[[nodiscard]] Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                                                                             std::string_view source);

struct NamedTensor {
    std::string name;
    Tensor tensor;
};

/// A whole file in memory: its tensors of dtype F32, the others left out.
[[nodiscard]] Result<std::vector<NamedTensor>> parse_safetensors(std::span<const std::byte> file, std::string_view source);

/// Length and header of a file that holds one tensor of float32.
[[nodiscard]] std::string safetensors_header(std::string_view name, std::span<const std::int64_t> shape);

/// The tensors that hold a convolution's parameters.
struct WeightNames {
    const SafetensorsEntry* weight = nullptr;
    const SafetensorsEntry* bias = nullptr;  ///< null where the file has none
};

/// `weight` or PyTorch's `conv.weight`; where the file has neither, the one name that ends in `.weight` (of a model inside
/// another). The bias is the name beside it. None, or a choice of several, is refused.
[[nodiscard]] Result<WeightNames> choose_weights(std::span<const SafetensorsEntry> entries, std::string_view source);

}  // namespace kiln::tools
