// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/result.hpp"

namespace kiln {

/// A compile-time constant of a kernel: `constexpr long long in_channels = 8;`
struct Constant {
    std::string name;
    std::int64_t value = 0;

    friend bool operator==(const Constant&, const Constant&) = default;
};

/// The text of an embedded template with its includes in place, such as "simt"; a fault if there is none.
[[nodiscard]] Result<std::string_view> template_text(std::string_view name);

/// The source as it is compiled: a preamble of constants in `namespace spec`, then the template's text. Pure; LF line ends.
[[nodiscard]] std::string render_source(std::string_view template_text, std::span<const Constant> constants);

}  // namespace kiln
