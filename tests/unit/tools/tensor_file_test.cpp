// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_file.hpp"

#include <array>
#include <fstream>

#include "bytes.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tensor/npy.hpp"
#include "tensor/safetensors.hpp"

using namespace kiln;
using namespace kiln::tools;

namespace {

/// Writes a file into the folder.
std::filesystem::path write(const test::TemporaryDirectory& folder, const std::string& name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return folder.path() / name;
}

}  // namespace

TEST_CASE("tensors survive a file, of either kind") {
    const test::TemporaryDirectory folder;
    for (const char* name : {"y.npy", "y.safetensors"}) {
        const auto path = folder.path() / name;
        REQUIRE(write_tensor_file(path, std::vector<std::int64_t>{2, 3}, six));
        const auto tensor = read_tensor_file(path);
        REQUIRE(tensor);
        CHECK(tensor->shape == std::vector<std::int64_t>{2, 3});
        CHECK(tensor->values == std::vector<float>(six.begin(), six.end()));
    }
}

TEST_CASE("weights come from a safetensors file with or without a bias, or from an array alone") {
    const test::TemporaryDirectory folder;
    const std::string header = R"({"conv.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("conv.weight":{"dtype":"F32","shape":[2,1,2,1],"data_offsets":[8,24]}})";
    const std::array<std::uint64_t, 1> length{header.size()};
    const auto both = read_weights_file(write(folder, "w.safetensors", raw(length) + header + raw(six)));
    REQUIRE(both);
    CHECK(both->weight.values.size() == 4);
    REQUIRE(both->bias);
    CHECK(both->bias->values == std::vector<float>{1.5F, -2.0F});

    const auto array = read_weights_file(write(folder, "w.npy", npy_header(std::vector<std::int64_t>{6}) + raw(six)));
    REQUIRE(array);
    CHECK_FALSE(array->bias);
}

TEST_CASE("a tensor of another type is refused when it is asked for") {
    const test::TemporaryDirectory folder;
    const std::string header = R"({"weight":{"dtype":"F16","shape":[12],"data_offsets":[0,24]}})";
    const std::array<std::uint64_t, 1> length{header.size()};
    const auto path = write(folder, "w.safetensors", raw(length) + header + raw(six));
    const auto weights = read_weights_file(path);
    REQUIRE_FALSE(weights);
    CHECK(weights.error().message == path.string() + ": tensor 'weight' has dtype F16; allowed is F32 (float32)");
}

TEST_CASE("what cannot be read is refused with the system's reason") {
    const test::TemporaryDirectory folder;
    const auto message = [](const std::filesystem::path& path) {
        const auto tensor = read_tensor_file(path);
        REQUIRE_FALSE(tensor);
        CHECK(tensor.error().code == ErrorCode::bad_file);
        return tensor.error().message;
    };
    CHECK(message("/nowhere/x.npy") == "/nowhere/x.npy: cannot be read: No such file or directory");
    CHECK(message("x.bin") == "x.bin: the name ends in '.bin'; allowed are .npy and .safetensors");
    CHECK(message(write(folder, "empty.npy", "")).find("does not begin as a .npy file does") != std::string::npos);
    CHECK(message(write(folder, "empty.safetensors", "")).find("truncated: 0 bytes") != std::string::npos);
    std::filesystem::create_directory(folder.path() / "d.npy");
    CHECK(message(folder.path() / "d.npy").find("is a directory; a regular file is allowed") != std::string::npos);
    const std::string many =
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})";
    const std::array<std::uint64_t, 1> length{many.size()};
    CHECK(message(write(folder, "two.safetensors", raw(length) + many + std::string(8, '\0')))
              .find("holds 2 tensors; one is allowed here") != std::string::npos);
}

TEST_CASE("what cannot be written whole is a failure") {
    const test::TemporaryDirectory folder;
    const auto written = write_tensor_file("/nowhere/y.npy", std::vector<std::int64_t>{6}, six);
    REQUIRE_FALSE(written);
    CHECK(written.error().message == "/nowhere/y.npy: cannot be written: No such file or directory");

    std::filesystem::create_symlink("/dev/full", folder.path() / "full.npy");
    const auto full = write_tensor_file(folder.path() / "full.npy", std::vector<std::int64_t>{6}, six);
    REQUIRE_FALSE(full);
    CHECK(full.error().message.find("No space left on device") != std::string::npos);
}

TEST_CASE("a text file is read up to its limit") {
    const test::TemporaryDirectory folder;
    const auto path = write(folder, "specs.json", "[]");
    CHECK(read_text_file(path, 2).value() == "[]");
    CHECK_FALSE(read_text_file(path, 1));
}
