// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "support/result.hpp"
#include "tensor/tensor.hpp"

namespace kiln::tools {

/// A convolution's parameters as a file holds them.
struct WeightTensors {
    Tensor weight;
    std::optional<Tensor> bias;
};

/// Reads a `.npy` file, or a `.safetensors` file that holds one tensor. Which of them, the name's end says.
/// The data go straight into the tensor: a file as large as half the memory can be read.
[[nodiscard]] Result<Tensor> read_tensor_file(const std::filesystem::path& path);

/// Reads `weight` and `bias` from a `.safetensors` file (see `choose_weights`), or the weight alone from a `.npy` file.
[[nodiscard]] Result<WeightTensors> read_weights_file(const std::filesystem::path& path);

/// Writes one tensor as `.npy` or `.safetensors` (where it is called "y"). Anything short of a whole file on disk is a failure.
[[nodiscard]] Result<void> write_tensor_file(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                                             std::span<const float> values);

/// Whether the name ends as a tensor file's does; the failure says what is allowed.
[[nodiscard]] Result<void> check_tensor_name(const std::filesystem::path& path);

/// A text file such as `--specs`, whole; longer ones than `maximum_bytes` are refused.
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t maximum_bytes);

}  // namespace kiln::tools
