// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/family.hpp"

namespace kiln {

/// Matrix products on Hopper's tensor cores (sm_90a) with both factors in shared memory: weights, and box maps in which a tap of
/// the kernel is a shift. Template: kernel_templates/hopper_shift.cu.
class HopperShiftFamily final : public Family {
public:
    [[nodiscard]] std::string_view name() const override { return "hopper_shift"; }
    [[nodiscard]] bool uses_tf32() const override { return true; }
    [[nodiscard]] std::vector<Candidate> candidates(const ModelSpec& spec, const Arch& arch) const override;
    [[nodiscard]] double predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                      const Arch& arch) const override;
    [[nodiscard]] std::vector<std::byte> pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const override;
    [[nodiscard]] BlockShape block(const ModelSpec& spec, const Tile& tile) const override;
    [[nodiscard]] LaunchGeometry geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                          const DeviceLimits& limits) const override;
};

}  // namespace kiln
