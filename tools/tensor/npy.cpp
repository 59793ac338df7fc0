// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "tensor/printable.hpp"

namespace kiln::tools {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view float32_descr = "<f4";
constexpr std::string_view allowed_keys = "'descr', 'fortran_order' and 'shape'";

/// The header's dictionary: of Python's literals only the few that NumPy writes there.
class HeaderParser {
public:
    HeaderParser(std::string_view text, std::string_view source) : rest_(text), source_(source) {}

    Result<std::vector<std::int64_t>> parse() {
        if (!take('{')) return refuse("a dictionary");
        while (!take('}')) {
            const auto key = take_string();
            if (!key) return refuse("a quoted key");
            if (!take(':')) return refuse("a colon");
            if (auto value = take_value(*key); !value) return pass_on(value);
            if (!take(',')) {
                if (!take('}')) return refuse("a comma or the end of the dictionary");
                break;
            }
        }
        skip_space();
        if (!rest_.empty()) return refuse("nothing after the dictionary");
        if (!has_descr_ || !has_order_ || !shape_) {
            return fail(ErrorCode::bad_file, "{}: the header lacks a key; it must have {}", source_, allowed_keys);
        }
        return std::move(*shape_);
    }

private:
    Result<void> take_value(std::string_view key) {
        const bool again = (key == "descr" && has_descr_) || (key == "fortran_order" && has_order_) || (key == "shape" && shape_);
        if (again) return fail(ErrorCode::bad_file, "{}: the header has the key '{}' twice", source_, key);
        if (key == "descr") return take_descr();
        if (key == "fortran_order") return take_order();
        if (key == "shape") return take_shape();
        return fail(ErrorCode::bad_file, "{}: the header has the key '{}'; allowed are {}", source_, printable(key),
                    allowed_keys);
    }

    Result<void> take_descr() {
        skip_space();
        const std::string_view before = rest_;
        const auto type = take_string();
        if (type != float32_descr) {
            // A structured type is a list; its text up to the next key says enough.
            const std::string found = type ? std::string(*type) : std::string(before.substr(0, before.find(", 'fortran_order'")));
            return fail(ErrorCode::bad_file, "{}: the elements have dtype '{}'; allowed is '<f4' (little-endian float32)",
                        source_, printable(found));
        }
        has_descr_ = true;
        return {};
    }

    Result<void> take_order() {
        if (take_word("True")) {
            return fail(ErrorCode::bad_file,
                        "{}: the array is in Fortran order; allowed is C order, which numpy.ascontiguousarray makes", source_);
        }
        if (!take_word("False")) return refuse("True or False");
        has_order_ = true;
        return {};
    }

    Result<void> take_shape() {
        if (!take('(')) return refuse("a tuple");
        std::vector<std::int64_t> shape;
        while (!take(')')) {
            const auto size = take_size();
            if (!size) return refuse("a size of 0 to 2^63 - 1");
            shape.push_back(*size);
            if (!take(',')) {
                if (!take(')')) return refuse("a comma or the end of the tuple");
                break;
            }
        }
        shape_ = std::move(shape);
        return {};
    }

    std::optional<std::int64_t> take_size() {
        skip_space();
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
        if (error != std::errc{} || size < 0) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        if (rest_.starts_with('L')) rest_.remove_prefix(1);  // Python 2's long
        return size;
    }

