/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transcoding node: engine, receivers, calls, costs and trace wired
 * together. It speaks no protocol: methods.c (JSON-RPC) is one of its users,
 * tests and benchmarks are others.
 *
 * Thread rule: everything here belongs to the event base's thread ("control").
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include <event2/event.h>
#include <sys/queue.h>

#include "convert/converter.h"
#include "media/rtp_stream.h"
#include "observe/histogram.h"
#include "observe/trace_writer.h"
#include "node/info.h"
#include "node/interfaces.h"
#include "udp/io.h"

struct call_spec;
struct node;
struct notify;
struct state_memory;
struct topology;

/** Why a call ended; shown to people. */
enum node_end {
	NODE_END_STOPPED, /**< requested */
	NODE_END_LOST,	  /**< its association was lost, grace is over */
	NODE_END_BYE,	  /**< its owner said bye                      */
	NODE_END_DRAINED, /**< the node stopped                        */
	NODE_END_HUNG,	  /**< its worker does not come back from it   */
	NODE_END_SILENT,  /**< no packet came for too long             */
	NODE_END_CRASHED, /**< the process died in it, twice           */
	NODE_END_MOVED	  /**< another node goes on with it            */
};
#define NODE_END_NAMES                                                         \
	"stopped", "lost", "bye", "drained", "hung", "silent", "crashed",      \
		"moved", NULL

const char *node_end_name(enum node_end why);

/** On whose word a call ends; shown to people. */
enum node_by { NODE_BY_NODE, NODE_BY_CLIENT, NODE_BY_PROXY };
#define NODE_BY_NAMES "node", "client", "proxy", NULL

struct node_who {
	enum node_by by;
	const char *peer; /**< the client's or proxy's address; or NULL */
};

/** A stream; its insides are the node's. Valid until node_config.ended() has
 * returned. */
struct node_stream;

/** Conversion of files; see converter_config. */
struct node_convert {
	const char *dir; /**< the spool folder; NULL: no conversions */
	uint64_t max_bytes;
	unsigned max, running, floor;
};

