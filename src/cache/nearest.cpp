// SPDX-License-Identifier: Apache-2.0
#include "cache/nearest.hpp"

#include <utility>

#include <fmt/format.h>

#include "support/json.hpp"

namespace kiln {
namespace {

/// Compilers' options repeat the arch, which would count twice.
std::string without_arch(std::string_view options, std::string_view arch) {
    std::string text(options);
    for (std::size_t at = text.find(arch); at != std::string::npos && !arch.empty(); at = text.find(arch, at))
        text.erase(at, arch.size());
    return text;
}

void compare(std::vector<Difference>& differences, std::string field, std::string_view wanted, std::string_view found) {
    if (wanted != found) differences.push_back({std::move(field), std::string(wanted), std::string(found)});
}

std::string value_text(const nlohmann::json& object, const std::string& name) {
    const auto found = object.find(name);
    return found == object.end() ? std::string() : excerpt(*found);
}

/// An object's members, or null.
std::shared_ptr<const nlohmann::json> parse_spec(const std::string& text) {
    auto parsed = parse_json(text, "spec");
    if (!parsed || !parsed->is_object()) return nullptr;
    return std::make_shared<const nlohmann::json>(std::move(*parsed));
}

void compare_members(std::vector<Difference>& differences, const nlohmann::json& wanted, const nlohmann::json& found) {
    for (const auto& [name, value] : wanted.items())
        compare(differences, "spec." + name, excerpt(value), value_text(found, name));
    for (const auto& [name, value] : found.items()) {
        if (!wanted.contains(name)) differences.push_back({"spec." + name, "", excerpt(value)});
    }
}

}  // namespace

std::string Nearest::text() const {
    std::string text;
    for (const Difference& each : differences) {
        if (!text.empty()) text += "; ";
        if (each.wanted.empty() && each.found.empty()) {
            text += fmt::format("its {} differs", each.field);
        } else {
            text += fmt::format("its {} is '{}', not '{}'", each.field, each.found, each.wanted);
        }
    }
    return text;
}

NearestFinder::NearestFinder(const Key& key, const std::string& spec_json)
    : key_(key), spec_json_(spec_json), spec_(parse_spec(spec_json)) {}

void NearestFinder::consider(const ListedEntry& entry) {
    if (!entry.head || entry.key_name == key_.name) return;
    const bool same_spec = entry.head->facts.spec_json == spec_json_;
    if (best_has_same_spec_ && !same_spec) return;
    const auto wanted = parse_key(key_.text);
    const auto found = parse_key_head(entry.head->key_head);
    if (!wanted || !found) return;

    std::vector<Difference> differences;
    compare(differences, "arch", wanted->arch, found->arch);
    compare(differences, "family", wanted->family, found->family);
    compare(differences, "tile", wanted->tile, found->tile);
    if (without_arch(wanted->options, wanted->arch) != without_arch(found->options, found->arch)) {
        differences.push_back({"options", std::string(wanted->options), std::string(found->options)});
    }
    compare(differences, "toolchain build-id", wanted->build_id, found->build_id);
    if (!same_spec) {
        const auto found_spec = parse_spec(entry.head->facts.spec_json);
        if (spec_ && found_spec) {
            compare_members(differences, *spec_, *found_spec);
        } else {
            differences.push_back({"spec", spec_json_, entry.head->facts.spec_json});
        }
    }
    // Everything else is equal, so what remains is the template's text, which another version of Kiln may have changed.
    if (differences.empty()) differences.push_back({"source", "", ""});

    const bool better = !best_ || (same_spec && !best_has_same_spec_) || differences.size() < best_->differences.size();
    if (!better) return;
    best_ = Nearest{entry.key_name, entry.path, std::move(differences)};
    best_has_same_spec_ = same_spec;
}

}  // namespace kiln
