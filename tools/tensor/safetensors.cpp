// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "support/json.hpp"
#include "tensor/printable.hpp"

namespace kiln::tools {
namespace {

using nlohmann::json;

constexpr std::string_view float32_dtype = "F32";
constexpr std::string_view metadata_key = "__metadata__";

/// Bytes of one element. A type that is not here may be in a file, but its tensors' lengths cannot be checked.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> element_bytes{{{"BOOL", 1},
                                                                                    {"U8", 1},
                                                                                    {"I8", 1},
                                                                                    {"F8_E5M2", 1},
                                                                                    {"F8_E4M3", 1},
                                                                                    {"I16", 2},
                                                                                    {"U16", 2},
                                                                                    {"F16", 2},
                                                                                    {"BF16", 2},
                                                                                    {"I32", 4},
                                                                                    {"U32", 4},
                                                                                    {"F32", 4},
                                                                                    {"F64", 8},
                                                                                    {"I64", 8},
                                                                                    {"U64", 8}}};

std::optional<std::uint64_t> bytes_of(std::string_view dtype) {
    for (const auto& [name, bytes] : element_bytes) {
        if (name == dtype) return bytes;
    }
    return std::nullopt;
}

/// Reads one tensor's description: messages name the file and the tensor.
class EntryParser {
public:
    EntryParser(std::string_view source, std::string_view name, const json& fields)
        : where_(fmt::format("{}: tensor '{}'", source, printable(name))), fields_(fields) {
        entry_.name = name;
    }

    Result<SafetensorsEntry> parse(std::uint64_t data_bytes) {
        if (!fields_.is_object()) return refuse("is {}; an object is allowed", excerpt(fields_));
        for (const auto& [key, value] : fields_.items()) {
            if (key != "dtype" && key != "shape" && key != "data_offsets") {
                return refuse("has the field {}; allowed are dtype, shape and data_offsets", excerpt(key));
            }
        }
        if (auto read = read_dtype(); !read) return pass_on(read);
        if (auto read = read_shape(); !read) return pass_on(read);
        if (auto read = read_offsets(data_bytes); !read) return pass_on(read);
        if (auto checked = check_length(); !checked) return pass_on(checked);
        return std::move(entry_);
    }

private:
    Result<void> read_dtype() {
        const json* dtype = field("dtype");
        if (dtype == nullptr || !dtype->is_string()) return refuse("has dtype {}; a string is allowed", shown(dtype));
        entry_.dtype = dtype->get<std::string>();
        return {};
    }

    Result<void> read_shape() {
        const json* shape = field("shape");
        if (shape == nullptr || !shape->is_array()) return refuse("has shape {}; an array of sizes is allowed", shown(shape));
        for (const json& size : *shape) {
            const auto value = natural(size);
            if (!value) return refuse("has the size {} in its shape; 0 to 2^63 - 1 is allowed", excerpt(size));
            entry_.shape.push_back(*value);
        }
        return {};
    }

    Result<void> read_offsets(std::uint64_t data_bytes) {
        const json* offsets = field("data_offsets");
        const bool pair = offsets != nullptr && offsets->is_array() && offsets->size() == 2;
        const auto begin = pair ? natural((*offsets)[0]) : std::nullopt;
        const auto end = pair ? natural((*offsets)[1]) : std::nullopt;
        if (!begin || !end || *begin > *end || static_cast<std::uint64_t>(*end) > data_bytes) {
            return refuse("has data_offsets {}; allowed is [begin, end] with begin <= end <= {}, the bytes of data in the file",
                          shown(offsets), data_bytes);
        }
        entry_.begin = static_cast<std::uint64_t>(*begin);
        entry_.end = static_cast<std::uint64_t>(*end);
        return {};
    }

    Result<void> check_length() {
        const auto elements = element_count(entry_.shape);
        if (!elements) return refuse("has shape {}, which is more than 2^61 elements", to_string(entry_.shape));
        const auto bytes = bytes_of(entry_.dtype);
        if (!bytes) return {};
        // Divided, not multiplied: 2^61 elements of 8 bytes would not fit.
        const std::uint64_t present = entry_.end - entry_.begin;
        if (present % *bytes != 0 || present / *bytes != *elements) {
            return refuse(
                "has shape {} of {} elements of dtype {}, and its data_offsets span {} bytes; {} bytes an element are allowed",
                to_string(entry_.shape), *elements, entry_.dtype, present, *bytes);
        }
        return {};
    }

    const json* field(const char* name) const {
        const auto found = fields_.find(name);
        return found == fields_.end() ? nullptr : &*found;
    }

    static std::string shown(const json* value) { return value == nullptr ? "missing" : excerpt(*value); }

    static std::optional<std::int64_t> natural(const json& value) {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
        return value.get<std::int64_t>();
    }

    template <typename... Args>
    tl::unexpected<Failure> refuse(fmt::format_string<Args...> format, Args&&... args) const {
        return fail(ErrorCode::bad_file, "{} {}", where_, fmt::format(format, std::forward<Args>(args)...));
    }

    std::string where_;
    const json& fields_;
    SafetensorsEntry entry_;
};

Result<void> check_metadata(const json& metadata, std::string_view source) {
    const bool strings = metadata.is_object() &&
                         std::all_of(metadata.begin(), metadata.end(), [](const json& value) { return value.is_string(); });
    if (strings) return {};
    return fail(ErrorCode::bad_file, "{}: __metadata__ is {}; an object of strings is allowed", source, excerpt(metadata));
}

