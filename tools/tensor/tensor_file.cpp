// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>
#include <system_error>

#include "tensor/npy.hpp"
#include "tensor/safetensors.hpp"

namespace kiln::tools {
namespace {

std::string system_text(int error_number) {
    return std::generic_category().message(error_number);
}

/// A regular file that is open for reading, and how long it was then.
class InputFile {
public:
    static Result<InputFile> open(const std::filesystem::path& path) {
        std::error_code error;
        const auto status = std::filesystem::status(path, error);
        if (!std::filesystem::exists(status)) {
            return fail(ErrorCode::bad_file, "{}: cannot be read: {}", path.string(),
                        system_text(error ? error.value() : ENOENT));
        }
        if (!std::filesystem::is_regular_file(status)) {
            return fail(ErrorCode::bad_file, "{}: is a {}; a regular file is allowed", path.string(),
                        std::filesystem::is_directory(status) ? "directory" : "pipe or device");
        }
        const auto bytes = std::filesystem::file_size(path, error);
        errno = 0;
        std::ifstream stream(path, std::ios::binary);
        if (error || !stream) {
            return fail(ErrorCode::bad_file, "{}: cannot be read: {}", path.string(), system_text(error ? error.value() : errno));
        }
        return InputFile(path, std::move(stream), bytes);
    }

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] const std::string& name() const { return name_; }

    Result<std::vector<std::byte>> read_start(std::uint64_t most_bytes) {
        std::vector<std::byte> start(std::min(most_bytes, bytes_));
        if (auto done = read_at(0, std::as_writable_bytes(std::span(start))); !done) return pass_on(done);
        return start;
    }

    Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) {
        errno = 0;
        stream_.seekg(static_cast<std::streamoff>(offset));
        stream_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
        if (stream_) return {};
        return fail(ErrorCode::bad_file, "{}: cannot be read: {}", name_,
                    errno != 0 ? system_text(errno) : "it became shorter while it was read");
    }

    /// Float data of a checked header.
    Result<Tensor> read_tensor(std::vector<std::int64_t> shape, std::uint64_t offset, std::uint64_t elements) {
        Tensor tensor;
        tensor.shape = std::move(shape);
        try {
            tensor.values.resize(elements);
        } catch (const std::bad_alloc&) {
            return fail(ErrorCode::out_of_memory, "{}: the host has no memory for its {} elements", name_, elements);
        }
        if (auto done = read_at(offset, std::as_writable_bytes(std::span(tensor.values))); !done) return pass_on(done);
        return tensor;
    }

private:
    InputFile(const std::filesystem::path& path, std::ifstream stream, std::uint64_t bytes)
        : name_(path.string()), stream_(std::move(stream)), bytes_(bytes) {}

    std::string name_;
    std::ifstream stream_;
    std::uint64_t bytes_;
};

/// A safetensors file whose header has been read.
class SafetensorsFile {
public:
    static Result<SafetensorsFile> open(const std::filesystem::path& path) {
        auto file = InputFile::open(path);
        if (!file) return pass_on(file);
        auto start = file->read_start(safetensors_length_bytes);
        if (!start) return pass_on(start);
        const auto length = parse_safetensors_length(*start, file->bytes(), file->name());
        if (!length) return tl::unexpected(length.error());
        std::string header(*length, '\0');
        auto read = file->read_at(safetensors_length_bytes, std::as_writable_bytes(std::span(header)));
        if (!read) return pass_on(read);
        const std::uint64_t data_offset = safetensors_length_bytes + *length;
        auto entries = parse_safetensors_header(header, file->bytes() - data_offset, file->name());
        if (!entries) return pass_on(entries);
        return SafetensorsFile(std::move(*file), std::move(*entries), data_offset);
    }

    [[nodiscard]] const std::vector<SafetensorsEntry>& entries() const { return entries_; }
    [[nodiscard]] const std::string& name() const { return file_.name(); }

