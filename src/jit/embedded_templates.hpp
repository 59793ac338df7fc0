// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

struct EmbeddedTemplate {
    std::string_view name;
    std::string text;
};

/// The files of `kernel_templates/`, built into the library.
[[nodiscard]] const std::vector<EmbeddedTemplate>& embedded_templates();

}  // namespace kiln
