/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node tells about itself and its calls: plain structs, filled at the
 * moment of asking. Texts without a size of their own are static. Types only;
 * the functions are in node/node.h.
 */
#ifndef NODE_INFO_H
#define NODE_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/sched.h"
#include "engine/contract.h"
#include "engine/live.h"
#include "media/counters.h"
#include "media/endpoint.h"
#include "node/interfaces.h"
#include "observe/histogram.h"
#include "recovery/recovery.h"
#include "sdp/fmtp.h"

struct node_stream;

/*
 * What can be promised about a call, given the calls that there are now: how
 * late its frames can be, and the play-out buffer that makes up for it. The
 * policy tells one of these:
 *
 *   lateness  no frame is later than this
 *   servers   soft calls have a budget each: the bound is that of
 *             analysis/hsb.h, with the servers that the policy tells
 *   nothing   no bound, and why
 */
/** A promise. Times in ns. */
struct bound {
	const char *rule; /**< what says so; NULL: nothing is promised ... */
	const char *why; /**< ... because                                     */
	double tardiness; /**< behind the end of its server's period */
	double lateness; /**< behind a frame's deadline                       */
	double frames;	 /**< queue for what is late: equation (4), >= 1      */
	double buffer;	 /**< from a frame's arrival to when it is there      */
	double cost;	 /**< of frames that it is about; 0: of all           */
};

#define NODE_SPEC_MAX 320u
#define NODE_ADDRESS_MAX 64u
#define NODE_POLICY_MAX 16u
#define NODE_RECEIVERS_MAX 64u

/* --- calls --- */

struct node_side_info {
	const char *codec, *mode;
	unsigned pt, rate; /**< RTP payload type; Hz */
	struct fmtp_amr amr;
	bool dtx;
	cr_ns ptime; /**< of packets that are sent; 0: as they come */
};

/** Load of a stream in admission: share of a CPU, CPU time of a packet. */
struct node_admitted {
	double load;
	cr_ns cost; /**< that its class counts by */
	cr_ns mean, p99, worst;
};

/** Of a stream; and sums of those that can be added. */
struct node_stream_counts {
	union {
		unsigned long long all[STREAM_NCOUNTERS];
		struct {
#define NODE_COUNT(name, ...) unsigned long long name;
			STREAM_COUNTERS(NODE_COUNT)
#undef NODE_COUNT
		};
	};
};

/** RTCP of a stream: of the endpoint that hears it, and of the one that speaks.
 */
struct node_rtcp_info {
	const struct endpoint_rtcp_info *is; /**< NULL: there is none */
	struct endpoint_rtcp_info leads;     /**< where it leads      */
};

struct node_stream_info {
	uint32_t id;
	uint32_t call; /**< that has it */
	bool relay;    /**< no codec: what only a task has is 0 or NULL */
	struct task_terms terms; /**< as asked for */
	cr_ns age, ptime;
	cr_ns max_age; /**< at which a frame gets too old; 0: none does */
	struct node_admitted admitted;
	unsigned cmr_over;    /**< modes asked for beyond the capacity     */
	char transcoding[96]; /**< "pcmu>amr/12.2@20ms": whose cost it has */
	struct node_side_info in, out;
	char rtp[NODE_ADDRESS_MAX]; /**< where its packets go to */
	const char *interface; /**< of its own port; NULL: the shared one */
	const char *label;     /**< of its call, which has it; or NULL */
	struct sockaddr_storage to; /**< where it sends          */
	uint32_t ssrc, out_ssrc;
	char unknown[PAYLOAD_UNKNOWN_TEXT]; /**< types that nobody agreed on */
	unsigned waiting;		    /**< frames */
	uint64_t bytes; /**< of memory, without the codecs' own */
	struct node_stream_counts count;
	unsigned long long lost; /**< frames, for want of time */
	const char *scheduler;
	struct cr_kv policy[NODE_POLICY_MAX]; /**< its numbers for the stream */
	unsigned npolicy;
	cr_ns now;     /**< the node's clock */
	uint32_t pair; /**< id of the other direction's stream, or 0 */
	struct bound bound;
	/** @bound of this struct, which is not to be copied; NULL: nothing is.
	 */
	const struct bound *promised;
	struct node_rtcp_info rtcp;
};

/** The order of streams, see node_top(). */
enum node_top_key {
	NODE_TOP_LOSS,
	NODE_TOP_MISSING,
	NODE_TOP_COST,
	NODE_TOP_DELAY
};
#define NODE_TOP_NAMES "loss", "missing", "cost", "delay", NULL

