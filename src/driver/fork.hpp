// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "support/result.hpp"

/// CUDA does not survive fork(): a child of a process that had initialised the driver must not call it, not even to free things.
namespace kiln::driver {

namespace detail {
extern std::atomic<bool> is_forked_child;
}

/// Whether this process is a child that was forked after the driver had been initialised. One relaxed load.
[[nodiscard]] inline bool is_forked() noexcept {
    return detail::is_forked_child.load(std::memory_order_relaxed);
}

[[nodiscard]] tl::unexpected<Failure> fail_forked();

/// The driver counts as initialised from here on; `undo` where that came to nothing.
void note_initialisation();
void undo_initialisation();

}  // namespace kiln::driver