struct node_config {
	struct event_base *base;
	struct sockaddr_storage rtp; /**< shared RTP socket; port 0: any      */
	/** Address to show to peers; no family: its own. */
	struct sockaddr_storage rtp_advertised;
	/** [ninterfaces] where calls with ports of their own may be; 0: at the
	 * address of @rtp. Read by node_open(). */
	const struct interface_cfg *interfaces;
	unsigned ninterfaces;
	struct port_range rtp_ports; /**< of these calls; 0: the kernel's     */
	/** The allowed destinations, or NULL: all. Borrowed. */
	const struct send_to *send_to;
	/** Which addresses are this machine's, or NULL: nobody knows any but
	 * loopback's. Borrowed. */
	const struct own_hosts *here;
	cr_ns rtcp_interval; /**< between reports of an endpoint, on average; 0:
			      * 5 s
			      */
	unsigned tos;	     /**< of packets sent, see udp/socket.h   */
	unsigned workers;    /**< 1..CR_MAX_CPUS                      */
	const unsigned *pin; /**< [workers] OS CPUs, or NULL          */
	unsigned receivers;  /**< ..NODE_RECEIVERS_MAX; 0: 1              */
	const int *rx_cpu;   /**< [receivers] OS CPUs or -1; or NULL  */
	unsigned cpus_per_rq;	 /**< 0: one run queue for all            */
	const unsigned *rq_cpus; /**< or see core_config, with nrq; or NULL */
	unsigned nrq;
	const struct topology *topology; /**< read by node_open(); or NULL   */
	bool poll, admission;
	bool realtime;	       /**< SCHED_FIFO for receivers                  */
	bool realtime_workers; /**< and, below them, for workers              */
	int64_t capacity_ppm;  /**< admission bound per worker                */
	unsigned ring_frames;  /**< per call                                  */
	cr_ns max_age;	       /**< of every class, see core_config           */
	enum core_expired expired; /**< what happens to those that do */
	struct shed_rule shed; /**< which frames are given up before that     */
	enum udp_io io;	       /**< how packets come and go                  */
	cr_ns coalesce;	       /**< see media/rx.h                            */
	bool send_each;	       /**< packets never wait for each other         */
	/** Speech that a stream may be sent at once, 0: QUOTA_BURST
	 * (struct quota). More is for those alone whose media is faster than
	 * time. */
	cr_ns quota_burst;
	unsigned trace_records; /**< per thread's ring                        */
	unsigned max_calls;
	uint64_t memory_reserve; /**< bytes of RLIMIT_AS that calls leave     */
	const char *scheduler; /**< "rr,quantum=2ms" or "./mine.so"           */
	cr_ns watchdog;	       /**< see recovery/recovery.h; 0: none */
	/** Store of descriptors that outlive the process (observe/store.h),
	 * with the state of calls if it holds any; or NULL. Borrowed. */
	struct notify *store;
	struct state_memory *state;
	/** Where the numbers of calls, streams and endpoints begin: nodes that
	 * take over from each other have others. */
	uint32_t first_id;
	bool arrives; /**< calls come from another process: node/node_move.h */
	/** @st is over: the last thread has let go of it and it is freed when
	 * this returns, or it is hung. Once for each stream. */
	void (*ended)(void *arg, struct node_stream *st);
	/** Takes the record of a call, at its end or so far
	 * (node_records_interim()). NULL: none. */
	void (*recorded)(void *arg, const struct node_record *r);
	const char *name; /**< of the node, in records */
	/** A folder for payloads in which a process has died; NULL: none. */
	const char *crash_dir;
	/** A receiver can receive no more (inlet_wait()), the log says why:
	 * time to end the node. May be NULL, and be called again. */
	void (*deaf)(void *arg);
	struct node_convert convert;
	/** @cv is over. May be NULL. */
	void (*conversion_ended)(void *arg, const struct conversion *cv);
	void *arg;
};

/** Start. 0, or -errno with @e. @warn: what was not granted, or empty. */
int node_open(struct node **n, const struct node_config *cfg,
	      struct cr_err *warn, struct cr_err *e);

/** The process has opened all that it has while it runs: connections, calls and
 * files have the other descriptors. Calls leave @kept of them to connections,
 * and beside them enough to conversions and other files, see
 * base/descriptors.h; without this they leave too few. */
void node_opened_all(struct node *n, unsigned kept);

/**
 * Go on with some members of @to, the others are not looked at: admission,
 * capacity_ppm, max_age, expired and shed.wait; of what begins later
 * ring_frames, rtcp_interval and shed.kind; max_calls, memory_reserve, and of
 * convert max, running and floor. What there is beyond new bounds stays. 0; or
 * -ENOTSUP with @e: under a scheduler of the kernel the first ones stay as they
 * are, and nothing has changed.
 */
int node_settings_change(struct node *n, const struct node_config *to,
			 struct cr_err *e);

/** End all calls and conversions and wait until they have gone, except those
 * that a stuck thread has. Runs the event base meanwhile. NULL is fine. */
void node_end_calls(struct node *n);

/**
 * End all calls, wait for them, flush the trace, stop threads, free the node.
 * Runs the event base meanwhile. NULL is fine. 0; or -EBUSY: a thread has not
 * come back from a codec, so what it may touch stays. Call this again when it
 * has, or let the process end.
 */
int node_close(struct node *n);

/** Between these two, what control does wakes each receiver once at most: for
 * who opens or closes several endpoints. Pairs may nest. */
void node_gather(struct node *n);
void node_notify(struct node *n);

/** Costs that have to be measured before a call begins, and the callback. */
struct node_cost_wait {
	/** All is known now; or @err and @why some of it cannot be measured. */
	void (*done)(void *arg, int err, const struct cr_err *why);
	void *arg;
	/* node_cost_need()'s */
	unsigned n;
	struct {
		struct pipeline_cfg media;
		cr_ns period; /**< between two packets */
	} need[2 * STREAM_CODECS_MAX];
	/* the node's */
	TAILQ_ENTRY(node_cost_wait) link;
	struct cost_job *job; /**< NULL: it is ready */
	int err;
	struct cr_err why;
};

