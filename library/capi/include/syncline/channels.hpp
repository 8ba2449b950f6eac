// Channels, inboxes and servers as classes; included by syncline.hpp only.
//
//     auto [sender, receiver] = syncline::channel<order>(64);
//
//     while (auto order = next()) sender.send(*order);        // one thread
//     while (auto order = receiver.recv()) serve(*order);     // another
//
// Messages are copied as bytes, so their type is trivially copyable. An end can be moved, not
// copied; its destructor disconnects. For calls that wait without a limit, a missing other end is a
// result and not an error: send() returns false, recv() nothing. The other calls throw EPIPE, as
// does client::call().

#ifndef SYNCLINE_CHANNELS_HPP
#define SYNCLINE_CHANNELS_HPP

#ifndef SYNCLINE_HPP
#error "include syncline.hpp"
#endif

namespace syncline {

namespace detail {

// An object of the C interface that a function destroys.
template <class Handle, int (*destroy)(Handle*)>
struct destroyer {
    void operator()(Handle* handle) const { expect(destroy(handle)); }
};
template <class Handle, int (*destroy)(Handle*)>
using owned = std::unique_ptr<Handle, destroyer<Handle, destroy>>;

} // namespace detail

// How the ends of a channel wait: see channels.h.
enum class waiting { park = SYNCLINE_PARK, yield = SYNCLINE_YIELD, spin = SYNCLINE_SPIN };

template <class T>
class sender {
    static_assert(std::is_trivially_copyable_v<T>, "messages are copied as bytes");

public:
    // Takes ownership of an end from C whose messages are of this type.
    explicit sender(syncline_sender_t* end) noexcept : end_(end) {}

    // Waits for room; returns false if the receiver is gone.
    bool send(const T& message) {
        return detail::unless(EPIPE, syncline_sender_send(end_.get(), &message));
    }

    // Returns false if there is no room now; throws EPIPE if the receiver is gone.
    bool try_send(const T& message) {
        return detail::unless(EAGAIN, syncline_sender_trysend(end_.get(), &message));
    }

    // Sends an array, which is faster than one by one; returns how many messages were sent:
    // fewer than all if the receiver is gone.
    std::size_t send_all(const T* messages, std::size_t count) {
        std::size_t sent = 0;
        detail::unless(EPIPE, syncline_sender_sendall(end_.get(), messages, count, &sent));
        return sent;
    }

private:
    detail::owned<syncline_sender_t, syncline_sender_destroy> end_;
};

namespace detail {

// The message that a call receives, or nothing if the call is refused with this error.
template <class T, class Call>
std::optional<T> received(int refusal, Call call) {
    T message;
    if (!unless(refusal, call(&message))) return std::nullopt;
    return message;
}

} // namespace detail

template <class T>
class receiver {
    static_assert(std::is_trivially_copyable_v<T>, "messages are copied as bytes");
    static_assert(std::is_default_constructible_v<T>, "messages are received into a new object");

public:
    explicit receiver(syncline_receiver_t* end) noexcept : end_(end) {}

    // Waits for a message; returns nothing if the sender is gone and all messages were received.
    std::optional<T> recv() {
        return detail::received<T>(
            EPIPE, [&](T* message) { return syncline_receiver_recv(end_.get(), message); });
    }

    // Waits for a message, and takes others that are there, at most `most` in all; returns how
    // many: 0 if the sender is gone and all messages were received.
    std::size_t recv_some(T* messages, std::size_t most) {
        std::size_t received = 0;
        detail::unless(EPIPE, syncline_receiver_recvsome(end_.get(), messages, most, &received));
        return received;
    }

    // Returns nothing if there is no message now; throws EPIPE if no more can arrive.
    std::optional<T> try_recv() {
        return detail::received<T>(
            EAGAIN, [&](T* message) { return syncline_receiver_tryrecv(end_.get(), message); });
    }

