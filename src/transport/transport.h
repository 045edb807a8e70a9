/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes: one small interface, three ways behind it.
 *
 * sctp_kernel.c speaks kernel SCTP through libsctp, sctp_user.c
 * usrsctp over UDP (RFC 6951). <netinet/sctp.h> and <usrsctp.h> clash, so the
 * two files share nothing but this header. unix_socket.c carries messages as
 * lines over a Unix socket; there a connection is the association.
 *
 * Thread rule: a transport belongs to its event base's thread. usrsctp keeps
 * one state per process, so all user transports of a process must live on one
 * thread (several on it are fine), and a process that forks does so before its
 * first user transport opens.
 */
#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cr/error.h"
#include "cr/time.h"

/** Defaults of the programs. */
#define TRANSPORT_SCTP_PORT 5555
#define TRANSPORT_UDP_PORT 9899

/** Time that an SCTP peer may be silent before it counts as lost: the default,
 * which lets it stall for half a minute, and the bounds. */
#define TRANSPORT_PEER_TIMEOUT (40 * CR_SEC)
#define TRANSPORT_PEER_TIMEOUT_MIN (2 * CR_SEC)
#define TRANSPORT_PEER_TIMEOUT_MAX (3600 * CR_SEC)

/** Largest message, bytes. Both stacks take a message whole or not at all, so
 * it must fit their send buffers; see transport_message_max(). */
#define TRANSPORT_MESSAGE_MAX ((size_t)4 << 20)

enum transport_kind {
	TRANSPORT_AUTO, /**< SCTP: the kernel's, else usrsctp */
	TRANSPORT_KERNEL,
	TRANSPORT_USER,
	TRANSPORT_UNIX
};

/** Names of those that are SCTP, NULL-terminated, for option tables. */
extern const char *const transport_kind_names[];

/** An address to listen at or connect to. */
struct transport_addr {
	char host[64];	    /**< numeric or name; "127.0.0.1", "::1"          */
	uint16_t sctp_port; /**< SCTP port                                    */
	uint16_t udp_port;  /**< UDP encapsulation port of the server (9899)  */
	char path[108];	    /**< of a Unix socket; "": SCTP                   */
};

/** Longest path of a Unix socket, bytes. */
#define TRANSPORT_PATH_MAX (sizeof(((struct transport_addr *)0)->path) - 1)

/** Read "HOST", "HOST:PORT" or "[IPV6]:PORT" into @a's host and SCTP port
 * (TRANSPORT_SCTP_PORT when none is given), or "unix:PATH" into its path. 0,
 * -EINVAL (no host, or too long; no path), -ERANGE (the port is not 1..65535),
 * or -ENAMETOOLONG (the path has more than TRANSPORT_PATH_MAX). Any thread. */
int transport_addr_parse(struct transport_addr *a, const char *text);

/** Make @path that of @a. 0, -EINVAL (empty) or -ENAMETOOLONG. Any thread. */
int transport_addr_unix(struct transport_addr *a, const char *path);

enum transport_event_kind {
	TRANSPORT_UP,	      /**< association ready; @peer is set         */
	TRANSPORT_DATA,	      /**< a message or the next part of it        */
	TRANSPORT_ROOM,	      /**< sends were refused; try them again      */
	TRANSPORT_DONE,	      /**< the peer sends no more, but still reads */
	TRANSPORT_RESTART,    /**< the peer began anew, same association   */
	TRANSPORT_SHUTDOWN,   /**< closed gracefully, by either side       */
	TRANSPORT_LOST,	      /**< died or was aborted; @reason is set     */
	TRANSPORT_CANT_START, /**< connect failed; @reason is set          */
};

/** An event. All pointers are borrowed for the callback's time. */
struct transport_event {
	enum transport_event_kind kind;
	uint32_t assoc;	    /**< not for ROOM and CANT_START            */
	const char *peer;   /**< UP, RESTART: "127.0.0.1:40100", or
				 "unix:pid=4711,uid=1000"               */
	const char *reason; /**< LOST, CANT_START: for a person         */
	const void *data;   /**< DATA                                   */
	size_t bytes;	    /**< DATA                                   */
	bool end;	    /**< DATA: the message is complete          */
};

typedef void transport_event_fn(void *arg, const struct transport_event *ev);

struct notify;
struct transport;

struct transport_config {
	struct event_base *base;
	enum transport_kind kind;
	/** Bound exactly. Empty host: chosen at connect (never any address).
	 * Port 0: chosen; an SCTP port is needed to listen. A Unix socket
	 * listens at the path; a client needs nothing. */
	struct transport_addr local;
	/** A peer that is silent for longer is LOST; 0:
	 * TRANSPORT_PEER_TIMEOUT. Time in which this process was stopped does
	 * not count. A Unix socket needs none: the system shows at once when
	 * a peer has gone, and one that is stopped has not. */
	cr_ns peer_timeout;
	/** Holds its listening socket, and may have that of a former process;
	 * NULL: nobody does. The kernel's SCTP has peers at that, and is not
	 * held. */
	struct notify *store;
	void *arg;
	transport_event_fn *event;
};