/** Let @w need what the @count calls @cfg do, one or two, with all codecs that
 * they may have. */
void node_cost_need(struct node_cost_wait *w, const struct stream_cfg *cfg,
		    unsigned count);
/** Measure what @w needs on a thread of its own, together with all who need the
 * same; call done() from the event loop. 0 or -ENOMEM with @e. */
int node_cost_wait(struct node *n, struct node_cost_wait *w, struct cr_err *e);
/** @w, which waits, does not wait any more: done() is not called. */
void node_cost_forget(struct node *n, struct node_cost_wait *w);

/**
 * Let @st, which is not ending, go on as @to: a copy of its configuration with
 * other class, deadline, weight, nice, contract or output mode. Only with
 * @set_mode does the encoder change to that mode; otherwise it keeps what it
 * has, which a CMR may change at any time, and the books follow. No frame is
 * lost. 0; -ENOSPC (no capacity), -EINVAL (the scheduler does not take it)
 * -ENOMEM with @e, or -EAGAIN as above: nothing has changed. Where it has to
 * move to another worker, see node_scheduler_set().
 */
int node_stream_change(struct node_stream *st, const struct stream_cfg *to,
		       bool set_mode, struct cr_err *e);

uint32_t node_stream_id(const struct node_stream *st);

/** The present configuration, with the encoder's mode: to be altered for
 * node_stream_change(). */
struct stream_cfg node_stream_cfg(const struct node_stream *st);

/** Has node_call_stop() been called, and why? */
bool node_stream_ending(const struct node_stream *st);
enum node_end node_stream_why(const struct node_stream *st);

/** The call that has it. */
struct node_call *node_stream_call(const struct node_stream *st);

/** The stream with this id that is not ending, or NULL. */
struct node_stream *node_stream_find(struct node *n, uint32_t id);
/** Was the stream with this id ended as hung, and is a thread stuck in it? */
bool node_stream_hung(struct node *n, uint32_t id);
/** The first one with an id above @id, or NULL: walks in order of id. */
struct node_stream *node_stream_after(struct node *n, uint32_t id);

/** How packets come and go: UDP_IO_URING or UDP_IO_EPOLL. *@why: why it is not
 * io_uring where node_config.io did not rule that out, else "". */
enum udp_io node_io(const struct node *n, const char **why);

/** The shared RTP address, as advertised: "127.0.0.1:40000". */
void node_address(const struct node *n, char *buf, size_t size);

/** The address that this stream receives at, as advertised: "127.0.0.1:40000".
 */
void node_stream_address(const struct node_stream *st, char *buf, size_t size);

/** Interface number @i, and its ports. False: there are no more. */
bool node_interface(const struct node *n, unsigned i,
		    struct node_interface_info *out);

/** How many there are: ending ones count, hung ones do not. */
unsigned node_calls(const struct node *n);
unsigned node_streams(const struct node *n);

/** Submit a conversion; its id is from the calls' numbers. As
 * converter_submit(), or -ENOTSUP: no spool folder was given. */
int node_conversion_submit(struct node *n, const struct conversion_cfg *cfg,
			   const char *owner,
			   const struct conversion_asker *asker,
			   struct cr_err *e);
/** The node's conversions; NULL: no spool folder was given. */
struct converter *node_converter(const struct node *n);
/** One conversion: what, state, progress. */
void node_conversion_info(const struct conversion *cv,
			  struct node_conversion_info *out);

/** Switch or tune the policy; see engine/live.h. Where calls may move to other
 * workers by that, what packets wait (media/transcode.h) is sent first,
 * whatever the workers are at. */
