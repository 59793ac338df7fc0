// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a user of Kiln needs.
#include <kiln/arch.hpp>
#include <kiln/cache.hpp>
#include <kiln/error.hpp>
#include <kiln/log.hpp>
#include <kiln/model.hpp>
#include <kiln/options.hpp>
#include <kiln/reference.hpp>
#include <kiln/report.hpp>
#include <kiln/spec.hpp>
#include <kiln/warm.hpp>
