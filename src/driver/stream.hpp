// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "driver/context.hpp"

/// Streams, events and graphs of our own: for tests, benchmarks and the `kiln` program. A model runs on its user's streams.
namespace kiln::driver {

/// A non-blocking stream. Holds the GPU's context. Movable; thread safe but for a capture.
class Stream {
public:
    [[nodiscard]] static Result<Stream> create(const Context& context);
    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&&) = delete;
    ~Stream();

    [[nodiscard]] Result<void> synchronize() const;
    [[nodiscard]] CUstream handle() const noexcept { return handle_; }
    [[nodiscard]] const Context& context() const noexcept { return context_; }

private:
    Stream(Context context, CUstream handle) noexcept : context_(std::move(context)), handle_(handle) {}
    Context context_;
    CUstream handle_;  ///< null once moved from
};

/// A point in a stream's work, with its time. Holds the GPU's context. Movable.
class Event {
public:
    [[nodiscard]] static Result<Event> create(const Context& context);
    Event(Event&& other) noexcept;
    Event& operator=(Event&&) = delete;
    ~Event();

    [[nodiscard]] Result<void> record(CUstream stream) const;
    [[nodiscard]] Result<void> synchronize() const;

    /// Milliseconds from `earlier` to this one; waits for both.
    [[nodiscard]] Result<float> milliseconds_since(const Event& earlier) const;
    [[nodiscard]] CUevent handle() const noexcept { return handle_; }

private:
    Event(Context context, CUevent handle) noexcept : context_(std::move(context)), handle_(handle) {}
    Context context_;
    CUevent handle_;  ///< null once moved from
};

/// What was captured from a stream, ready to be launched any number of times. Holds the GPU's context. Movable.
class Graph {
public:
    /// Captures what `record` queues on the stream, which is not executed. A failure of `record` is passed on.
    template <typename Record>
    [[nodiscard]] static Result<Graph> capture(const Stream& stream, Record&& record) {
        if (auto begun = begin(stream); !begun) return pass_on(begun);
        Result<void> recorded = std::forward<Record>(record)();
        Result<Graph> graph = end(stream);
        if (!recorded) return pass_on(recorded);
        return graph;
    }
    Graph(Graph&& other) noexcept;
    Graph& operator=(Graph&&) = delete;
    ~Graph();

    [[nodiscard]] Result<void> launch(CUstream stream) const;

private:
    Graph(Context context, CUgraphExec handle) noexcept : context_(std::move(context)), handle_(handle) {}
    [[nodiscard]] static Result<void> begin(const Stream& stream);
    [[nodiscard]] static Result<Graph> end(const Stream& stream);
    Context context_;
    CUgraphExec handle_;  ///< null once moved from
};

}  // namespace kiln::driver
