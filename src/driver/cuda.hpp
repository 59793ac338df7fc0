// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA's own declarations. cuda.h renames entry points by macros (cuMemAlloc to cuMemAlloc_v2), differently in each release, so
// nothing here calls them by those names: driver/entry_points.hpp has the symbols and their types.
#include <cuda.h>
#include <cudaTypedefs.h>
