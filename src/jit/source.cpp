// SPDX-License-Identifier: Apache-2.0
#include "jit/source.hpp"

#include <algorithm>
#include <iterator>

#include "jit/embedded_templates.hpp"

namespace kiln {

Result<std::string_view> template_text(std::string_view name) {
    const auto& all = embedded_templates();
    const auto found = std::find_if(all.begin(), all.end(), [&](const EmbeddedTemplate& each) { return each.name == name; });
    if (found == all.end()) return fail(ErrorCode::internal, "there is no kernel template named '{}'", name);
    return found->text;
}

std::string render_source(std::string_view template_text, std::span<const Constant> constants) {
    std::string source = "namespace spec {\n";
    for (const Constant& constant : constants) {
        fmt::format_to(std::back_inserter(source), "constexpr long long {} = {};\n", constant.name, constant.value);
    }
    source += "}  // namespace spec\n";
    source.reserve(source.size() + template_text.size());
    std::copy_if(template_text.begin(), template_text.end(), std::back_inserter(source), [](char c) { return c != '\r'; });
    return source;
}

}  // namespace kiln
