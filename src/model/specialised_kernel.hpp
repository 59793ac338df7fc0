// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <kiln/arch.hpp>
#include <kiln/spec.hpp>

#include "cache/kernel_request.hpp"
#include "cache/key.hpp"
#include "model/planner.hpp"
#include "support/result.hpp"

namespace kiln {

/// A spec on an arch, planned and written out: all that compiling, keying and launching need.
struct SpecialisedKernel {
    Plan plan;
    Family::BlockShape block;
    std::string note;  ///< `plan_note`
    KernelRequest request;
    std::shared_ptr<const Key> key;  ///< the request's, where any toolchain will do
};

/// Plans the spec and renders its source. Pure; the spec has been checked.
[[nodiscard]] Result<SpecialisedKernel> specialise(const ModelSpec& spec, const Arch& arch, const Plan& plan);

/// The same for the best plan, remembered: constructing a model again costs a look-up. Thread safe; what is remembered is
/// bounded.
[[nodiscard]] Result<std::shared_ptr<const SpecialisedKernel>> specialise_best(const ModelSpec& spec, const Arch& arch);

}  // namespace kiln
