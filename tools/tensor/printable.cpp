// SPDX-License-Identifier: Apache-2.0
#include "tensor/printable.hpp"

#include <algorithm>

namespace kiln::tools {

std::string printable(std::string_view text) {
    constexpr std::size_t most_bytes = 60;
    std::string result(text.substr(0, most_bytes));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    if (text.size() > most_bytes) result += "…";
    return result;
}

}  // namespace kiln::tools