    // Returns nothing if no message arrived within this time; throws EPIPE if no more can arrive.
    template <class Rep, class Period>
    std::optional<T> recv_for(const std::chrono::duration<Rep, Period>& patience) {
        const timespec deadline = detail::deadline(patience);
        return detail::received<T>(ETIMEDOUT, [&](T* message) {
            return syncline_receiver_timedrecv(end_.get(), message, &deadline);
        });
    }

private:
    detail::owned<syncline_receiver_t, syncline_receiver_destroy> end_;
};

// Makes a channel with room for at least this many messages.
template <class T>
std::pair<sender<T>, receiver<T>> channel(std::size_t capacity, waiting how = waiting::park) {
    syncline_sender_t* in;
    syncline_receiver_t* out;
    detail::expect(syncline_channel_create_waiting(
        sizeof(T), capacity, static_cast<int>(how), &in, &out));
    return {sender<T>(in), receiver<T>(out)};
}

// A receiver of several senders; a message comes with its sender's number.
template <class T>
class inbox {
    static_assert(std::is_trivially_copyable_v<T>, "messages are copied as bytes");

public:
    using received = std::pair<std::size_t, T>;

    inbox(std::size_t senders, std::size_t capacity, waiting how = waiting::park) {
        syncline_inbox_t* made;
        detail::expect(syncline_inbox_create_waiting(
            sizeof(T), senders, capacity, static_cast<int>(how), &made));
        inbox_.reset(made);
    }

    // Makes a sender, and returns it with its number; throws EAGAIN if all slots are taken.
    std::pair<std::size_t, sender<T>> connect() {
        syncline_sender_t* made;
        std::size_t slot;
        detail::expect(syncline_inbox_connect(inbox_.get(), &made, &slot));
        return {slot, sender<T>(made)};
    }

    // Like receiver::recv, from any sender.
    std::optional<received> recv() {
        return of(EPIPE, [&](T* message, std::size_t* slot) {
            return syncline_inbox_recv(inbox_.get(), message, slot);
        });
    }

    // Like recv, but only from senders with these numbers, which are checked in this order.
    std::optional<received> recv_from(const std::size_t* senders, std::size_t count) {
        return of(EPIPE, [&](T* message, std::size_t* slot) {
            return syncline_inbox_recvfrom(inbox_.get(), senders, count, message, slot);
        });
    }
    std::optional<received> recv_from(std::initializer_list<std::size_t> senders) {
        return recv_from(senders.begin(), senders.size());
    }

    std::optional<received> try_recv() {
        return of(EAGAIN, [&](T* message, std::size_t* slot) {
            return syncline_inbox_tryrecv(inbox_.get(), message, slot);
        });
    }

    template <class Rep, class Period>
    std::optional<received> recv_for(const std::chrono::duration<Rep, Period>& patience) {
        const timespec deadline = detail::deadline(patience);
        return of(ETIMEDOUT, [&](T* message, std::size_t* slot) {
            return syncline_inbox_timedrecv(inbox_.get(), message, slot, &deadline);
        });
    }

private:
    template <class Call>
    static std::optional<received> of(int refusal, Call call) {
        received result;
        if (!detail::unless(refusal, call(&result.second, &result.first))) return std::nullopt;
        return result;
    }

    detail::owned<syncline_inbox_t, syncline_inbox_destroy> inbox_;
};

// Sends functions to a server, whose thread runs them.
class client {
public:
    explicit client(syncline_client_t* made) noexcept : client_(made) {}

    // Waits until the server has run the function, and returns its result or throws its exception.
    // Throws EPIPE if the server is gone.
    template <class Function>
    auto call(Function function) {
        detail::section<Function> section(std::move(function));
        detail::expect(
            syncline_client_call(client_.get(), detail::section<Function>::run, &section));
        return section.take();
    }

private:
    detail::owned<syncline_client_t, syncline_client_destroy> client_;
};

// Runs the functions that its clients send.
class server {
public:
    explicit server(std::size_t clients) {
        syncline_server_t* made;
        detail::expect(syncline_server_create(clients, &made));
        server_.reset(made);
    }

    // Throws EAGAIN if the server has as many clients as it was made for.
    syncline::client connect() {
        syncline_client_t* made;
        detail::expect(syncline_server_connect(server_.get(), &made));
        return syncline::client(made);
    }

    // Serves until all clients are gone.
    void run() { detail::expect(syncline_server_run(server_.get())); }

private:
    detail::owned<syncline_server_t, syncline_server_destroy> server_;
};

} // namespace syncline

#endif // SYNCLINE_CHANNELS_HPP
