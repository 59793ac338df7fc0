// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/family.hpp"

namespace kiln {

/// Plain fp32 multiply-adds on any GPU: serves every spec. Template: kernel_templates/simt.cu.
class SimtFamily final : public Family {
public:
    [[nodiscard]] std::string_view name() const override { return "simt"; }
    [[nodiscard]] std::vector<Candidate> candidates(const ModelSpec& spec, const Arch& arch) const override;
    [[nodiscard]] double predicted_us(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                      const Arch& arch) const override;
    [[nodiscard]] std::vector<std::byte> pack(const ModelSpec& spec, const Tile& tile, const Weights& weights) const override;
    [[nodiscard]] BlockShape block(const ModelSpec& spec, const Tile& tile) const override;
    [[nodiscard]] LaunchGeometry geometry(const ModelSpec& spec, const Tile& tile, const Shape& shape,
                                          const DeviceLimits& limits) const override;
};

}  // namespace kiln