    Result<Tensor> read(const SafetensorsEntry& entry) {
        if (entry.dtype != "F32") {
            return fail(ErrorCode::bad_file, "{}: tensor '{}' has dtype {}; allowed is F32 (float32)", name(), entry.name,
                        entry.dtype);
        }
        return file_.read_tensor(entry.shape, data_offset_ + entry.begin, (entry.end - entry.begin) / sizeof(float));
    }

private:
    SafetensorsFile(InputFile file, std::vector<SafetensorsEntry> entries, std::uint64_t data_offset)
        : file_(std::move(file)), entries_(std::move(entries)), data_offset_(data_offset) {}

    InputFile file_;
    std::vector<SafetensorsEntry> entries_;
    std::uint64_t data_offset_;
};

Result<Tensor> read_npy(const std::filesystem::path& path) {
    auto file = InputFile::open(path);
    if (!file) return pass_on(file);
    auto start = file->read_start(npy_start_bytes);
    if (!start) return pass_on(start);
    auto header = parse_npy_header(*start, file->bytes(), file->name());
    if (!header) return pass_on(header);
    return file->read_tensor(std::move(header->shape), header->data_offset, header->elements);
}

bool is_npy(const std::filesystem::path& path) {
    return path.extension() == ".npy";
}

}  // namespace

Result<void> check_tensor_name(const std::filesystem::path& path) {
    if (is_npy(path) || path.extension() == ".safetensors") return {};
    return fail(ErrorCode::bad_file, "{}: the name ends in '{}'; allowed are .npy and .safetensors", path.string(),
                path.extension().string());
}

Result<Tensor> read_tensor_file(const std::filesystem::path& path) {
    if (auto named = check_tensor_name(path); !named) return pass_on(named);
    if (is_npy(path)) return read_npy(path);
    auto file = SafetensorsFile::open(path);
    if (!file) return pass_on(file);
    if (file->entries().size() != 1) {
        return fail(ErrorCode::bad_file, "{}: holds {} tensors; one is allowed here", file->name(), file->entries().size());
    }
    return file->read(file->entries().front());
}

Result<WeightTensors> read_weights_file(const std::filesystem::path& path) {
    if (auto named = check_tensor_name(path); !named) return pass_on(named);
    if (is_npy(path)) {
        auto weight = read_npy(path);
        if (!weight) return pass_on(weight);
        return WeightTensors{.weight = std::move(*weight), .bias = std::nullopt};
    }
    auto file = SafetensorsFile::open(path);
    if (!file) return pass_on(file);
    const auto names = choose_weights(file->entries(), file->name());
    if (!names) return tl::unexpected(names.error());
    auto weight = file->read(*names->weight);
    if (!weight) return pass_on(weight);
    WeightTensors tensors{.weight = std::move(*weight), .bias = std::nullopt};
    if (names->bias != nullptr) {
        auto bias = file->read(*names->bias);
        if (!bias) return pass_on(bias);
        tensors.bias = std::move(*bias);
    }
    return tensors;
}

Result<void> write_tensor_file(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                               std::span<const float> values) {
    if (auto named = check_tensor_name(path); !named) return named;
    const std::string header = is_npy(path) ? npy_header(shape) : safetensors_header("y", shape);
    errno = 0;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(header.data(), static_cast<std::streamsize>(header.size()));
    stream.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    stream.close();
    if (stream) return {};
    return fail(ErrorCode::bad_file, "{}: cannot be written: {}", path.string(), system_text(errno != 0 ? errno : EIO));
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t maximum_bytes) {
    auto file = InputFile::open(path);
    if (!file) return pass_on(file);
    if (file->bytes() > maximum_bytes) {
        return fail(ErrorCode::bad_file, "{}: has {} bytes; at most {} are allowed", file->name(), file->bytes(), maximum_bytes);
    }
    std::string text(file->bytes(), '\0');
    if (auto read = file->read_at(0, std::as_writable_bytes(std::span(text))); !read) return pass_on(read);
    return text;
}

}  // namespace kiln::tools
