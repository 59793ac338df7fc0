// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.hpp"

#include <array>
#include <map>

#include "bytes.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

std::string little_endian(std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

/// A file with this dictionary, as NumPy frames it.
std::string npy_file(const std::string& dictionary, const std::string& data, int version = 1) {
    const std::string header = dictionary + "  \n";
    return "\x93NUMPY" + little_endian(static_cast<std::size_t>(version), 1) + '\0' +
           little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string dictionary(const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

const std::string good_npy = npy_file(dictionary("'<f4'", "False", "(2, 3)"), raw(six));

std::string npy_message_of(const std::string& file) {
    const auto tensor = parse_npy(to_bytes(file), "x.npy");
    if (tensor) return "accepted";
    CHECK(tensor.error().code == ErrorCode::bad_file);
    return tensor.error().message;
}

}  // namespace

TEST_CASE("an array of float32 in C order is read, in each version of the format") {
    for (const int version : {1, 2, 3}) {
        const auto tensor = parse_npy(to_bytes(npy_file(dictionary("'<f4'", "False", "(2, 3)"), raw(six), version)), "x.npy");
        REQUIRE(tensor);
        CHECK(tensor->shape == std::vector<std::int64_t>{2, 3});
        CHECK(tensor->values == std::vector<float>(six.begin(), six.end()));
    }
}

TEST_CASE("what Python may write in the dictionary is read") {
    const std::string one(4, '\0');
    for (const std::string& text : {
             std::string("{'descr':'<f4','fortran_order':False,'shape':(1,)}"),
             std::string("{\"shape\": (1, 1), \"fortran_order\": False, \"descr\": \"<f4\"}"),
             std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 1L), }"),
             std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"),
         }) {
        INFO(text);
        CHECK(npy_message_of(npy_file(text, one)) == "accepted");
    }
}

TEST_CASE("an array without elements is read, whatever its other sizes are") {
    CHECK(npy_message_of(npy_file(dictionary("'<f4'", "False", "(0, 9223372036854775807, 9223372036854775807)"), "")) ==
          "accepted");
    CHECK(npy_message_of(npy_file(dictionary("'<f4'", "False", "(9223372036854775807, 0)"), "")) == "accepted");
}

