// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <kiln/report.hpp>
#include <tl/expected.hpp>

#include "cache/entry.hpp"
#include "cache/miss.hpp"

namespace kiln {

/// A place outside this process that may hold a kernel. Implementations are thread safe.
class Layer {
public:
    Layer() = default;
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    virtual ~Layer() = default;

    /// The verified entry of this key.
    [[nodiscard]] virtual tl::expected<Entry, Miss> look(const Key& key) = 0;

    [[nodiscard]] virtual Origin origin() const noexcept = 0;
    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
};

}  // namespace kiln