int node_scheduler_set(struct node *n, const char *spec, struct cr_err *e);
int node_scheduler_tune(struct node *n, const char *opts, struct cr_err *e);

int node_trace_start(struct node *n, const char *path, enum trace_over over,
		     struct cr_err *e);

/** Receives the totals of a trace. */
struct node_trace_asker {
	void (*notify)(void *arg, const struct trace_totals *totals);
	void *arg;
};

/** End the trace without waiting: @asker is called once, when it is on disk;
 * from the event loop or node_trace_stop(). 0; or -EALREADY with @e: there is
 * no trace, or it is being stopped. */
int node_trace_end(struct node *n, const struct node_trace_asker *asker,
		   struct cr_err *e);
/** End the trace if nobody has, and wait for the disk. 0 with @out, or
 * -EALREADY: there is no trace. */
int node_trace_stop(struct node *n, struct trace_totals *out);
/** Wait for a trace that was ended, and call its asker. NULL is fine. */
void node_trace_settle(struct node *n);

/** Delay (arrival to sent) and jitter of all frames so far, into histograms
 * whatever was in them; see transcode_worker. */
void node_histograms(const struct node *n, struct histogram *delay,
		     struct histogram *jitter);
/** RTCP reports of all endpoints so far, as above: round trips, and the
 * interarrival jitter that far sides have, both in ns. */
void node_rtcp_histograms(const struct node *n, struct histogram *round_trip,
			  struct histogram *jitter);

/** Row @i of the table of which CPUs do what: receivers, workers by run queue,
 * control. NULL: there are no more. */
const struct node_place_info *node_place(const struct node *n, unsigned i);
/** Every worker advances, or another thread has taken its place: as the
 * watchdog's last look tells, so true if there is none (node_config). */
bool node_advances(const struct node *n);
/** Counters and state of the whole node. */
void node_stats(struct node *n, struct node_stats *out);
/** Capacity: workers, measured and admitted load, bound, free. */
void node_capacity(struct node *n, struct node_capacity *out);
/** Cost of kind of transcoding number @i: those of present calls, then the
 * latest of past ones; 32 at most. False: there are no more. */
bool node_cost(const struct node *n, unsigned i, struct node_cost_info *out);
/** Frames lost for want of time so far: overwritten, expired or concealed. */
unsigned long long node_lost(struct node *n);
/** One call: parameters, counters, the policy's own numbers. */
void node_stream_info(struct node_stream *st, struct node_stream_info *out);
/** How what @st has heard since @since (zero: its start) sounds, as in its
 * record; the delay is that so far. @now, which may be @since: what to ask from
 * the next time. False: nothing has come, or no published value covers it. */
bool node_stream_quality(struct node_stream *st,
			 const struct record_loss *since,
			 struct record_loss *now, struct record_quality *out);
/** A call in an order. */
struct node_top {
	double value, load; /**< of the key; CPUs */
	struct node_stream *call;
};

/**
 * The calls that come first by @by, then by their load, then by their id, in
 * order into @out[limit], which is not 0; returns how many. All calls are
 * looked at; few of them have a place among the first ones and move others.
 *
 * What they did counts from the sample before the last one on: a sample is
 * taken when this is called and the last one is 400 ms old. Calls that started
 * since then are not in it. *@window: how long that is, or was, at most.
 */
unsigned node_top(struct node *n, enum node_top_key by, struct node_top *out,
		  unsigned limit, cr_ns *window);
/** The counts of @st in that time. */
void node_top_rates(const struct node_stream *st, struct node_top_rates *out);

/** Let node_config.recorded() have what is known so far of calls of which it
 * has had nothing for @each, or nothing at all. So many at a time that each has
 * its turn in time, if this is called once a second. */
void node_records_interim(struct node *n, cr_ns each);
/** The answer to the client that started it. */
void node_stream_place(struct node_stream *st, struct node_stream_place *out);

/** The scheduler as "name" or "name,key=value,...". */
void node_scheduler(const struct node *n, char *buf, size_t size);

#endif
