/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a back-end, and the parts of all of them: associations, the
 * owner's callback, timing and addresses. Private to src/transport.
 */
#ifndef TRANSPORT_OPS_H
#define TRANSPORT_OPS_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "cr/time.h"
#include "transport/transport.h"

/** One association that is up: first member of a back-end's own. */
struct transport_assoc {
	uint32_t id;
	LIST_ENTRY(transport_assoc) chain;
};

LIST_HEAD(transport_chain, transport_assoc);

/** One way to carry messages. The functions are those of transport.h. */
struct transport_ops {
	const char *name;
	bool sees_ends; /**< the system shows when a peer has gone */
	int (*open)(struct transport **t, const struct transport_config *cfg,
		    struct cr_err *e);
	int (*listen)(struct transport *t, struct cr_err *e);
	int (*connect)(struct transport *t, const struct transport_addr *to,
		       struct cr_err *e);
	int (*send)(struct transport *t, uint32_t assoc, const void *data,
		    size_t bytes);
	void (*abort)(struct transport *t, uint32_t assoc);
	int (*shutdown)(struct transport *t, uint32_t assoc);
	/** NULL: it cannot */
	void (*hold)(struct transport *t, uint32_t assoc, bool held);
	/** NULL: nothing of this process */
	size_t (*queued)(struct transport *t, uint32_t assoc);
	/** NULL: it has none */
	int (*connection)(struct transport *t, uint32_t assoc);
	int (*adopt)(struct transport *t, int fd);
	size_t (*message_max)(const struct transport *t);
	void (*local)(const struct transport *t, struct transport_addr *addr);
	void (*close)(struct transport *t);

	/* of SCTP */
	/** @id came up, or began anew (@a); its peer's name into @peer. NULL:
	 * it cannot be kept. */
	struct transport_assoc *(*up)(struct transport *t, uint32_t id,
				      struct transport_assoc *a, char *peer,
				      size_t size);
	/** @a is about to be freed. May be NULL. */
	void (*down)(struct transport_assoc *a);
	/** When its peer was last heard, by the back-end's time. */
	cr_ns (*heard)(struct transport *t, struct transport_assoc *a);
};

enum { ASSOC_BUCKETS = 256 };

/** First member of each back-end's struct. */
struct transport {
	const struct transport_ops *ops;
	struct transport_config cfg;
	struct transport_chain assocs[ASSOC_BUCKETS];
	unsigned busy;	 /**< in callbacks: it is not freed      */
	bool closed;	 /**< there: freed afterwards, says nothing */
	bool refused;	 /**< a send got -EAGAIN: say ROOM       */
	bool connecting; /**< neither UP nor CANT_START so far   */
	bool failed;	 /**< CANT_START was said                */
};

/** Around every callback of libevent. The second may free @t. */
static inline void transport_enter(struct transport *t)
{
	t->busy++;
}
void transport_leave(struct transport *t);

/** Notify the owner, unless it has closed @t. */
void transport_say(struct transport *t, const struct transport_event *ev);

/** Say ROOM if a send was refused. */
void transport_say_room(struct transport *t);

/** Say that connecting has failed, if it has not ended otherwise. */
void transport_cant_start(struct transport *t, const char *reason);

/** The association @id, or NULL. */
struct transport_assoc *transport_find(struct transport *t, uint32_t id);
void transport_add(struct transport *t, struct transport_assoc *a, uint32_t id);

/** Forget all associations, silently. */
void transport_forget_all(struct transport *t);

/* The common part of the two SCTP stacks. */

/** The stack reports @what of @id; @refused: by the peer, not for want of an
 * answer. */
void sctp_change(struct transport *t, uint32_t id,
		 enum transport_event_kind what, bool refused);

/** A message of @ev->assoc, or a part of one, has come. */
void sctp_data(struct transport *t, struct transport_event *ev);

/** Abort what was not heard since @earliest: it is lost. */
void sctp_drop_silent(struct transport *t, cr_ns earliest);

