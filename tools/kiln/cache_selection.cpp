// SPDX-License-Identifier: Apache-2.0
#include "kiln/cache_selection.hpp"

#include "kiln/cache_json.hpp"
#include "kiln/spec_options.hpp"

namespace kiln::tools {

void SelectionOptions::add_to(CLI::App& command) {
    const auto add = [&](const char* name, std::string& into, const char* type, const char* description) {
        command.add_option(name, into, description)->type_name(type)->group("Which");
    };
    add("--arch", arch_, "ARCH", "kernels for this arch");
    add("--toolchain", toolchain_, "VERSION", "built by this NVRTC: 13, 13.0 or 13.0.88");
    add("--unused-for", unused_for_, "AGE", "not used for so long: 12h, 30d, 4w");
    add("--used-within", used_within_, "AGE", "used in the last 12h, 30d, 4w");
    add("--larger-than", larger_than_, "SIZE", "entries of at least this size: 64K, 2M");
    add("--smaller-than", smaller_than_, "SIZE", "entries of at most this size");
    command.add_flag("--other-formats", other_formats_, "written by other versions of Kiln, which this one cannot read")
        ->group("Which");
}

bool SelectionOptions::given() const {
    return other_formats_ || !(arch_ + toolchain_ + unused_for_ + used_within_ + larger_than_ + smaller_than_).empty();
}

Selection SelectionOptions::selection() const {
    Selection selection;
    if (!arch_.empty()) selection.arch = std::string(parse_arch(arch_).name());
    if (!toolchain_.empty()) selection.toolchain = toolchain_;
    if (!unused_for_.empty()) selection.unused_for_s = parse_age("--unused-for", unused_for_);
    if (!used_within_.empty()) selection.used_within_s = parse_age("--used-within", used_within_);
    if (!larger_than_.empty()) selection.minimum_bytes = parse_bytes("--larger-than", larger_than_);
    if (!smaller_than_.empty()) selection.maximum_bytes = parse_bytes("--smaller-than", smaller_than_);
    selection.other_formats_only = other_formats_;
    return selection;
}

}  // namespace kiln::tools
