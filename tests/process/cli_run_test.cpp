// SPDX-License-Identifier: Apache-2.0
// `kiln run` with real files, on the CPU and on a GPU that computes nothing.
#include <cmath>
#include <fstream>
#include <limits>

#include "program.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tensor/npy.hpp"
#include "tensor_files.hpp"

using namespace kiln::test;

namespace {

/// 2→3, kernel 3, pool 2, identity; two images of 8×9, in files.
struct Files {
    TemporaryDirectory folder;
    std::string weights = folder / "w.safetensors";
    std::string input = folder / "x.npy";

    Files() {
        write_weights(weights, {3, 2, 3, 3}, saw(54, 0.01F), saw(3, 0.1F));
        write_npy(input, {2, 2, 8, 9}, saw(288, 0.05F));
    }

    [[nodiscard]] Program program() const { return Program(folder / "cache"); }

    [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"run", "--in-channels", "2",        "--out-channels", "3",     "--kernel", "3",  "--pool",
                                     "2",   "--activation",  "identity", "--weights",      weights, "--input",  input};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/// Straight from the formula, for these files.
std::vector<double> expected_sums() {
    const auto weight = saw(54, 0.01F);
    const auto bias = saw(3, 0.1F);
    const auto x = saw(288, 0.05F);
    std::vector<double> sums(2, 0.0);
    for (std::size_t n = 0; n < 2; ++n) {
        for (std::size_t o = 0; o < 3; ++o) {
            for (std::size_t y = 0; y < 6; ++y) {
                for (std::size_t column = 0; column < 6; ++column) {  // of 7: pooling drops the last
                    double z = bias[o];
                    for (std::size_t c = 0; c < 2; ++c) {
                        for (std::size_t ky = 0; ky < 3; ++ky) {
                            for (std::size_t kx = 0; kx < 3; ++kx) {
                                z += static_cast<double>(weight[((o * 2 + c) * 3 + ky) * 3 + kx]) *
                                     x[((n * 2 + c) * 8 + y + ky) * 9 + column + kx];
                            }
                        }
                    }
                    sums[n] += z / 4;
                }
            }
        }
    }
    return sums;
}

}  // namespace

TEST_CASE("a model runs on the CPU and is checked") {
    const Files files;
    const auto result =
        files.program().run(files.arguments({"--device", "cpu", "--check", "--json", "--output", files.folder / "y.npy"}));
    INFO(result.err);
    REQUIRE(result.status == 0);
    const auto document = result.json();
    CHECK(document["device"] == "cpu");
    CHECK(document["images"] == 2);
    CHECK(document["kernel"].is_null());
    CHECK(document["check"]["passed"] == true);
    CHECK(document["check"]["max_relative_error"] < 1e-12);
    const auto expected = expected_sums();
    REQUIRE(document["sums"].size() == 2);
    for (std::size_t n = 0; n < 2; ++n) CHECK(document["sums"][n].get<double>() == Approx(expected[n]).epsilon(1e-12));

    const std::string file = read_file(files.folder / "y.npy");
    const auto written = kiln::tools::parse_npy(std::as_bytes(std::span(file)), "y.npy");
    REQUIRE(written);
    CHECK(written->shape == std::vector<std::int64_t>{2});
    CHECK(written->values[1] == static_cast<float>(document["sums"][1].get<double>()));
}

TEST_CASE("without a GPU `auto` is the CPU and says so, and text goes to people") {
    const Files files;
    const auto result = files.program().run(files.arguments({"--check"}));
    CHECK(result.status == 0);
    CHECK(contains(result.err, "no GPU"));
    CHECK(contains(result.out, "device  cpu"));
    CHECK(contains(result.out, "check   passed"));
}

TEST_CASE("a GPU that is asked for and is not there is status 4") {
    const Files files;
    const auto no_driver = files.program().run(files.arguments({"--device", "cuda:0", "--json"}));
    CHECK(no_driver.status == 4);
    CHECK(no_driver.json()["error"]["code"] == "no_driver");
    CHECK(contains(no_driver.err, "/nowhere/libcuda.so.1"));

    const auto no_device = files.program().with_fake_gpu().run(files.arguments({"--device", "cuda:7", "--json"}));
    CHECK(no_device.status == 4);
    CHECK(no_device.json()["error"]["code"] == "no_device");
}

// The fake GPU computes nothing: what it leaves in y must not pass for sums.
TEST_CASE("a check that fails is status 6 and says by how much") {
    const Files files;
    const auto result = files.program().with_fake_gpu().run(files.arguments({"--device", "cuda:0", "--check", "--json"}));
    INFO(result.err);
    CHECK(result.status == 6);
    const auto document = result.json();
    CHECK(document["device"] == "cuda:0");
    CHECK(document["check"]["passed"] == false);
    CHECK(document["error"]["code"] == "check_failed");
    CHECK(document["kernel"]["origin"] == "compiled");
    CHECK(document["kernel"]["arch"] == "sm_90a");
    CHECK(document["kernel"]["registers"] > 0);
}

TEST_CASE("no images give no sums") {
    const Files files;
    write_npy(files.input, {0, 2, 8, 9}, {});
    const auto result = files.program().run(files.arguments({"--device", "cpu", "--check", "--json"}));
    CHECK(result.status == 0);
    CHECK(result.json()["sums"].empty());
    const auto gpu = files.program().with_fake_gpu().run(files.arguments({"--device", "cuda:0", "--check", "--json"}));
    CHECK(gpu.status == 0);
    CHECK(gpu.json()["sums"].empty());
}

TEST_CASE("weights may be arrays, and a model may have no bias") {
    const Files files;
    write_npy(files.folder / "w.npy", {3, 2, 3, 3}, saw(54, 0.01F));
    write_npy(files.folder / "b.npy", {3}, saw(3, 0.1F));
    std::vector<std::string> arguments = files.arguments({"--device", "cpu", "--json"});
    for (std::string& each : arguments) {
        if (each == files.weights) each = files.folder / "w.npy";
    }
    const auto no_bias_file = files.program().run(arguments);
    CHECK(no_bias_file.status == 3);
    CHECK(contains(no_bias_file.err, "holds no bias, and the model has one: name its file with --bias, or say --no-bias"));
    auto with_bias = arguments;
    with_bias.insert(with_bias.end(), {"--bias", files.folder / "b.npy"});
    CHECK(files.program().run(with_bias).json()["sums"][0].get<double>() == Approx(expected_sums()[0]).epsilon(1e-12));
    auto without = arguments;
    without.push_back("--no-bias");
    CHECK(files.program().run(without).json()["sums"][0].get<double>() != Approx(expected_sums()[0]).epsilon(1e-3));
    const auto unwanted = files.program().run(files.arguments({"--no-bias"}));
    CHECK(unwanted.status == 3);
    CHECK(contains(unwanted.err, "holds a bias, and --no-bias says that the model has none"));
}

TEST_CASE("without --input the images are random, the same each time") {
    const Files files;
    std::vector<std::string> arguments{"run", "--in-channels", "2",           "--out-channels", "3",   "--kernel", "3", "--pool",
                                       "2",   "--weights",     files.weights, "--device",       "cpu", "--json"};
    const auto refused = files.program().run(arguments);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "--input is required, or --shape"));
    arguments.insert(arguments.end(), {"--shape", "3,8,8"});
    const auto first = files.program().run(arguments);
    CHECK(first.json()["images"] == 3);
    CHECK(contains(first.err, "random"));
    CHECK(first.out == files.program().run(arguments).out);
}

