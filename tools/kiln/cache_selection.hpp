// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cache/upkeep/selection.hpp"

namespace kiln::tools {

/// The options with which `prune` and `export` say which entries they mean.
class SelectionOptions {
public:
    void add_to(CLI::App& command);

    [[nodiscard]] Selection selection() const;

    /// Whether any condition was given.
    [[nodiscard]] bool given() const;

private:
    std::string arch_, toolchain_, unused_for_, used_within_, larger_than_, smaller_than_;
    bool other_formats_ = false;
};

}  // namespace kiln::tools
