// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "tensor/tensor.hpp"

namespace kiln::tools {

/// NumPy's file of one array (numpy.lib.format), as far as Kiln takes it:
///
///     file    = magic version length header data
///     magic   = 93 'N' 'U' 'M' 'P' 'Y'
///     version = 1 0 | 2 0 | 3 0
///     length  = of the header: 2 bytes (version 1) or 4 (2 and 3), little-endian
///     header  = a Python dictionary with exactly 'descr': '<f4', 'fortran_order': False, 'shape': (…), then spaces and a line
///     end data    = the elements in C order, to the end of the file
///
/// Everything else is refused with a `bad_file` that says what was found and what is allowed.

/// The longest header that is read; NumPy's own limit is 10,000 characters.
constexpr std::size_t npy_maximum_header_bytes = 65'535;
/// A file's start of this length, or the whole file, is enough for `parse_npy_header`.
constexpr std::size_t npy_start_bytes = 12 + npy_maximum_header_bytes;

struct NpyHeader {
    std::vector<std::int64_t> shape;
    std::uint64_t data_offset = 0;
    std::uint64_t elements = 0;
};

/// Reads the header and checks it against the file's length: a success means that the data are there, and nothing else.
/// `source` begins the messages.
[[nodiscard]] Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                                 std::string_view source);

/// A whole file in memory.
[[nodiscard]] Result<Tensor> parse_npy(std::span<const std::byte> file, std::string_view source);

/// What stands in front of the data: version 1.0, padded so that the data begin at a multiple of 64, as NumPy writes it.
[[nodiscard]] std::string npy_header(std::span<const std::int64_t> shape);

}  // namespace kiln::tools
