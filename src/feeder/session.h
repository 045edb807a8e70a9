/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign played against a daemon: speech encoded, calls started over SCTP,
 * packets paced and received, calls stopped, everything counted. Prints
 * nothing; progress goes to a callback.
 *
 * Main thread only.
 */
#ifndef FEEDER_SESSION_H
#define FEEDER_SESSION_H

#include "campaign/plan.h"
#include "transport/transport.h"
#include "feeder/conversion_requests.h"
#include "feeder/pacer.h"
#include "udp/io.h"

/* --- what a run came to: sums over calls, once pacer and receiver have
 * stopped --- */

/** Counts of one flow, or of all; name, help. */
#define TALLY_COUNTS(X)                                                        \
	X(planned, "streams of the plan")                                      \
	X(admitted, "streams the daemon accepted")                             \
	X(refused, "streams it refused")                                       \
	X(sent, "frames sent, copies not counted")                             \
	X(withheld, "frames the network model lost")                           \
	X(copies, "frames the network model sent twice")                       \
	X(missed, "frames not sent because the set-up took too long")          \
	X(expected, "frames that should have come back")                       \
	X(received, "frames that came back")                                   \
	X(lost, "frames that did not")                                         \
	X(late, "frames behind their deadline")                                \
	X(duplicates, "frames that came more than once")                       \
	X(reordered, "frames behind a newer one")                              \
	X(unmatched, "packets that answer no frame under way")                 \
	X(digits_sent, "digits dialled of which a packet was sent")            \
	X(digits_right, "of these: came once, in order, as long as they were") \
	X(faults, "faults in the balance of two-way calls")                    \
	X(octets_sent, "payload octets sent")                                  \
	X(octets_received, "payload octets received")

/** 31 KiB: two histograms. */
struct tally {
#define TALLY_MEMBER(name, help) uint64_t name;
	TALLY_COUNTS(TALLY_MEMBER)
#undef TALLY_MEMBER
	struct histogram delay, jitter;
};

/* --- the run --- */

/** How it goes, every 10 ms or so. */
struct session_progress {
	const char *phase;    /**< "encoding speech: segments"       */
	unsigned done, total; /**< of what the phase says; 0: calling  */
	unsigned up, refused; /**< streams                             */
	uint64_t sent, received, lost;
	cr_ns left; /**< until the campaign ends */
};

struct session_cfg {
	const struct campaign *campaign;
	struct transport_addr to; /**< of .ng: the host alone               */
	const char *ng;	  /**< "ADDR:PORT" of a media proxy that is driven by
			       NG; NULL: a codec-runner at .to              */
	const char *peer; /**< what that is called; NULL: .ng              */
	enum transport_kind kind;
	const char *key;    /**< the daemon's, of SCTP; "": none to show */
	cr_ns peer_timeout; /**< silence of the daemon that is its loss */
	uint64_t seed;
	cr_ns duration;
	int64_t scale_ppm;	/**< counts and loads times this            */
	const uint64_t *counts; /**< [flow_count] overrides; 0: the file's  */
	int cpu;		/**< pin pacer and receiver; -1: no         */
	enum campaign_ports ports, daemon_ports; /**< our end, its end      */
	enum udp_io io;	     /**< how packets come and go                */
	bool dump;	     /**< keep what is received                  */
	unsigned dump_calls; /**< of each flow; 0: all              */
	cr_ns playout;	     /**< but not what comes later; 0: all       */
	bool times;	     /**< keep when frames went and came         */
	bool bye;	     /**< say it at the end                      */
	const char *trace;   /**< name in the daemon's trace folder, or NULL  */
	const char *spool;   /**< its spool folder; if there are conversions  */
	void (*progress)(void *arg, const struct session_progress *p);
	/** Not NULL: lines of standard input say how many speak (speakers.h),
	 * and this is called when one holds. */
	void (*speakers)(void *arg, cr_ns now, const char *line);
	void *arg;
};

struct session;

/** Results of a finished session; owned by it. */
struct session_result {
	const struct plan *plan;
	const struct feeder_stream *streams; /**< [plan->count] */
	const struct feeder_call *calls;     /**< [ncalls] */
	size_t ncalls;
	const struct tally *flows, *total;
	const uint64_t *counts; /**< [flow_count] calls planned per flow  */
	const struct conversions *conversions; /**< NULL: none            */
	json_t *hello, *stats; /**< the daemon's words; NULL: none       */
	struct pacer_stats pacer;
	struct receiver_stats receiver;
	uint64_t drops;		/**< packets that our sockets had no room for */
	cr_ns cpu;		/**< of this process while calls were up      */
	int64_t epoch_realtime; /**< CLOCK_REALTIME of the plan's zero, ns  */
	bool interrupted;	/**< by a signal */
	char refusal[256];	/**< first reason for a refused call, or ""   */
};

/** Can those who are called play @cfg's campaign? 0, or -ENOTSUP with @e. */
int session_check(const struct session_cfg *cfg, struct cr_err *e);

/** Connect and encode. 0 and *@s, or -errno with @e. */
int session_open(struct session **s, const struct session_cfg *cfg,
		 struct cr_err *e);

/** Put the number of calls of each flow into @counts [flow_count], by the load
 * that the daemon at cfg->to reports; nothing is played. 0, or -errno with @e.
 */
int session_counts(const struct session_cfg *cfg, uint64_t *counts,
		   struct cr_err *e);

/** Play the campaign. 0, or -errno with @e (daemon lost or unfit); a result is
 * there in either case. SIGINT and SIGTERM end it early, with 0. */
int session_play(struct session *s, struct cr_err *e);

void session_result(struct session *s, struct session_result *out);

void session_close(struct session *s); /**< NULL is fine */

#endif
