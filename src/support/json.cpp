// SPDX-License-Identifier: Apache-2.0
#include "support/json.hpp"

#include <set>
#include <stdexcept>
#include <vector>

namespace kiln {
namespace {

using nlohmann::json;

/// Deeper than anything that Kiln reads, and shallow enough for recursive code.
constexpr int maximum_depth = 32;
constexpr std::size_t excerpt_bytes = 60;

/// The library's callback: sees each key and each start and end of an object before the value is kept.
class StrictObserver {
public:
    bool operator()(int depth, json::parse_event_t event, json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start: keys_.emplace_back(); break;
            case json::parse_event_t::object_end: keys_.pop_back(); break;
            case json::parse_event_t::key:
                if (!keys_.back().insert(parsed.get<std::string>()).second) {
                    throw std::invalid_argument(fmt::format("the key {} appears twice in one object", excerpt(parsed)));
                }
                break;
            default: break;
        }
        if (depth > maximum_depth) {
            throw std::invalid_argument(fmt::format("it is nested more than {} deep", maximum_depth));
        }
        return true;
    }

private:
    std::vector<std::set<std::string>> keys_;
};

}  // namespace

Result<json> parse_json(std::string_view text, std::string_view source) {
    try {
        StrictObserver observer;
        return json::parse(text.begin(), text.end(), std::ref(observer));
    } catch (const json::exception& error) {
        std::string_view why = error.what();  // "[json.exception.parse_error.101] parse error at line 1, …"
        if (const auto bracket = why.find("] "); bracket != std::string_view::npos) why.remove_prefix(bracket + 2);
        return fail(ErrorCode::bad_file, "{} is not valid JSON: {}", source, why);
    } catch (const std::invalid_argument& error) {
        return fail(ErrorCode::bad_file, "{} is not accepted: {}", source, error.what());
    }
}

std::string excerpt(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > excerpt_bytes) {
        text.resize(excerpt_bytes);
        text += "…";
    }
    return text;
}

}  // namespace kiln