/// Sorted by their beginning, the tensors must follow one another from the first byte of the data to the last.
Result<void> check_coverage(std::span<const SafetensorsEntry> entries, std::uint64_t data_bytes, std::string_view source) {
    std::uint64_t covered = 0;
    for (const SafetensorsEntry& entry : entries) {
        if (entry.begin != covered) {
            return fail(ErrorCode::bad_file, "{}: tensor '{}' begins at byte {} of the data, {}; allowed is {}", source,
                        printable(entry.name), entry.begin,
                        entry.begin < covered ? "overlapping the one before" : "leaving a gap before it", covered);
        }
        covered = entry.end;
    }
    if (covered == data_bytes) return {};
    return fail(ErrorCode::bad_file, "{}: too long: the tensors end at byte {} of the data, and there are {}", source, covered,
                data_bytes);
}

}  // namespace

Result<std::uint64_t> parse_safetensors_length(std::span<const std::byte> start, std::uint64_t file_bytes,
                                               std::string_view source) {
    if (start.size() < safetensors_length_bytes) {
        return fail(ErrorCode::bad_file, "{}: truncated: {} bytes hold no safetensors header", source, start.size());
    }
    std::uint64_t length = 0;
    std::memcpy(&length, start.data(), sizeof length);
    const std::uint64_t room = file_bytes - safetensors_length_bytes;
    if (length < 2 || length > safetensors_maximum_header_bytes) {
        return fail(ErrorCode::bad_file, "{}: the safetensors header's length is {} bytes; 2 to {} are allowed", source, length,
                    safetensors_maximum_header_bytes);
    }
    if (length > room) {
        return fail(ErrorCode::bad_file, "{}: truncated: the safetensors header's length is {} bytes, and {} bytes follow it",
                    source, length, room);
    }
    return length;
}

Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                                                               std::string_view source) {
    if (!header.starts_with('{')) {
        return fail(ErrorCode::bad_file, "{}: the safetensors header begins with '{}'; allowed is '{{'", source,
                    printable(header.substr(0, 1)));
    }
    const auto object = parse_json(header, fmt::format("{}: the safetensors header", source));
    if (!object) return tl::unexpected(object.error());
    std::vector<SafetensorsEntry> entries;
    for (const auto& [name, fields] : object->items()) {
        if (name == metadata_key) {
            if (auto checked = check_metadata(fields, source); !checked) return pass_on(checked);
            continue;
        }
        auto entry = EntryParser(source, name, fields).parse(data_bytes);
        if (!entry) return pass_on(entry);
        entries.push_back(std::move(*entry));
    }
    std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    if (auto covered = check_coverage(entries, data_bytes, source); !covered) return pass_on(covered);
    return entries;
}

Result<std::vector<NamedTensor>> parse_safetensors(std::span<const std::byte> file, std::string_view source) {
    const auto length = parse_safetensors_length(file, file.size(), source);
    if (!length) return tl::unexpected(length.error());
    const auto data = file.subspan(safetensors_length_bytes + *length);
    const auto* text = reinterpret_cast<const char*>(file.data()) + safetensors_length_bytes;
    auto entries = parse_safetensors_header(std::string_view(text, *length), data.size(), source);
    if (!entries) return pass_on(entries);
    std::vector<NamedTensor> tensors;
    for (SafetensorsEntry& entry : *entries) {
        if (entry.dtype != float32_dtype) continue;
        const auto bytes = data.subspan(entry.begin, entry.end - entry.begin);
        std::vector<float> values(bytes.size() / sizeof(float));
        if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
        tensors.push_back({std::move(entry.name), {std::move(entry.shape), std::move(values)}});
    }
    return tensors;
}

std::string safetensors_header(std::string_view name, std::span<const std::int64_t> shape) {
    const std::uint64_t bytes = element_count(shape).value_or(0) * sizeof(float);
    nlohmann::ordered_json header;
    header[std::string(name)] = {
        {"dtype", float32_dtype}, {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}, {"data_offsets", {0, bytes}}};
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');  // so that the data are aligned
    std::string result(safetensors_length_bytes, '\0');
    const std::uint64_t length = text.size();
    std::memcpy(result.data(), &length, sizeof length);
    return result + text;
}

Result<WeightNames> choose_weights(std::span<const SafetensorsEntry> entries, std::string_view source) {
    const auto named = [&](std::string_view name) -> const SafetensorsEntry* {
        const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
        return found == entries.end() ? nullptr : &*found;
    };
    std::vector<const SafetensorsEntry*> candidates;
    for (const std::string_view name : {"weight", "conv.weight"}) {
        if (const auto* entry = named(name)) candidates.push_back(entry);
    }
    if (candidates.empty()) {
        for (const SafetensorsEntry& entry : entries) {
            if (entry.name.ends_with(".weight")) candidates.push_back(&entry);
        }
    }
    if (candidates.size() != 1) {
        std::string found;
        for (const SafetensorsEntry& entry : entries) found += fmt::format("{}'{}'", found.empty() ? "" : ", ", entry.name);
        return fail(ErrorCode::bad_file, "{}: holds {}; allowed is one tensor 'weight' or 'conv.weight', with its bias beside it",
                    source, found.empty() ? "no tensors" : printable(found));
    }
    const std::string& name = candidates[0]->name;
    const std::string prefix = name.substr(0, name.size() - std::string_view("weight").size());
    return WeightNames{.weight = candidates[0], .bias = named(prefix + "bias")};
}

}  // namespace kiln::tools
