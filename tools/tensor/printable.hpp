// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace kiln::tools {

/// Text from a file as it may stand in a message: bytes outside printable ASCII become '?', and what is long is cut.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace kiln::tools
