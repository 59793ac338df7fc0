// SPDX-License-Identifier: Apache-2.0
#include "model/family.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

namespace kiln {

std::int64_t tile_value(const Tile& tile, std::string_view name) {
    const auto found = std::find_if(tile.begin(), tile.end(), [&](const Constant& each) { return each.name == name; });
    if (found == tile.end()) throw std::logic_error(fmt::format("a tile without '{}'", name));
    return found->value;
}

std::string to_string(const Tile& tile) {
    std::string text;
    for (const Constant& size : tile) {
        fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ",", size.name, size.value);
    }
    return text;
}

}  // namespace kiln
