// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kiln {

/// Why a place did not give a kernel. A miss is no error: the next place is asked, and in the end the compiler.
enum class MissReason {
    absent,         ///< it has no entry of that name
    damaged,        ///< the entry is cut or altered
    other_version,  ///< the entry was written by another version of Kiln
    other_key,      ///< the entry is of another kernel whose name is equal: a collision, or a file that was renamed
    refused,        ///< the driver of this process refused this cubin
    untrusted,      ///< somebody else could have written it
    unreadable,     ///< the system would not let us read it
};

struct Miss {
    MissReason reason = MissReason::absent;
    std::string what;  ///< a sentence for logs and reports, which names the path
};

}  // namespace kiln
