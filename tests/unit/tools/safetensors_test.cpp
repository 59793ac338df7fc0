// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors.hpp"

#include <array>
#include <map>

#include "bytes.hpp"
#include "support/catch.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

std::string safetensors_file(const std::string& header, const std::string& data) {
    const std::array<std::uint64_t, 1> length{header.size()};
    return raw(length) + header + data;
}

/// A header of these members.
std::string object(const std::string& members) {
    return fmt::format("{{{}}}", members);
}

std::string tensor_json(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

const std::string bias_json = tensor_json("conv.bias", "F32", "[2]", "[0,8]");
const std::string weight_json = tensor_json("conv.weight", "F32", "[2,1,2,1]", "[8,24]");
const std::string good_safetensors =
    safetensors_file(object(weight_json + R"(,"__metadata__":{"format":"pt"},)" + bias_json) + "   ", raw(six));

std::string safetensors_message_of(const std::string& file) {
    const auto tensors = parse_safetensors(to_bytes(file), "x");
    if (tensors) return "accepted";
    CHECK(tensors.error().code == ErrorCode::bad_file);
    return tensors.error().message;
}

/// The message for a file with 24 bytes of data and this header.
std::string safetensors_message_for(const std::string& header) {
    return safetensors_message_of(safetensors_file(header, raw(six)));
}

std::string choice_among(const std::vector<std::string>& names) {
    std::vector<SafetensorsEntry> entries;
    for (const std::string& name : names) entries.push_back({.name = name, .dtype = "F32", .shape = {}});
    const auto chosen = choose_weights(entries, "x");
    if (!chosen) return chosen.error().message;
    return chosen->weight->name + (chosen->bias != nullptr ? " and " + chosen->bias->name : " alone");
}

}  // namespace

TEST_CASE("tensors are read by their offsets, metadata are left alone") {
    const auto tensors = parse_safetensors(to_bytes(good_safetensors), "x");
    REQUIRE(tensors);
    REQUIRE(tensors->size() == 2);
    CHECK((*tensors)[0].name == "conv.bias");
    CHECK((*tensors)[0].tensor.values == std::vector<float>{1.5F, -2.0F});
    CHECK((*tensors)[1].name == "conv.weight");
    CHECK((*tensors)[1].tensor.shape == std::vector<std::int64_t>{2, 1, 2, 1});
    CHECK((*tensors)[1].tensor.values == std::vector<float>{3.25F, 0.0F, 1e30F, -1e-30F});
}

TEST_CASE("other types, empty tensors and scalars may be there") {
    CHECK(safetensors_message_for(object(
              tensor_json("a", "BF16", "[4]", "[0,8]") + "," + tensor_json("b", "I64", "[]", "[8,16]") + "," +
              tensor_json("e", "F32", "[0,7]", "[16,16]") + "," + tensor_json("c", "F4_NEW", "[99]", "[16,24]"))) == "accepted");
    CHECK(safetensors_message_of(safetensors_file("{}", "")) == "accepted");
}

TEST_CASE("each broken rule is refused, with what was found and what is allowed") {
    const std::map<std::string, std::string> cases{
        {object(bias_json), "x: too long: the tensors end at byte 8 of the data, and there are 24"},
        {object(weight_json), "x: tensor 'conv.weight' begins at byte 8 of the data, leaving a gap before it; allowed is 0"},
        {object(bias_json + "," + tensor_json("w", "F32", "[5]", "[4,24]")),
         "x: tensor 'w' begins at byte 4 of the data, overlapping the one before; allowed is 8"},
        {object(bias_json + "," + tensor_json("w", "F32", "[5]", "[8,28]")),
         "x: tensor 'w' has data_offsets [8,28]; allowed is [begin, end] with begin <= end <= 24, the bytes of data in the file"},
        {object(tensor_json("w", "F32", "[6]", "[24,0]")),
         "x: tensor 'w' has data_offsets [24,0]; allowed is [begin, end] with begin <= end <= 24, the bytes of data in the file"},
        {object(tensor_json("w", "F32", "[6]", "[-4,20]")),
         "x: tensor 'w' has data_offsets [-4,20]; allowed is [begin, end] with begin <= end <= 24, the bytes of data in the "
         "file"},
        {object(tensor_json("w", "F32", "[6]", "[0,24,24]")),
         "x: tensor 'w' has data_offsets [0,24,24]; allowed is [begin, end] with begin <= end <= 24, the bytes of data in the "
         "file"},
        {object(tensor_json("w", "F32", "[5]", "[0,24]")),
         "x: tensor 'w' has shape [5] of 5 elements of dtype F32, and its data_offsets span 24 bytes; 4 bytes an element are "
         "allowed"},
        {object(tensor_json("w", "F64", "[6]", "[0,24]")),
         "x: tensor 'w' has shape [6] of 6 elements of dtype F64, and its data_offsets span 24 bytes; 8 bytes an element are "
         "allowed"},
        {object(tensor_json("w", "F32", "[4294967296,4294967296]", "[0,24]")),
         "x: tensor 'w' has shape [4294967296, 4294967296], which is more than 2^61 elements"},
        {object(tensor_json("w", "F32", "[-6]", "[0,24]")),
         "x: tensor 'w' has the size -6 in its shape; 0 to 2^63 - 1 is allowed"},
        {object(tensor_json("w", "F32", "[6.0]", "[0,24]")),
         "x: tensor 'w' has the size 6.0 in its shape; 0 to 2^63 - 1 is allowed"},
        {object(tensor_json("w", "F32", "6", "[0,24]")), "x: tensor 'w' has shape 6; an array of sizes is allowed"},
        {R"({"w":{"shape":[6],"data_offsets":[0,24]}})", "x: tensor 'w' has dtype missing; a string is allowed"},
        {R"({"w":{"dtype":"F32","shape":[6],"data_offsets":[0,24],"strides":[1]}})",
         "x: tensor 'w' has the field \"strides\"; allowed are dtype, shape and data_offsets"},
        {R"({"w":[]})", "x: tensor 'w' is []; an object is allowed"},
        {object(bias_json + "," + bias_json),
         "x: the safetensors header is not accepted: the key \"conv.bias\" appears twice in one object"},
        {R"({"__metadata__":{"a":1}})", "x: __metadata__ is {\"a\":1}; an object of strings is allowed"},
        {" {}", "x: the safetensors header begins with ' '; allowed is '{'"},
        {"[]", "x: the safetensors header begins with '['; allowed is '{'"},
    };
    for (const auto& [header, message] : cases) {
        INFO(header);
        CHECK(safetensors_message_for(header) == message);
    }
    CHECK(safetensors_message_for("{,}").find("x: the safetensors header is not valid JSON: ") == 0);
}

