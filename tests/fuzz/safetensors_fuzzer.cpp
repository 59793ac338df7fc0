// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .safetensors file: refused, or read into tensors whose values are those that their shapes count.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "tensor/safetensors.hpp"

using namespace kiln::tools;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto tensors = parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
    if (!tensors) {
        if (tensors.error().code != kiln::ErrorCode::bad_file || tensors.error().message.empty()) std::abort();
        return 0;
    }
    std::vector<SafetensorsEntry> entries;
    for (const NamedTensor& each : *tensors) {
        if (element_count(each.tensor.shape) != each.tensor.values.size()) std::abort();
        entries.push_back({.name = each.name, .dtype = "F32", .shape = each.tensor.shape});
    }
    if (const auto chosen = choose_weights(entries, "fuzz.safetensors"); chosen && chosen->weight == nullptr) std::abort();
    return 0;
}
