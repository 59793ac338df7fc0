// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/arch.hpp>
#include <kiln/model.hpp>
#include <kiln/spec.hpp>

#include "jit/source.hpp"
#include "model/forward_arguments.hpp"

namespace kiln {

/// The sizes that a family's planner chose: rendered into the kernel as constants, and part of the cache key.
/// Ordered, so that equal tiles print equally: "positions=128,filters=64".
using Tile = std::vector<Constant>;

/// The value of one of a tile's sizes, which must be there.
[[nodiscard]] std::int64_t tile_value(const Tile& tile, std::string_view name);

/// "positions=128,filters=64"
[[nodiscard]] std::string to_string(const Tile& tile);

/// One way to compute a spec on an arch, with the time that the cost model predicts for it.
struct Candidate {
    Tile tile;
    double predicted_us = 0;  ///< at the expected shape, or the default one
    std::string limiter;      ///< the slowest unit: "memory", "tensor", "fma", "shared", "L2", "latency"
};

/// What a launch may use; asked of the driver once per model.
struct DeviceLimits {
    int multiprocessors = 0;
    int shared_bytes_per_block = 0;     ///< the opt-in limit
    int blocks_per_multiprocessor = 0;  ///< of this kernel, as the driver's occupancy call says
};

/// What a kernel's tensor copies bring of the input at a time.
struct InputBox {
    std::int64_t columns = 0;  ///< 0: it makes none
    std::int64_t channels = 0;
    std::int64_t rows = 0;
};

/// Everything about a launch that depends on the run-time shape.
struct LaunchGeometry {
    std::int64_t grid = 0;                 ///< blocks, all in x
    int block = 0;                         ///< threads
    int cluster = 1;                       ///< blocks of a cluster: a divisor of `grid`
    int shared_bytes = 0;                  ///< dynamic
    bool may_start_early = false;          ///< the kernel waits for what is in front of it in the stream (griddepcontrol.wait)
    std::size_t counter_bytes = 0;         ///< of the scratch: zero before the first launch, left at zero by each
    std::size_t partial_bytes = 0;         ///< of the scratch, in front of the counters: written before read
    std::array<std::int64_t, 8> layout{};  ///< handed to the kernel: what it need not compute again in each block
    InputBox input_box;                    ///< of x, if x is aligned to 16 bytes
};

/// One family of kernels: a template, the tiles it can be specialised with, and how its launch is set up.
///
/// Stateless and pure; a family is one object for the life of the program. To add one: a template in `kernel_templates/`, a
/// class in `src/model/families/`, a line in `all_families()`.
class Family {
public:
    Family() = default;
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;
    virtual ~Family() = default;

    /// "simt": also the name of its template, and in the cache key.
    [[nodiscard]] virtual std::string_view name() const = 0;

    /// Whether `math = tf32` changes what it computes; a family that has only fp32 serves such specs with that, and says so.
    [[nodiscard]] virtual bool uses_tf32() const { return false; }

    /// The legal tiles for this spec on this arch, in any order; empty if the family cannot serve it.
    [[nodiscard]] virtual std::vector<Candidate> candidates(const ModelSpec& spec, const Arch& arch) const = 0;

    /// What one of its tiles takes at another shape than it was made for, in µs.
    [[nodiscard]] virtual double predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                              const Arch& arch) const = 0;

    /// Weights and bias as the kernel wants them, scaled by 1/(Ph·Pw) (and -log2 e for sigmoid) in double before rounding.
    [[nodiscard]] virtual std::vector<std::byte> pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const = 0;

    /// Threads and dynamic shared memory, which the plan fixes; asked once, for the occupancy.
    struct BlockShape {
        int threads = 0;
        int shared_bytes = 0;
    };
    [[nodiscard]] virtual BlockShape block(const ModelSpec& spec, const Tile& tile) const = 0;

    /// The launch for a shape that has been validated and is not empty.
    [[nodiscard]] virtual LaunchGeometry geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                                  const DeviceLimits& limits) const = 0;
};

}  // namespace kiln
