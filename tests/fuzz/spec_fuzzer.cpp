// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of specs: refused, or read into specs that come back from their own JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/spec_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto specs = kiln::specs_from_json_text({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (!specs) {
        if (specs.error().message.empty()) std::abort();
        return 0;
    }
    for (const kiln::ModelSpec& spec : *specs) {
        const auto again = kiln::spec_from_json_text(kiln::spec_to_json(spec).dump());
        if (!again || *again != spec) std::abort();
    }
    return 0;
}