extern const struct transport_ops transport_kernel_ops;
extern const struct transport_ops transport_user_ops;
extern const struct transport_ops transport_unix_ops;

/** Time that passes while this process runs. The time from one look to the next
 * counts as @step at most: a process that was stopped for a minute has not
 * listened in that minute, so its peers were not silent. Zero is a valid
 * initial state. */
struct awake {
	cr_ns now;    /**< 0 at the first look */
	cr_ns looked; /**< clock of the last look; 0: none */
};

/** Look at the clock, which says @clock. Returns awake->now. */
static inline cr_ns awake_look(struct awake *a, cr_ns clock, cr_ns step)
{
	if (a->looked)
		a->now += cr_ns_min(cr_ns_max(clock - a->looked, 0), step);
	a->looked = clock;
	return a->now;
}

/** Settings for a peer that may be silent for some time. */
struct silence {
	cr_ns limit;		  /**< longer is a loss                       */
	unsigned heartbeat_ms;	  /**< a living peer is heard this often      */
	uint16_t retransmissions; /**< enough that they outlast the limit   */
};

/** The settings for @limit; 0: TRANSPORT_PEER_TIMEOUT. Shorter or longer than
 * TRANSPORT_PEER_TIMEOUT_MIN and _MAX is brought to these. Any thread. */
struct silence silence_for(cr_ns limit);

/**
 * Times that do not follow from the silence that a peer is allowed.
 * After a stall the next try comes within TIMING_RTO_MAX_MS.
 */
enum transport_timing {
	TIMING_RTO_INITIAL_MS = 1000,
	TIMING_RTO_MIN_MS = 200,
	TIMING_RTO_MAX_MS = 2000,
	TIMING_INIT_TRIES = 3, /* with the first, about 4 s */
	TIMING_RETRY_MS = 10,  /* of what the kernel could not take */
	TIMING_TICK_MS = 40    /* a fifth of the shortest time-out */
};

/** The SCTP payload protocol identifier of our messages: "JRPC". Receivers do
 * not look at it; it names the protocol in a capture. */
#define MSG_PPID UINT32_C(0x4a525043)

/** Streams asked for each way; one is used, the rest is for later versions. */
enum { TRANSPORT_STREAMS = 4 };

/** An IPv4 or IPv6 address of the kernel's. */
struct address {
	struct sockaddr_storage sa;
	socklen_t len;
};

/** Resolve @host to one address with @port. Returns 0 or -EINVAL with @e. */
int peer_address_resolve(struct address *a, const char *host, uint16_t port,
			 struct cr_err *e);

/** The local address from which @t reaches @to: the configured one, or else the
 * one that this host chooses; @port. Returns 0 or -errno with @e. */
int transport_address_towards(const struct transport *t, struct address *a,
			      const struct address *to, uint16_t port,
			      struct cr_err *e);

/** "127.0.0.1:40100", "[::1]:40100", into @buf. */
void peer_address_text(const struct address *a, char *buf, size_t size);

/** "127.0.0.1", "::1", into @buf. */
void peer_address_host(const struct address *a, char *buf, size_t size);

/* --- the file of a listening Unix socket --- */

/** Its owner and its group may connect, nobody else. */
enum { UNIX_FILE_MODE = 0660 };

/** A file that we made. Zero: none. */
struct unix_file {
	dev_t device;
	ino_t inode;
};

/** @path as an address. Returns 0, or -ENAMETOOLONG or -EINVAL (empty) with
 * @e. */
int unix_address(struct sockaddr_un *to, const char *path, struct cr_err *e);

/**
 * Bind @fd to @path and listen, with UNIX_FILE_MODE from its first moment on.
 * A socket that nobody listens at any more is replaced. Returns 0 and @mine;
 * -EADDRINUSE: somebody listens there; -EEXIST: what is there is not a socket;
 * or another -errno; with @e.
 */
int unix_file_listen(int fd, const char *path, struct unix_file *mine,
		     struct cr_err *e);

/** Remove the file at @path if it is still @mine. */
void unix_file_remove(const char *path, const struct unix_file *mine);

#endif
