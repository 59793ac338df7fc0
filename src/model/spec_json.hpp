// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/spec.hpp>
#include <nlohmann/json.hpp>

#include "support/result.hpp"

namespace kiln {

/// ModelSpec as JSON: the fields have ModelSpec's names, a Size2 is `3` or `[3, 5]`, enumerations are their names, `expected` is
/// `{"batch": …, "height": …, "width": …}`. What `--specs`, the cache's entries and every `--json` use.

[[nodiscard]] std::string_view name_of(Activation activation) noexcept;
[[nodiscard]] std::string_view name_of(Math math) noexcept;
[[nodiscard]] std::optional<Activation> activation_named(std::string_view name) noexcept;
[[nodiscard]] std::optional<Math> math_named(std::string_view name) noexcept;

/// Every field, in the order of ModelSpec; `expected` only where it is set.
[[nodiscard]] nlohmann::ordered_json spec_to_json(const ModelSpec& spec);

/// The canonical text: compact, fields in a fixed order, none left out, without `expected`, which changes the choice of a kernel
/// but not what it computes. Stored in the cache's entries, so its form must not change.
[[nodiscard]] std::string to_json_text(const ModelSpec& spec);

/// Strict: a field that is unknown, missing, of another type, or no 64-bit integer is an `invalid_argument` that names the field,
/// its value and what is allowed. `where` begins the message. Whether the sizes make sense together is `validate`'s business.
[[nodiscard]] Result<ModelSpec> spec_from_json(const nlohmann::json& object, std::string_view where = "spec");

/// The same from text; text that is not JSON is `bad_file`.
[[nodiscard]] Result<ModelSpec> spec_from_json_text(std::string_view text, std::string_view where = "spec");

/// A file of `--specs`: an array of specs. Messages name the file and the place in the array. Sizes are not validated here
/// either.
[[nodiscard]] Result<std::vector<ModelSpec>> specs_from_json_text(std::string_view text, std::string_view where);

}  // namespace kiln
