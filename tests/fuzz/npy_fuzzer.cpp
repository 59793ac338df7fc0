// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .npy file: refused, or read into a tensor whose values are those that its shape counts, and which is written
// back alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tensor/npy.hpp"

using namespace kiln::tools;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto tensor = parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    if (!tensor) {
        if (tensor.error().code != kiln::ErrorCode::bad_file || tensor.error().message.empty()) std::abort();
        return 0;
    }
    if (element_count(tensor->shape) != tensor->values.size()) std::abort();

    const std::string header = npy_header(tensor->shape);
    if (header.size() > npy_start_bytes) return 0;
    const auto bytes = std::as_bytes(std::span(header));
    const auto again = parse_npy_header(bytes, header.size() + tensor->values.size() * sizeof(float), "again.npy");
    if (!again || again->shape != tensor->shape) std::abort();
    return 0;
}