/** Open a transport; no traffic yet. TRANSPORT_AUTO takes the kernel's SCTP
 * where there is one, else usrsctp. Returns 0 or -errno with @e. */
int transport_open(struct transport **t, const struct transport_config *cfg,
		   struct cr_err *e);

/** Accept associations at cfg.local. Returns 0 or -errno with @e. */
int transport_listen(struct transport *t, struct cr_err *e);

/**
 * Begin an association; UP or CANT_START follows. The kernel back-end puts
 * SCTP into UDP towards to->udp_port when the port is not 0 and this host has
 * net.sctp.udp_port set (else it could not receive the answers).
 * Returns 0 or -errno with @e.
 */
int transport_connect(struct transport *t, const struct transport_addr *to,
		      struct cr_err *e);

/** Queue one whole message. Returns 0; -EAGAIN: nothing was taken, ROOM will
 * follow; -EMSGSIZE; -ENOTCONN and the like: the association is going. */
int transport_send(struct transport *t, uint32_t assoc, const void *data,
		   size_t bytes);

/** Kill an association at once (ABORT). The caller should forget @assoc: a
 * LOST may still follow. */
void transport_abort(struct transport *t, uint32_t assoc);

/** Close an association gracefully after what is queued; SHUTDOWN or LOST
 * follows. Returns 0 or -errno. */
int transport_shutdown(struct transport *t, uint32_t assoc);

/** Read nothing of an association while @held, so that its peer has to wait. A
 * message or parts of it may still come; that the peer is gone may be noticed
 * only afterwards. SCTP has one socket for all and does nothing. */
void transport_hold(struct transport *t, uint32_t assoc, bool held);

/** Octets of messages taken that a Unix socket's connection still keeps, as
 * its peer does not read; 0 of SCTP, whose stacks have bounds of their own. */
size_t transport_queued(struct transport *t, uint32_t assoc);

/** The connection of an association, for another process to go on with; -1: it
 * has none of its own, or is not between two messages. */
int transport_connection(struct transport *t, uint32_t assoc);

/** Go on with @fd, transport_connection() of another process: UP comes before
 * this returns. 0; or -errno with @fd closed. */
int transport_adopt(struct transport *t, int fd);

/** Address in use: ports chosen by port 0 filled in. */
void transport_local(const struct transport *t, struct transport_addr *addr);

/** Longest message that transport_send() takes. TRANSPORT_MESSAGE_MAX, but
 * less for the kernel back-end when net.core.wmem_max is small (Debian: 416
 * KiB) and the process has no CAP_NET_ADMIN. */
size_t transport_message_max(const struct transport *t);

/** Is it noticed at once that a peer has gone? Of a Unix socket, where each has
 * a connection, and so a descriptor, of its own. */
bool transport_sees_ends(const struct transport *t);

/** "kernel", "user" or "unix". */
const char *transport_name(const struct transport *t);

/** Abort what is left and free. No event follows; may be called from the
 * event callback. NULL is fine. */
void transport_close(struct transport *t);

/* --- messages between JSON-RPC and a transport: a stream's lines, parts put
 * together on the way in, messages kept on the way out while the transport
 * refuses them --- */

/** Octets of one line; @end: its last ones. */
struct line_part {
	const char *data;
	size_t bytes;
	bool end;
};

/**
 * Take the next part of the @left octets at @*at, and move both past it.
 * @begun belongs to the stream: its line has begun already; zero at first.
 * Line feeds are not part of lines, and empty lines are skipped; the last part
 * of a line that came earlier may be empty. False: nothing is left.
 */
bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part);

/** A message that comes in parts. Zero is empty. */
struct inbox {
	char *data;
	size_t bytes, size;
	bool too_long; /**< until its end has come */
};

/**
 * Add the part in @ev. Returns 1: *@text, *@bytes is a whole message, valid
 * until the next call or @ev ends; 0: more is to come; -EMSGSIZE: a message
 * longer than @max has ended and was dropped; -ENOMEM likewise.
 */
int inbox_add(struct inbox *in, const struct transport_event *ev, size_t max,
	      const char **text, size_t *bytes);
void inbox_free(struct inbox *in);

struct outmsg {
	STAILQ_ENTRY(outmsg) next;
	size_t bytes;
	char data[];
};

/** Messages waiting for room. Set up by outbox_init(). */
struct outbox {
	STAILQ_HEAD(, outmsg) waiting;
	size_t bytes; /**< of the waiting messages */
};

void outbox_init(struct outbox *out);
void outbox_free(struct outbox *out);
bool outbox_empty(const struct outbox *out);

/** Send @text now, or keep it. The owner looks at out->bytes for the bound.
 * Returns 0 or -errno: the message is dropped. */
int outbox_send(struct outbox *out, struct transport *t, uint32_t assoc,
		const char *text, size_t bytes);

/** Keep @text for a later outbox_flush(). Returns 0 or -ENOMEM. */
int outbox_keep(struct outbox *out, const char *text, size_t bytes);

/** Send what waits. Returns 0: all gone; -EAGAIN: ROOM will follow; or
 * another -errno: all is dropped, the association is going. */
int outbox_flush(struct outbox *out, struct transport *t, uint32_t assoc);

#endif