/** The recent counts of a stream, per second. */
struct node_top_rates {
	double in, late; /**< packets that came, frames sent late    */
	double lost;	 /**< frames, for want of time               */
	double missing;	 /**< packets that never came, or were dropped */
	double load;	 /**< CPUs                                   */
	cr_ns delay;	 /**< from arrival to sending, on average    */
};

/** The answer to the client that starts a call. */
struct node_stream_place {
	uint32_t id;
	char rtp[NODE_ADDRESS_MAX]; /**< where to send */
	uint32_t ssrc_in, ssrc_out;
	unsigned pt_in, pt_out;
	uint32_t ts_base; /**< output timestamp of the first input packet */
	unsigned clock_in, clock_out; /**< of RTP timestamps, Hz */
	double load;
	struct bound bound;
	/** @bound of this struct, which is not to be copied; NULL: nothing is.
	 */
	const struct bound *promised;
};

/* --- conversions --- */

struct node_conversion_info {
	uint32_t id;
	const char *state;     /**< "waiting" */
	const char *in, *out;  /**< borrowed from the conversion */
	char from[32], to[32]; /**< "wav/16000", "amr/12.2" */
	unsigned long long frames;
	double progress; /**< 0..1, of the input */
	cr_ns age, running;
	const char *why; /**< it failed; or "". Borrowed as above */
};

/* --- the node --- */

/** How often a policy broke its contract, and what it did last. */
struct node_faults {
	uint64_t count;
	char last[512];
};

/** See recovery/recovery.h. */
struct node_watch_info {
	struct recovery_counts found;
	uint64_t returned; /**< streams */
	char last[256];	   /**< finding, as text */
};

/** One of the receivers, or all. */
struct node_receiver_info {
#define NODE_COUNT(name, ...) unsigned long long name;
	PACKET_COUNTERS(NODE_COUNT)
#undef NODE_COUNT
	const char *io; /**< "uring" or "epoll" */
	cr_ns cpu;
	unsigned streams; /**< that are with it */
};

/** Sums of RTCP of all endpoints, past ones included. */
struct node_rtcp_stats {
	uint64_t sent;	  /**< packets */
	uint64_t reports; /**< of far sides, on what the node sends */
	double lost;	  /**< the shares that were lost, by these, added up */
	struct histogram_summary round_trip, jitter;
};

/** An endpoint, what it has learned of its party, and what was said of it. */
struct node_endpoint_info {
	uint32_t id;
	const char *interface;
	char address[NODE_ADDRESS_MAX]; /**< where the party sends to */
	struct sockaddr_storage to; /**< where it is; no family: not known */
	bool hold;		    /**< it is sent nothing, though */
	unsigned long long packets; /**< of the party */
	/** Packets that were not taken for its own, and why. */
	unsigned long long wrong_source, wrong_ssrc, probation;
	unsigned long long ssrc_changes, address_changes;
	char unknown[PAYLOAD_UNKNOWN_TEXT]; /**< types that nobody agreed on */
	struct node_rtcp_info rtcp;	    /**< of its endpoint */
	uint32_t call;			    /**< that has it, or 0 */
	const char *codec, *mode;	    /**< NULL: not said */
	/** Of what it is sent: asked for; from node_call_party() as it is.
	 * 0: not said, as it comes. */
	cr_ns ptime;
	cr_ns in_ptime; /**< declared, of what it sends; 0: not said    */
	/* from node_call_party() only */
	uint32_t stream;   /**< the one from it */
	uint8_t pt;	   /**< of what it sends and receives */
	uint32_t out_ssrc; /**< of what it is sent */
};

/** An address for calls with ports of their own, and these ports, in pairs. */
struct node_interface_info {
	const char *name;
	char address[NODE_ADDRESS_MAX]; /**< without a port             */
	char advertised[NODE_ADDRESS_MAX];
	unsigned ports;	      /**< in the range; 0: there is none     */
	unsigned used;	      /**< by calls                           */
	unsigned available;   /**< in the range and not used          */
	uint64_t passed_over; /**< other programs had them            */
};

/** Codecs that are counted. */
enum { NODE_CODECS_MAX = 32 };

/** How many streams receive a codec, and send it. */
struct node_codec_streams {
	const char *name;
	unsigned from, to;
};