TEST_CASE("files and shapes that do not fit are status 3 with what was found and what is needed") {
    const Files files;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto replaced = [&](const std::string& name, const std::string& bytes) {
        write_file(files.folder / name, bytes);
        std::vector<std::string> arguments = files.arguments({"--device", "cpu", "--json"});
        for (std::string& each : arguments) {
            if (each == (name.starts_with("x") ? files.input : files.weights)) each = files.folder / name;
        }
        return files.program().run(arguments);
    };
    const std::string good_input = read_file(files.input);
    const std::string good_weights = read_file(files.weights);
    const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
        std::string text = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
        return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text;
    };
    const std::string data(288 * 4, '\0');
    auto weights_with_nan = saw(54, 0.01F);
    weights_with_nan[17] = nan;
    write_weights(files.folder / "nan.safetensors", {3, 2, 3, 3}, weights_with_nan, saw(3, 0.1F));
    write_weights(files.folder / "shape.safetensors", {3, 2, 9, 1}, saw(54, 0.01F), saw(3, 0.1F));
    write_npy(files.folder / "channels.npy", {2, 3, 6, 8}, saw(288, 0.1F));
    write_npy(files.folder / "small.npy", {32, 2, 1, 9}, saw(576, 0.1F));
    std::string overlap = good_weights;
    overlap.replace(overlap.find("[0,12]"), 6, "[4,12]");

    const std::vector<std::tuple<std::string, std::string, std::string>> cases{
        {"x1.npy", good_input.substr(0, good_input.size() - 1), "truncated"},
        {"x2.npy", header("<f4", "True", "(2, 2, 8, 9)") + data, "Fortran order"},
        {"x3.npy", header("<f8", "False", "(2, 2, 8, 9)") + data, "dtype '<f8'; allowed is '<f4'"},
        {"x4.npy", header("<f4", "False", "(4294967296, 4294967296, 2, 2)") + data, "more than 2^61 elements"},
        {"x5.npy", read_file(files.folder / "channels.npy"),
         "the input has shape [2, 3, 6, 8]; the model needs [images, 2, height, width]"},
        {"x6.npy", read_file(files.folder / "small.npy"), "kernel_size is 3x3"},
        {"x7.npy", "", "does not begin as a .npy file does"},
        {"x8.bin", good_input, "allowed are .npy and .safetensors"},
        {"w1.safetensors", overlap, "data_offsets"},
        {"w2.safetensors", good_weights.substr(0, good_weights.size() - 4), "data_offsets"},
        {"w3.safetensors", read_file(files.folder / "nan.safetensors"), "weight[17] is nan; weights must be finite"},
        {"w4.safetensors", read_file(files.folder / "shape.safetensors"),
         "the weight has shape [3, 2, 9, 1]; the model needs [3, 2, 3, 3]"},
    };
    for (const auto& [name, bytes, message] : cases) {
        const auto result = replaced(name, bytes);
        INFO(name << ": " << result.err);
        CHECK(result.status == 3);
        CHECK(contains(result.err, message));
        CHECK(result.json()["error"]["message"].get<std::string>().find(message) != std::string::npos);
    }
    const auto missing = files.program().run({"run", "--in-channels", "2", "--out-channels", "3", "--kernel", "3", "--pool", "2",
                                              "--weights", "/nowhere/w.npy", "--shape", "1,8,8"});
    CHECK(missing.status == 3);
    CHECK(contains(missing.err, "/nowhere/w.npy: cannot be read: No such file or directory"));
    const auto unwritable = files.program().run(files.arguments({"--device", "cpu", "--output", "/nowhere/y.npy"}));
    CHECK(unwritable.status == 3);
    CHECK(contains(unwritable.err, "/nowhere/y.npy: cannot be written"));
}

