// SPDX-License-Identifier: Apache-2.0
#include "support/files.hpp"

#include <cerrno>
#include <memory>

namespace kiln {
namespace {

template <typename Call>
auto repeat_while_interrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

Io<void> done_unless_negative(int result) {
    if (result < 0) return last_error();
    return {};
}

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { sys::closedir(directory); }
};

}  // namespace

tl::unexpected<std::error_code> last_error() noexcept {
    return tl::unexpected(std::error_code(errno, std::generic_category()));
}

Io<FileDescriptor> open_at(int directory, const std::string& path, int flags, mode_t mode) {
    const int file = repeat_while_interrupted([&] { return sys::openat(directory, path.c_str(), flags | O_CLOEXEC, mode); });
    if (file < 0) return last_error();
    return FileDescriptor(file);
}

Io<struct stat> status(int file) {
    struct stat facts {};
    if (repeat_while_interrupted([&] { return sys::fstat(file, &facts); }) < 0) return last_error();
    return facts;
}

Io<struct stat> status_at(int directory, const std::string& path, int flags) {
    struct stat facts {};
    if (repeat_while_interrupted([&] { return sys::fstatat(directory, path.c_str(), &facts, flags); }) < 0) return last_error();
    return facts;
}

Io<bool> is_read_only_mount(int file) {
    struct statvfs facts {};
    if (repeat_while_interrupted([&] { return sys::fstatvfs(file, &facts); }) < 0) return last_error();
    return (facts.f_flag & ST_RDONLY) != 0;
}

Io<void> make_directory_at(int directory, const std::string& path, mode_t mode) {
    return done_unless_negative(repeat_while_interrupted([&] { return sys::mkdirat(directory, path.c_str(), mode); }));
}

Io<void> rename_at(int directory, const std::string& from, const std::string& to) {
    return done_unless_negative(
        repeat_while_interrupted([&] { return sys::renameat(directory, from.c_str(), directory, to.c_str()); }));
}

Io<void> remove_at(int directory, const std::string& path) {
    return done_unless_negative(repeat_while_interrupted([&] { return sys::unlinkat(directory, path.c_str(), 0); }));
}

Io<void> make_directories(const std::string& path, mode_t mode) {
    const auto made = make_directory_at(AT_FDCWD, path, mode);
    if (made || is(made.error(), std::errc::file_exists)) return {};
    if (!is(made.error(), std::errc::no_such_file_or_directory)) return made;
    const std::size_t last_slash =
        path.find_last_not_of('/') == std::string::npos ? std::string::npos : path.find_last_of('/', path.find_last_not_of('/'));
    if (last_slash == std::string::npos || last_slash == 0) return made;
    if (auto parent = make_directories(path.substr(0, last_slash), mode); !parent) return parent;
    const auto second = make_directory_at(AT_FDCWD, path, mode);
    if (second || is(second.error(), std::errc::file_exists)) return {};
    return second;
}

Io<std::size_t> read_at(int file, std::span<std::byte> to, std::size_t offset) {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t count = repeat_while_interrupted(
            [&] { return sys::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done)); });
        if (count < 0) return last_error();
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

Io<void> write_all(int file, ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t count = repeat_while_interrupted([&] { return sys::write(file, bytes.data(), bytes.size()); });
        if (count < 0) return last_error();
        if (count == 0) return tl::unexpected(std::make_error_code(std::errc::io_error));  // or this would never end
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Io<void> for_each_name(int directory, const std::function<void(const std::string&)>& call) {
    // A second description of the same directory, because reading moves the position, and closedir closes what it was given.
    auto own = open_at(directory, ".", O_RDONLY | O_DIRECTORY);
    if (!own) return tl::unexpected(own.error());
    const std::unique_ptr<DIR, CloseDirectory> stream(sys::fdopendir(own->get()));
    if (!stream) return last_error();
    (void)own->release();
    while (true) {
        errno = 0;
        const dirent* entry = sys::readdir(stream.get());
        if (entry == nullptr) break;
        const std::string name = entry->d_name;
        if (name != "." && name != "..") call(name);
    }
    if (errno != 0) return last_error();
    return {};
}

}  // namespace kiln
