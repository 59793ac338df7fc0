// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep/verify.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "cache/cubin_check.hpp"
#include "cache/entry_files.hpp"
#include "cache/layer.hpp"
#include "cache/upkeep/places.hpp"
#include "cache/user_layer.hpp"

namespace kiln {
namespace {

/// Empty if the entry is good or of another version.
std::string problem_of(Layer& layer, const ListedEntry& listed, VerifyResult& result) {
    const auto bytes = layer.read(listed.key_name);
    if (!bytes) return bytes.error().what;
    const auto entry = verify(*bytes, listed.key_name, listed.path);
    if (!entry && entry.error().reason == MissReason::other_version) {
        ++result.other_versions;
        return {};
    }
    if (!entry) return entry.error().what;
    const auto key = parse_key(entry->key.text);
    std::string objection = objection_to_cubin(entry->cubin, key ? key->arch : std::string_view());
    return objection.empty() ? objection : fmt::format("{} holds {}", listed.path, objection);
}

}  // namespace

Result<VerifyResult> verify_cache(const CacheConfiguration& configuration, bool repair,
                                  const std::function<void(const VerifyProblem&)>& each) {
    VerifyResult result;
    const auto report = [&](const VerifyProblem& problem) {
        ++result.problems;
        result.repaired += problem.repaired ? 1 : 0;
        if (each) each(problem);
    };
    const auto check = [&](Layer& layer, int repair_in) {
        return layer.list([&](const ListedEntry& listed) {
            ++result.entries;
            result.bytes += listed.bytes;
            std::string what = problem_of(layer, listed, result);
            if (what.empty()) return;
            report({listed.path, listed.key_name, std::move(what),
                    repair_in >= 0 && entry_files::remove(repair_in, listed.key_name).has_value()});
        });
    };
    for (const auto& layer : open_layers(configuration)) {
        const std::uint64_t problems_before = result.problems;
        auto checked = check(*layer, -1);
        // A damaged entry makes the whole's hash wrong too, and has been told.
        if (checked && result.problems == problems_before) checked = layer->check_rest();
        if (!checked) report({layer->path(), "", checked.error().what});
    }
    // Where nothing can be kept there is nothing to check but the layers; likewise where the user's directory is not to be used.
    const bool no_directory = configuration.directory.empty() && !configuration.layers.empty();
    if (no_directory || (configuration.mode == CacheMode::off && !repair)) return result;
    auto directory = repair ? open_own_directory_to_write(configuration) : open_own_directory(configuration);
    if (!directory) return pass_on(directory);
    if (!*directory) return result;
    UserLayer user(configuration);
    if (const auto checked = check(user, repair ? (*directory)->get() : -1); !checked)
        report({user.path(), "", checked.error().what});
    return result;
}

}  // namespace kiln
