// SPDX-License-Identifier: Apache-2.0
#include "kiln/specs_file.hpp"

#include <kiln/error.hpp>

#include <fmt/format.h>

#include "model/spec_json.hpp"
#include "model/validation.hpp"
#include "tensor/tensor_file.hpp"

namespace kiln::tools {

std::vector<ModelSpec> read_specs(const std::string& file) {
    constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
    const std::string text = value_or_throw(read_text_file(file, most_bytes));
    auto specs = value_or_throw(specs_from_json_text(text, file));
    if (specs.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("{}: has no spec; at least one is needed", file));
    for (std::size_t index = 0; index < specs.size(); ++index) {
        if (auto checked = check_spec(specs[index]); !checked) {
            checked.error().message = fmt::format("{}: spec {}: {}", file, index, checked.error().message);
            throw_error(checked.error());
        }
    }
    return specs;
}

}  // namespace kiln::tools