TEST_CASE("each kind of file that is not taken is refused, with what was found and what is allowed") {
    const std::string data = raw(six);
    const auto with = [&](const char* descr, const char* order, const char* shape) {
        return npy_file(dictionary(descr, order, shape), data);
    };
    const std::map<std::string, std::string> cases{
        {with("'<f4'", "True", "(2, 3)"),
         "x.npy: the array is in Fortran order; allowed is C order, which numpy.ascontiguousarray makes"},
        {with("'<f8'", "False", "(2, 3)"), "x.npy: the elements have dtype '<f8'; allowed is '<f4' (little-endian float32)"},
        {with("'>f4'", "False", "(2, 3)"), "x.npy: the elements have dtype '>f4'; allowed is '<f4' (little-endian float32)"},
        {with("'|O'", "False", "(2, 3)"), "x.npy: the elements have dtype '|O'; allowed is '<f4' (little-endian float32)"},
        {with("[('a', '<f4')]", "False", "(6,)"),
         "x.npy: the elements have dtype '[('a', '<f4')]'; allowed is '<f4' (little-endian float32)"},
        {with("'<f4'", "False", "(2, 4)"), "x.npy: truncated: the shape [2, 4] needs 32 bytes of data, and there are 24"},
        {with("'<f4'", "False", "(2, 2)"), "x.npy: too long: the shape [2, 2] needs 16 bytes of data, and there are 24"},
        {with("'<f4'", "False", "(4294967296, 4294967296)"),
         "x.npy: the shape [4294967296, 4294967296] has more than 2^61 elements"},
        {with("'<f4'", "False", "(2305843009213693952,)"), "x.npy: the shape [2305843009213693952] has more than 2^61 elements"},
        {with("'<f4'", "False", "(-1, 6)"), "x.npy: the header has '-1, 6), }  ?' where a size of 0 to 2^63 - 1 is allowed"},
        {with("'<f4'", "False", "(9223372036854775808,)"),
         "x.npy: the header has '9223372036854775808,), }  ?' where a size of 0 to 2^63 - 1 is allowed"},
        {with("'<f4'", "False", "[2, 3]"), "x.npy: the header has '[2, 3], }  ?' where a tuple is allowed"},
        {with("'<f4'", "0", "(2, 3)"), "x.npy: the header has '0, 'shape': (2, 3), }  ?' where True or False is allowed"},
        {npy_file("{'descr': '<f4', 'shape': (2, 3)}", data),
         "x.npy: the header lacks a key; it must have 'descr', 'fortran_order' and 'shape'"},
        {npy_file("{'descr': '<f4', 'descr': '<f4'}", data), "x.npy: the header has the key 'descr' twice"},
        {npy_file("{'order': 'C'}", data),
         "x.npy: the header has the key 'order'; allowed are 'descr', 'fortran_order' and 'shape'"},
        {npy_file(dictionary("'<f4'", "False", "(2, 3)") + " x", data),
         "x.npy: the header has 'x  ?' where nothing after the dictionary is allowed"},
        {"", "x.npy: does not begin as a .npy file does ('\\x93NUMPY')"},
        {"PK\x03\x04 a zip archive", "x.npy: does not begin as a .npy file does ('\\x93NUMPY')"},
        {std::string("\x93NUMPY\x04\0\0\0\0\0", 12), "x.npy: the format's version is 4.0; allowed are 1.0, 2.0 and 3.0"},
        {std::string("\x93NUMPY\x01\x01\0\0\0\0", 12), "x.npy: the format's version is 1.1; allowed are 1.0, 2.0 and 3.0"},
        {std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12),
         "x.npy: the header's length is 4294967295 bytes; at most 65535 are allowed"},
        {std::string("\x93NUMPY\x01\0\xff\x00{", 11),
         "x.npy: truncated: the header's length is 255 bytes, and 1 bytes follow it"},
    };
    for (const auto& [file, message] : cases) {
        INFO(file);
        CHECK(npy_message_of(file) == message);
    }
}

TEST_CASE("a file that is cut anywhere is refused") {
    for (std::size_t length = 0; length < good_npy.size(); ++length) {
        INFO(length);
        CHECK(npy_message_of(good_npy.substr(0, length)) != "accepted");
    }
    CHECK(npy_message_of(good_npy) == "accepted");
    CHECK(npy_message_of(good_npy + '\0') != "accepted");
}

TEST_CASE("a file with any byte changed is refused, or read with the same size") {
    const std::size_t data_offset = good_npy.size() - sizeof six;
    for (std::size_t place = 0; place < good_npy.size(); ++place) {
        for (const int change : {0x01, 0x20, 0x80, 0xff}) {
            std::string changed = good_npy;
            changed[place] = static_cast<char>(changed[place] ^ change);
            const auto tensor = parse_npy(to_bytes(changed), "x.npy");
            INFO(place << " ^ " << change);
            if (place >= data_offset) CHECK(tensor);
            if (tensor) CHECK(tensor->values.size() == six.size());
        }
    }
}

TEST_CASE("a header alone is judged by the file's length") {
    const std::string header = npy_header(std::vector<std::int64_t>{1024, 1024});
    const auto bytes = to_bytes(header);
    const auto parsed = parse_npy_header(bytes, header.size() + 4 * 1024 * 1024, "x.npy");
    REQUIRE(parsed);
    CHECK(parsed->data_offset == header.size());
    CHECK(parsed->elements == 1024 * 1024);
    CHECK_FALSE(parse_npy_header(bytes, header.size() + 4 * 1024 * 1024 - 1, "x.npy"));
}

TEST_CASE("what is written is read back, with the data aligned to 64 bytes") {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {6}, {2, 3}, {1, 1, 1, 1, 1, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6}}) {
        const std::string header = npy_header(shape);
        CHECK(header.size() % 64 == 0);
        const auto count = element_count(shape).value();
        const auto tensor = parse_npy(to_bytes(header + raw(std::span(six).first(count))), "x.npy");
        REQUIRE(tensor);
        CHECK(tensor->shape == shape);
    }
}
