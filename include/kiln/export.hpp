// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library exports; everything else is compiled with hidden visibility.
#if defined(__GNUC__) || defined(__clang__)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif
