// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/family.hpp"

namespace kiln {

/// Few channels and small kernels on Hopper (sm_90a), bound by reading the input once: rows stream through shared memory, box
/// sums are made in registers where the tensor cores take them. Template: kernel_templates/hopper_stream.cu.
class HopperStreamFamily final : public Family {
public:
    [[nodiscard]] std::string_view name() const override { return "hopper_stream"; }
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
