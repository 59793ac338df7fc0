// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <kiln/arch.hpp>

#include "support/result.hpp"

namespace kiln {

/// `Arch`'s questions with results instead of exceptions, for use inside. Pure.
struct ArchTable {
    [[nodiscard]] static Result<Arch> parse(std::string_view name);
    [[nodiscard]] static Result<Arch> for_compute_capability(int major, int minor);

    /// Every arch, lowest number first.
    [[nodiscard]] static std::span<const Arch* const> all();
};

}  // namespace kiln