TEST_CASE("a header's length is checked before anything is read") {
    const auto message = [](std::uint64_t length, std::uint64_t file_bytes) {
        const std::array<std::uint64_t, 1> start{length};
        const auto parsed = parse_safetensors_length(std::as_bytes(std::span(start)), file_bytes, "x");
        return parsed ? "accepted" : parsed.error().message;
    };
    CHECK(message(2, 10) == "accepted");
    CHECK(message(3, 10) == "x: truncated: the safetensors header's length is 3 bytes, and 2 bytes follow it");
    CHECK(message(0, 10) == "x: the safetensors header's length is 0 bytes; 2 to 100000000 are allowed");
    CHECK(message(100'000'001, 1'000'000'000) ==
          "x: the safetensors header's length is 100000001 bytes; 2 to 100000000 are allowed");
    CHECK(message(UINT64_MAX, 10).find("x: the safetensors header's length is 18446744073709551615 bytes") == 0);
}

TEST_CASE("a file of tensors that is cut anywhere is refused") {
    for (std::size_t length = 0; length < good_safetensors.size(); ++length) {
        INFO(length);
        CHECK(safetensors_message_of(good_safetensors.substr(0, length)) != "accepted");
    }
    CHECK(safetensors_message_of(good_safetensors + '\0') != "accepted");
}

TEST_CASE("a file of tensors with any byte changed is refused, or each tensor still has the values its shape needs") {
    for (std::size_t place = 0; place < good_safetensors.size(); ++place) {
        for (const int change : {0x01, 0x02, 0x10, 0x80}) {
            std::string changed = good_safetensors;
            changed[place] = static_cast<char>(changed[place] ^ change);
            const auto tensors = parse_safetensors(to_bytes(changed), "x");
            if (place >= good_safetensors.size() - sizeof six) CHECK(tensors);
            if (!tensors) continue;
            for (const NamedTensor& each : *tensors) {
                INFO(place << " ^ " << change);
                CHECK(element_count(each.tensor.shape) == each.tensor.values.size());
            }
        }
    }
}

TEST_CASE("what is written is read back") {
    const std::string header = safetensors_header("y", std::vector<std::int64_t>{6});
    CHECK(header.size() % 8 == 0);
    const auto tensors = parse_safetensors(to_bytes(header + raw(six)), "x");
    REQUIRE(tensors);
    REQUIRE(tensors->size() == 1);
    CHECK((*tensors)[0].name == "y");
    CHECK((*tensors)[0].tensor.values == std::vector<float>(six.begin(), six.end()));
}

TEST_CASE("weights are found by PyTorch's names") {
    CHECK(choice_among({"bias", "weight"}) == "weight and bias");
    CHECK(choice_among({"conv.weight", "conv.bias"}) == "conv.weight and conv.bias");
    CHECK(choice_among({"weight"}) == "weight alone");
    CHECK(choice_among({"conv.bias", "conv.weight", "fc.bias", "fc.weight"}) == "conv.weight and conv.bias");
    CHECK(choice_among({"_orig_mod.conv.bias", "_orig_mod.conv.weight"}) == "_orig_mod.conv.weight and _orig_mod.conv.bias");
    CHECK(choice_among({"0.weight", "bias"}) == "0.weight alone");
}

TEST_CASE("no weights, or a choice of several, is refused") {
    CHECK(choice_among({}) == "x: holds no tensors; allowed is one tensor 'weight' or 'conv.weight', with its bias beside it");
    CHECK(choice_among({"a.weight", "b.weight"}) ==
          "x: holds 'a.weight', 'b.weight'; allowed is one tensor 'weight' or 'conv.weight', with its bias beside it");
    CHECK(choice_among({"weight", "conv.weight"}).find("x: holds 'weight', 'conv.weight';") == 0);
    CHECK(choice_among({"weights"}).find("x: holds 'weights';") == 0);
}