TEST_CASE("a NaN pixel makes its image's sum NaN, which JSON writes as null, and no other's") {
    const Files files;
    auto x = saw(288, 0.05F);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    write_npy(files.input, {2, 2, 8, 9}, x);
    const auto result = files.program().run(files.arguments({"--device", "cpu", "--check", "--json"}));
    CHECK(result.status == 0);
    CHECK(result.json()["sums"][0].is_null());
    CHECK(result.json()["sums"][1].is_number());
}

TEST_CASE("a bench runs through on a GPU that computes nothing, and needs one") {
    const Files files;
    const std::vector<std::string> arguments{"bench", "--in-channels", "2",     "--out-channels", "3", "--kernel", "3", "--pool",
                                             "2",     "--shape",       "2,8,9", "--rounds",       "3", "--json"};
    const auto result = files.program().with_fake_gpu().run(arguments);
    INFO(result.err);
    CHECK(result.status == 0);
    const auto document = result.json();
    CHECK(document["input_bytes"] == 2 * 2 * 8 * 9 * 4);
    CHECK(document["multiply_adds"] == 2 * 3 * 3 * 3 * 2 * 9);
    CHECK(document["launches_per_graph"] >= 20);
    CHECK(document["spec"].contains("expected"));
    CHECK(document["floor_us"] > 0);
    CHECK(document["limiter"].is_string());
    CHECK(files.program().run(arguments).status == 4);
}

TEST_CASE("a bench takes many specs, each at its shape, and goes on after one that fails") {
    const Files files;
    const std::string specs = files.folder / "specs.json";
    const auto write = [&](const std::string& text) { std::ofstream(specs) << text; };
    const auto spec = [](const std::string& kernel, const std::string& rest) {
        return R"({"in_channels": 2, "out_channels": 3, "pool_kernel_size": 2, "kernel_size": )" + kernel + rest + "}";
    };
    const std::string shape = R"(, "expected": {"batch": 2, "height": 8, "width": 9})";
    const std::string no_images = R"(, "expected": {"batch": 0, "height": 8, "width": 9})";
    const std::vector<std::string> arguments{"bench", "--specs", specs, "--rounds", "2", "--any-shape", "--json"};

    write("[" + spec("3", shape) + "," + spec("3", no_images) + "," + spec("1", shape) + "]");
    const auto result = files.program().with_fake_gpu().run(arguments);
    INFO(result.err);
    CHECK(result.status == 3);  // the second one has no images
    const auto all = result.json()["measurements"];
    REQUIRE(all.size() == 3);
    CHECK(all[0]["shape"]["height"] == 8);
    CHECK_FALSE(all[0]["spec"].contains("expected"));
    CHECK(all[1]["error"]["code"] == "invalid_argument");
    CHECK(all[2]["multiply_adds"] == 2 * 3 * 4 * 4 * 2);

    write("[" + spec("3", "") + "]");
    const auto shapeless = files.program().with_fake_gpu().run(arguments);
    CHECK(shapeless.status == 3);
    CHECK(contains(shapeless.err, "spec 0: expected is missing"));
}
