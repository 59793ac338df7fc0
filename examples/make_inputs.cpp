// SPDX-License-Identifier: Apache-2.0
// Makes what tools/quickstart runs on: weights as PyTorch would save them, and images as NumPy would, for the headline model.
#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/npy.hpp"

namespace {

constexpr std::int64_t filters = 64;
constexpr std::int64_t weight_values = filters * 8 * 3 * 3;
constexpr std::int64_t image_values = std::int64_t{8} * 384 * 384;

std::vector<float> normal(std::int64_t count, float mean, float deviation, std::mt19937_64& random) {
    std::normal_distribution<float> distribution(mean, deviation);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = distribution(random);
    return values;
}

void write(std::ofstream& file, std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::ofstream create(const std::filesystem::path& path) {
    std::ofstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(path, std::ios::binary);
    return file;
}

/// `conv.weight` and `conv.bias` in the safetensors format: a length of 8 bytes, a header, the tensors.
void write_weights(const std::filesystem::path& path, std::mt19937_64& random) {
    std::string header = R"({"conv.weight":{"dtype":"F32","shape":[64,8,3,3],"data_offsets":[0,18432]},)"
                         R"("conv.bias":{"dtype":"F32","shape":[64],"data_offsets":[18432,18688]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::ofstream file = create(path);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    write(file, normal(weight_values, 0.0f, 0.12f, random));
    write(file, normal(filters, 0.0f, 0.5f, random));
    file.close();
}

void write_images(const std::filesystem::path& path, std::int64_t images, std::mt19937_64& random) {
    const std::array<std::int64_t, 4> shape{images, 8, 384, 384};
    std::ofstream file = create(path);
    const std::string header = kiln::tools::npy_header(shape);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    // Each image has its own brightness, and so its own sum.
    for (std::int64_t image = 0; image < images; ++image) {
        write(file, normal(image_values, 0.1f * static_cast<float>(image % 16), 1.0f, random));
    }
    file.close();
}

}  // namespace

int main(int argc, char** argv) try {
    std::int64_t images = 0;
    if (argc == 3) {
        const std::string_view count(argv[2]);
        std::from_chars(count.data(), count.data() + count.size(), images);
    }
    if (images < 1) {
        std::cerr << "usage: make_inputs FOLDER IMAGES\nWrites FOLDER/weights.safetensors and FOLDER/images.npy.\n";
        return 2;
    }
    const std::filesystem::path folder(argv[1]);
    std::filesystem::create_directories(folder);
    std::mt19937_64 random(20);  // NOLINT(cert-msc51-cpp): the same inputs each time
    write_weights(folder / "weights.safetensors", random);
    write_images(folder / "images.npy", images, random);
    return 0;
} catch (const std::exception& error) {
    std::cerr << "make_inputs: " << error.what() << '\n';
    return 1;
}