struct node_stats {
	cr_ns uptime, started_utc;     /**< CLOCK_REALTIME */
	char scheduler[NODE_SPEC_MAX]; /**< "rr,quantum=2ms" */
	struct node_faults faults;
	struct node_watch_info watchdog;
	unsigned calls, streams, relays; /**< relays: of the streams */
	uint64_t calls_started, calls_refused;
	unsigned queued;		   /**< tasks that the scheduler has */
	double load, measured_load, bound; /**< 1: one CPU */
	cr_ns cpu;			   /**< of the process */
	struct node_stream_counts totals;  /**< STREAM_SUMS */
	unsigned long long lost;	   /**< frames, for want of time */
	struct node_receiver_info rx;	   /**< sums of the receivers */
	struct node_receiver_info receivers[NODE_RECEIVERS_MAX];
	unsigned nreceivers;
	struct node_interface_info interfaces[INTERFACES_MAX];
	unsigned ninterfaces;
	struct node_codec_streams codecs[NODE_CODECS_MAX];
	unsigned ncodecs;
	struct live_worker_stats workers[CR_MAX_CPUS];
	unsigned nworkers;
	struct histogram_summary delay, jitter;
	struct node_rtcp_stats rtcp;
};

/** Threads that do the same on CPUs of one cache. */
struct node_place_info {
	const char *role; /**< "receiver", "worker", "streams", "control" */
	unsigned threads; /**< of "streams", which have one each, 0 */
	char cpus[1024];  /**< "0,2-7"                          */
	int cache;	  /**< that these share; -1: not told   */
	int run_queue;	  /**< of workers; others: -1           */
};

struct node_capacity {
	uint64_t descriptors; /**< the process may have */
	unsigned workers;
	double bound, used, free; /**< 1: one CPU */
	unsigned calls, max_calls;
	bool admission;
};

/** The cost of a packet of one kind of transcoding. */
struct node_cost_info {
	char transcoding[96];
	unsigned streams; /**< running now */
	cr_ns mean, p99;
	double stddev;	    /**< ns */
	const char *source; /**< of these: "measured", "learned" */
	cr_ns measured;	    /**< mean, when it was asked for first */
	uint64_t learned_frames;
	double streams_per_core;
};

#define RECORD_TIME_MAX 32u

/** The name of a node, with its NUL. */
#define RECORD_NODE_MAX 65u
#define RECORD_ID_MAX (RECORD_NODE_MAX + 32u)

/** Counters of packets from the network. */
struct record_heard {
	const char *source; /**< address; NULL: nothing came     */
	char source_is[NODE_ADDRESS_MAX]; /**< where it leads */
	uint32_t ssrc;			  /**< the last one; 0: none      */
	/** At a port of its own; else there are none. */
	unsigned long long ssrc_changes, address_changes;
	unsigned long long expected; /**< by sequence numbers             */
	unsigned long long lost;     /**< of them, never came             */
	cr_ns jitter;		     /**< RFC 3550, at the end            */
};

/** From arrival to sending; see observe/histogram.h. */
struct record_delay {
	uint64_t count; /**< frames */
	cr_ns p50, p99, max;
};

/** Packets that a listener should have had, and @lost of them that it lacks. */
struct record_loss {
	unsigned long long lost, expected;
};

/** By the E-model, see observe/g107.h. */
struct record_quality {
	double r, mos;
	bool wideband;
	double loss; /**< 0..1, random */
	cr_ns delay; /**< that was assumed */
};

/** One direction. */
struct record_stream {
	struct node_stream_info info;
	const struct record_heard *heard; /**< NULL: a thread has it */
	struct record_delay delay;
	const struct record_quality *quality; /**< NULL: no published value */

	struct record_heard heard_is; /**< where the pointers lead */
	struct record_quality quality_is;
};

/** Record of a call, at its end or so far. The streams of a call share one. */
struct node_record {
	char id[RECORD_ID_MAX]; /**< no other call of any node has it */
	const char *type;	/**< "end" or "interim" */
	const char *node;
	uint32_t call;		    /**< its first stream's id */
	uint32_t pair;		    /**< of that: the call it was paired with */
	const char *label, *tag[2]; /**< or NULL */
	unsigned line;		    /**< of a description; 0: of none */
	char start[RECORD_TIME_MAX], end[RECORD_TIME_MAX]; /**< UTC */
	cr_ns duration;
	/** Why it ended, on whose word, and where that one is. NULL: it goes
	 * on; or nobody is. */
	const char *why, *by, *peer;
	struct record_stream stream[2]; /**< from party 0, and back */
	unsigned nstreams;

	char peer_is[NODE_ADDRESS_MAX];
};

#endif
