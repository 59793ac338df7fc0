// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "model/model_state.hpp"

namespace kiln {

Workspace::Workspace() noexcept = default;
Workspace::Workspace(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

std::size_t Workspace::bytes() const noexcept {
    return state_ ? state_->memory.bytes() : 0;
}

CUdeviceptr WorkspaceAccess::partials(const Workspace& workspace) {
    return workspace.state_ ? workspace.state_->memory.address() : 0;
}

std::size_t WorkspaceAccess::partial_bytes(const Workspace& workspace) {
    return workspace.state_ ? workspace.state_->partial_bytes : 0;
}

}  // namespace kiln