    /// Without escapes: no key and no type has one.
    std::optional<std::string_view> take_string() {
        skip_space();
        if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
        const auto end = rest_.find(rest_[0], 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return text;
    }

    bool take(char expected) {
        skip_space();
        if (!rest_.starts_with(expected)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool take_word(std::string_view word) {
        skip_space();
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

    tl::unexpected<Failure> refuse(std::string_view allowed) const {
        return fail(ErrorCode::bad_file, "{}: the header has '{}' where {} is allowed", source_, printable(rest_), allowed);
    }

    std::string_view rest_;
    std::string_view source_;
    bool has_descr_ = false;
    bool has_order_ = false;
    std::optional<std::vector<std::int64_t>> shape_;
};

struct HeaderPlace {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Magic, version and length: where the dictionary lies.
Result<HeaderPlace> place_of_header(std::span<const std::byte> start, std::string_view source) {
    if (start.size() < magic.size() || std::memcmp(start.data(), magic.data(), magic.size()) != 0) {
        return fail(ErrorCode::bad_file, "{}: does not begin as a .npy file does ('\\x93NUMPY')", source);
    }
    if (start.size() < 10) return fail(ErrorCode::bad_file, "{}: truncated: {} bytes hold no header", source, start.size());
    const auto byte = [&](std::size_t index) { return std::to_integer<std::uint32_t>(start[index]); };
    const std::uint32_t major = byte(6);
    const std::uint32_t minor = byte(7);
    if (major < 1 || major > 3 || minor != 0) {
        return fail(ErrorCode::bad_file, "{}: the format's version is {}.{}; allowed are 1.0, 2.0 and 3.0", source, major, minor);
    }
    HeaderPlace place{.offset = 10, .bytes = byte(8) | byte(9) << 8};
    if (major > 1) {
        if (start.size() < 12) return fail(ErrorCode::bad_file, "{}: truncated: {} bytes hold no header", source, start.size());
        place = {.offset = 12, .bytes = place.bytes | byte(10) << 16 | byte(11) << 24};
    }
    if (place.bytes > npy_maximum_header_bytes) {
        return fail(ErrorCode::bad_file, "{}: the header's length is {} bytes; at most {} are allowed", source, place.bytes,
                    npy_maximum_header_bytes);
    }
    if (place.offset + place.bytes > start.size()) {
        return fail(ErrorCode::bad_file, "{}: truncated: the header's length is {} bytes, and {} bytes follow it", source,
                    place.bytes, start.size() - place.offset);
    }
    return place;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes, std::string_view source) {
    const auto place = place_of_header(start, source);
    if (!place) return tl::unexpected(place.error());
    const auto* text = reinterpret_cast<const char*>(start.data()) + place->offset;
    auto shape = HeaderParser(std::string_view(text, place->bytes), source).parse();
    if (!shape) return pass_on(shape);
    const auto elements = element_count(*shape);
    if (!elements) return fail(ErrorCode::bad_file, "{}: the shape {} has more than 2^61 elements", source, to_string(*shape));
    const std::uint64_t data_offset = place->offset + place->bytes;
    const std::uint64_t needed = *elements * sizeof(float);
    const std::uint64_t present = file_bytes - data_offset;
    if (present != needed) {
        return fail(ErrorCode::bad_file, "{}: {}: the shape {} needs {} bytes of data, and there are {}", source,
                    present < needed ? "truncated" : "too long", to_string(*shape), needed, present);
    }
    return NpyHeader{.shape = std::move(*shape), .data_offset = data_offset, .elements = *elements};
}

Result<Tensor> parse_npy(std::span<const std::byte> file, std::string_view source) {
    auto header = parse_npy_header(file, file.size(), source);
    if (!header) return pass_on(header);
    Tensor tensor{.shape = std::move(header->shape), .values = std::vector<float>(header->elements)};
    if (!tensor.values.empty()) {
        std::memcpy(tensor.values.data(), file.data() + header->data_offset, tensor.values.size() * sizeof(float));
    }
    return tensor;
}

std::string npy_header(std::span<const std::int64_t> shape) {
    constexpr std::size_t alignment = 64;
    constexpr std::size_t fixed_bytes = 10;
    std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", float32_descr,
                                         fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    const std::size_t unpadded = fixed_bytes + dictionary.size() + 1;
    dictionary.append((alignment - unpadded % alignment) % alignment, ' ');
    dictionary += '\n';
    std::string header(magic);
    header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
    return header + dictionary;
}

}  // namespace kiln::tools
