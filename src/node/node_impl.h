/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's insides, shared by its own files only.
 */
#ifndef NODE_NODE_IMPL_H
#define NODE_NODE_IMPL_H

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

#include "media/rtp_stream.h"
#include "media/endpoint.h"
#include "media/rx.h"
#include "media/transcode.h"
#include "node/node_call.h"
#include "node/costs.h"
#include "node/measuring.h"
#include "node/node.h"
#include "node/node_endpoint.h"
#include "node/restore.h"
#include "recovery/recovery.h"

RB_HEAD(node_stream_tree, node_stream);
RB_HEAD(node_call_tree, node_call);

/** Counters of a call at one moment, for node_top(). */
struct node_top_sample {
	unsigned long long in, lost, missing, late, done, delay, busy;
};

/** A stream as the control thread sees it (docs/architecture.md shows which
 * struct holds which). */
struct node_stream {
	uint32_t id;
	struct node *node;
	struct node_call *call;
	unsigned number;       /**< among the streams of its call */
	struct stream *stream; /**< owned */
	/** NULL: a relay whose transcoder sleeps, or that has none. */
	struct cost_entry *cost;
	struct stream_codecs *codecs; /**< of its transcoder, owned; or NULL */
	bool recoded;		      /**< its codecs have changed */
	bool changing;	  /**< until its codecs have: the engine may have it by
			   * other terms than the stream's */
	bool needs_codec; /**< a relay whose transcoder stays awake, for what
			       is not passed on */
	bool hung;	  /**< reported as ended, but a stuck thread has it */
	/** Of a call that could not begin, or is early: nobody knows of it. */
	bool untold;
	struct watch_task watch;
	unsigned learned;  /**< of its recent costs, passed to costs_learn() */
	unsigned cmr_over; /**< modes that CMRs asked for beyond the capacity */
	cr_ns started;
	cr_ns started_utc; /**< CLOCK_REALTIME */
	cr_ns node_utc;	   /**< ... of the process that has begun it */
	struct node_top_sample was, is; /**< at n->top_at[]; zero: not yet */
	RB_ENTRY(node_stream) by_id;
	struct node_stream *next_gone; /**< under the node's gone_lock   */
};

/** What a client starts and stops: one stream, or two in opposite
 * directions. */
struct node_call {
	RB_ENTRY(node_call) by_id;
	uint32_t id; /**< its first stream's */
	struct node *node;
	unsigned nstreams;
	struct node_stream *stream[2]; /**< NULL: has not begun, or has gone */
	/** Where the packets of each stream come in; NULL: the shared port. Of
	 * two streams each leaves from the other one's, one stream from where
	 * it comes in. */
	struct node_endpoint *endpoint[2];
	unsigned live; /**< streams that have neither gone nor hung */
	void *owner;   /**< the session; the user's          */
	char *label;   /**< owned, or NULL                   */
	char *tag[2];  /**< of its parties; the same         */
	unsigned line; /**< of their descriptions; 0: none   */
	int request;   /**< enum relay_request               */
	bool relays;   /**< its streams need no codec        */
	bool ending;
	enum node_end why; /**< once ending                  */
	enum node_by by;
	char peer[NODE_ADDRESS_MAX]; /**< whose word it was, then; or "" */
	cr_ns recorded;		     /**< last, by then; 0: not yet */
	/** What is left of the first stream that is over waits for the other
	 * one; owned. */
	struct node_record *record;
	struct state_slot *slot; /**< NULL: nobody keeps it */
	uint32_t from;		 /**< as in struct call_past */
};

/** The endpoint where packets of @st come in; NULL: the shared port. */
static inline const struct node_endpoint *node_stream_in_endpoint(
	const struct node_stream *st)
{
	return st->call->endpoint[st->number];
}

/** The endpoint that stream @i of @c leaves from; NULL: the shared port. */
static inline struct node_endpoint *node_call_out_endpoint(
	const struct node_call *c, unsigned i)
{
	return c->endpoint[c->nstreams - 1 - i];
}

/** Its settings. */
static inline const struct stream_cfg *node_stream_settings(
	const struct node_stream *st)
{
	return &st->stream->cfg;
}

/** Is it to be a relay? */
static inline bool node_stream_wants_relay(const struct node_stream *st)
{
	return stream_wanted(st->stream) != STREAM_TRANSCODE;
}

/** NULL: it has needed no codec yet. */
static inline struct transcoder *node_stream_transcoder(
	const struct node_stream *st)
{
	return stream_transcoder(st->stream);
}

/** Copy its counters into @out. */
void node_stream_counts(const struct node_stream *st,
			struct node_stream_counts *out);

/** Does an endpoint still feed it? */
static inline bool node_stream_is_fed(const struct node_stream *st)
{
	const struct endpoint *in_endpoint = st->stream->cfg.in_endpoint;

	return in_endpoint && endpoint_stream(in_endpoint) == st->stream;
}

/** The operations on tasks of one kind: calls, or what a client of the
 * node runs beside them. live_task.kind of each; constant. */
struct node_task_kind {
	const char *name; /**< of one, in the log */
	bool (*peek)(struct core_task *t, struct cr_job *job);
	bool (*claim)(struct core_task *t, uint64_t seq);
	void (*run)(struct transcode_worker *w, struct live_task *t,
		    const struct live_run *run);
	/** As core_backlog's; NULL: its frames are nobody's loss. */
	void (*dropped)(struct core_task *t, const struct cr_job *job,
			enum cr_outcome why, cr_ns now);
	/** As live_client's. */
	void (*gone)(void *arg, struct live_task *t);
	void (*returned)(void *arg, struct live_task *t);
	/** Its worker does not come back from it. */
	void (*hung)(void *arg, struct live_task *t);
	/** The transcoder of the task; NULL: nothing that it makes is sent. */
	struct transcoder *(*transcoder)(struct live_task *t);
};

extern const struct node_task_kind node_stream_kind;

static inline const struct node_task_kind *node_kind_of(
	const struct live_task *t)
{
	return t->kind;
}

/** The state of a worker's thread. */
struct node_context {
	struct recovery_context slot; /**< first */
	struct transcode_worker turn;
};

static inline struct node_context *node_context_of(struct recovery_context *c)
{
	return (struct node_context *)(void *)c;
}

/** Threads that may be stuck at a time, beyond those at work. */
enum { NODE_SPARES = 8 };

/* Real-time priorities, of those who are to have one: receivers win over
 * workers, the kernel's watchdogs over both. */
enum { NODE_WORKER_PRIORITY = 10, NODE_RX_PRIORITY = 20 };

/** Calls and conversions at a time that have a thread each, under the kernel;
 * and the records of such a thread's trace ring: it does 50 frames a second. */
enum { NODE_THREADS = 2048, NODE_THREAD_RECORDS = 64 };

/** The table of which CPUs do what; constant. */
struct node_places {
	struct node_place_info *row;
	unsigned n;
};

/** The watchdog's findings (node_watch.c); control. */
struct node_watch {
	struct event *event;
	uint64_t returned; /**< streams */
	char last[256];	   /**< finding, as text */
};

struct node {
	struct node_config cfg;
	int fd[NODE_RECEIVERS_MAX]; /**< sockets of the shared RTP port */
	unsigned nfd;
	struct interfaces interfaces;
	struct stream_table *table;
	struct endpoints endpoints;
	struct node_endpoint_tree endpoints_by_id; /**< also those left */
	struct costs *costs;
	struct measuring *measuring;
	struct live *live;
	struct receivers *receivers;
	struct converter *converter; /**< NULL: no spool folder */
	struct trace *trace;
	struct node_trace_asker trace_asker; /**< of a trace that was ended */
	struct recovery *recovery;
	/** Of threads: one per worker, or per task under the kernel. */
	unsigned nplaces;
	unsigned place_records; /**< of the trace ring of each */
	enum udp_io send_io;	/**< how each sends                */
	enum udp_io io;		/**< how packets come and go       */
	struct cr_err io_why;	/**< see node_io()                 */
	struct node_places places;
	struct node_watch watch;
	struct event *gone_event, *fault_event, *receiver_failed_event,
		*traced_event;
	struct event *tick;
	struct call_past *restoring; /**< of the call that is being restored */
	uint64_t texts;		     /**< node_texts() */

	struct node_call_tree calls;	 /**< by id, ending ones too */
	struct node_stream_tree streams; /**< theirs, by id */
	unsigned nstreams, nhung; /**< of these, a stuck thread has so many */
	unsigned ncalls;	  /**< with streams that are not hung */
	unsigned nending;	  /**< of these, soon gone */
	unsigned nrelays;	  /**< of these                             */
	struct state_ids *ids;	  /**< given last; of the state memory ... */
	struct state_ids own_ids; /**< ... or, without one, these */
	uint32_t gave_back; /**< the call that node_give_back() saw last */
	bool gave_nothing;  /**< it found none since node_learn()        */
	cr_ns started, started_utc;
	uint64_t calls_started, calls_refused;
	cr_ns top_at[2]; /**< the samples of calls before the last, and last */
	unsigned own_descriptors;  /**< node_opened_all()'s               */
	unsigned kept_descriptors; /**< and what it was told              */
	atomic_uint endpoint_descriptors; /**< endpoints give theirs back on any
					     thread */
	/** Of endpoints that have gone: what was counted with no call. */
	atomic_ullong endpoint_drops, endpoint_unread;
	struct node_stream_counts past; /**< sums over calls that have gone */

	/* calls whose last thread has let go; under gone_lock */
	pthread_mutex_t gone_lock;
	struct node_stream *gone;
	char fault[512]; /**< the policy's last one; also under gone_lock */
	cr_ns fault_at;	 /**< of the first not recovered from; so, too; 0 */
};

RB_PROTOTYPE(node_stream_tree, node_stream, by_id, node_stream_cmp)
RB_PROTOTYPE(node_call_tree, node_call, by_id, node_call_cmp)

/* Trace rings have one writer each: the places' threads, the receivers, this
 * thread, and base/rcu's, which cancels the frames of calls that leave. */
static inline unsigned node_ring_receivers(const struct node *n)
{
	return n->nplaces;
}

static inline unsigned node_ring_control(const struct node *n)
{
	return n->nplaces + n->cfg.receivers;
}

static inline unsigned node_ring_reclaim(const struct node *n)
{
	return node_ring_control(n) + 1;
}

static inline unsigned node_rings(const struct node *n)
{
	return node_ring_control(n) + 2;
}

/** Make them: contexts for all places. 0, or -errno with @e. */
int node_open_recovery(struct node *n, struct cr_err *e);
/** The state of the thread at the place of @worker. */
static inline struct node_context *node_context_at(const struct node *n,
						   unsigned worker)
{
	return node_context_of(recovery_context(n->recovery, worker));
}
/** recovery's callbacks for contexts. */
struct recovery_context *node_context_new(void *arg);
void node_context_free(void *arg, struct recovery_context *slot);
void node_context_for(void *arg, struct recovery_context *slot, unsigned place,
		      const struct recovery_context *before);

/** Start to watch, if the configuration says so. 0, or -errno with @e. */
int node_open_watch(struct node *n, struct cr_err *e);
void node_close_watch(struct node *n);
/** The node is to end: watch, whatever the configuration says. */
void node_watch_end(struct node *n);
/** @st was hung and has gone. */
void node_watch_returned(struct node *n, const struct node_stream *st);
void node_watch_info(const struct node *n, struct node_watch_info *out);

/* --- costs --- */

/** The book's entry for @cfg into *@out, for the moment; of the dearest of its
 * codecs. -EAGAIN with @e: a part of it is not known; -ENOMEM with @e. */
int node_cost_of(struct node *n, const struct stream_cfg *cfg,
		 struct cost_entry **out, struct cr_err *e);
/** Have measured what @cfg needs and the book lacks; nobody waits. */
void node_cost_ask(struct node *n, const struct stream_cfg *cfg);

/* --- ports --- */

/** Make the interfaces that the configuration names. 0, or -errno with @e. */
int node_open_interfaces(struct node *n, struct cr_err *e);

/** As interfaces_choose(); or of a call that is being restored at the same
 * ports, the one that has its address: -EADDRNOTAVAIL with @e: none has. */
int node_choose_interface(struct node *n,
			  const struct interface_request *request,
			  struct interface **at, struct cr_err *e);

/** Is something restored that another process has still? */
static inline bool node_restores_ahead(const struct node *n)
{
	return n->restoring && n->cfg.arrives;
}

/** A slot for a call that begins, or goes on; NULL: nobody keeps it. */
struct state_slot *node_take_slot(struct node *n);

/* --- admission --- */

/** The load of the stream @cfg, settled, of a CPU on average, ppm. */
int64_t node_load_of(const struct stream_cfg *cfg);
/** The policy looks at what calls promise, this at what they measure: is there
 * room for @need ppm more? 0, or -ENOSPC with @v. */
int node_admit_measured(struct node *n, int64_t need, struct cr_verdict *v);
/** Say that the engine refused with @err (and @v) into @e; returns @err. */
int node_refuse(struct node *n, int err, const struct cr_verdict *v,
		struct cr_err *e);

/** Let the books follow what packets have brought about: modes that CMRs have
 * set, relays that have taken over from transcoders (node_change.c). */
void node_follow(struct node *n);

/** The living stream that @st is paired with, or NULL. */
struct node_stream *node_stream_pair(const struct node_stream *st);
/** Describe @st in the trace. */
void node_trace_stream(const struct node_stream *st);

/** The next id of a call, a stream or a conversion: they count together, up to
 * 2^32 and again; 0 is none's, and ids in use are passed over. */
uint32_t node_next_id(struct node *n);
/** An SSRC that nobody can guess. */
uint32_t node_random_ssrc(void);
/** Put the RTCP figures of a stream from @in_endpoint to @out_endpoint into
 * @out, which must not be moved. @last: threads have let go of both. Either may
 * be NULL. */
void node_rtcp_report(struct endpoint *in_endpoint,
		      struct endpoint *out_endpoint, bool last,
		      struct node_rtcp_info *out);
/** The same of @st. */
void node_stream_rtcp(const struct node_stream *st, bool last,
		      struct node_rtcp_info *out);
/** The streams of a call, as settled: from end 0 to 1, and, of two, back.
 * Not to be moved. */
struct node_call_streams {
	unsigned n;
	struct stream_cfg stream[2];
	/** The codecs that each end may send; stream[].codecs may point here.
	 */
	struct stream_codecs codecs[2];
	bool relays;
};
/** The streams of @r: into @out. 0, or -EINVAL with @e. */
int node_call_check(struct node_call_streams *out, const struct call_spec *r,
		    struct cr_err *e);
/** Start @s, the streams of @r, as node_call_start(). */
int node_call_begin(struct node *n, struct node_call_streams *s,
		    const struct call_spec *r, struct node_call **out,
		    struct cr_err *e);
/** End @c, which nobody was to know of. */
void node_call_undo(struct node_call *c);
/** Sums over all endpoints, into @out. */
void node_rtcp_stats(const struct node *n, struct node_rtcp_stats *out);
/** Is there room under --max-calls for one more call than the @promised ones?
 * 0, or -ENOSPC with @e. */
int node_refuse_full(struct node *n, unsigned promised, struct cr_err *e);

/** Is there no memory beside cfg.memory_reserve? 0; or -ENOSPC with @e. */
int node_refuse_short(const struct node *n, struct cr_err *e);
/** Of the one stream @cfg of a call, @spec: what can be refused before its cost
 * is known. 0, with the interface for a port of its own in *@at (NULL: the
 * shared one); or as node_call_start(). */
int node_stream_refuse_early(struct node *n, const struct stream_cfg *cfg,
			     const struct call_spec *spec,
			     struct interface **at, struct cr_err *e);
/** Start the next stream of @of, whose endpoints @cfg has, if there is room
 * (node_refuse_full()): as node_call_start(). */
int node_stream_begin(struct node_call *of, struct stream_cfg *cfg,
		      struct cr_err *e);
/** Start the next stream of @of as a relay. 0; -ENOMEM with @e. */
int node_relay_start(struct node_call *of, struct stream_cfg *cfg,
		     struct cr_err *e);
/** Does @stream, if it @relays, need codecs all the same, for some of what
 * comes? */
static inline bool node_stream_needs_transcoder(const struct stream_cfg *stream,
						bool relays)
{
	return !relays || relay_needs_transcoder(stream);
}
struct node_recode;
/** Make all that the streams of a call of two streams need to go on as @to
 * says, which differ from them in codecs, and @relays, whether they are to be
 * relays: both, or neither. @to stays until node_recode_commit() lets them, or
 * node_recode_cancel(). As node_call_prepare(). */
int node_recode_prepare(struct node_recode **out,
			struct node_stream *const st[2],
			struct stream_cfg to[2], bool relays, struct cr_err *e);
void node_recode_commit(struct node_recode *r);
void node_recode_cancel(struct node_recode *r);
/** A transcoder for @st, which is a relay and has none, by @cfg, settled:
 * numbers are chosen. The engine does not know it yet. 0; -EINVAL, -ENOMEM with
 * @e. */
int node_make_transcoder(struct node_stream *st, struct stream_cfg *cfg,
			 struct transcoder **out, struct cr_err *e);
/** The engine knows @c, made by @cfg: @st has it from now on, at @cost. */
void node_set_transcoder(struct node_stream *st, struct transcoder *c,
			 const struct stream_cfg *cfg, struct cost_entry *cost);
/** The engine knows @c, and nobody else: let both go. */
void node_drop_transcoder(struct node *n, struct transcoder *c);
/** Mode requests that one receives are the other one's to obey. */
void node_join_pair(struct node_stream *a, struct node_stream *b);
/** A copy of @from, NULL of NULL; or NULL for want of memory. */
struct stream_codecs *node_codecs_copy(const struct stream_codecs *from);
/** @st is over: record it; with the other stream of its call, when that
 * is over, too (node_record.c). */
void node_record_ended(struct node_stream *st);
/** Report the end of @st to the node's user, unless its start was not reported.
 */
static inline void node_notify_ended(struct node *n, struct node_stream *st)
{
	if (!--st->call->live) {
		n->ncalls--;
		n->nending--;
	}
	if (st->untold)
		return;
	node_record_ended(st);
	n->cfg.ended(n->cfg.arg, st);
}
/** The endpoint of @of, which has two streams, other than @ep. */
static inline struct node_endpoint *node_call_peer(
	const struct node_call *of, const struct node_endpoint *ep)
{
	return of->endpoint[of->endpoint[0] == ep];
}
/** The call of @st, of which nobody hears any more, is ending: so is @st. */
void node_stream_end(struct node_stream *st);
/** @st has gone; nothing of it is looked at but its number. */
void node_call_stream_gone(struct node_call *of, unsigned number);

/** Let all packets leave that wait at workers for others. */
void node_flush(struct node *n);
/** engine callback: the call's @lt has left; any thread. */
void node_gone(void *arg, struct live_task *lt);
/** engine callback: a detached thread has let go of the call's @lt. */
void node_back(void *arg, struct live_task *lt);
/** Its worker does not come back from it. */
void node_hung(void *arg, struct live_task *lt);
/** Open the spool, if there is one. 0, or -errno with @e. */
int node_open_converter(struct node *n, struct cr_err *e);

/** event callback: finish the calls that have gone. */
void node_reap(evutil_socket_t fd, short what, void *arg);
/** The scheduler's books follow calls that cost less today than when they came,
 * until @wanted ppm of a CPU are free, as far as a few calls do that. False: no
 * call gives back anything; then it does not look again before node_learn().
 */
bool node_give_back(struct node *n, int64_t wanted);
/** Add what the calls have measured since the last time to the cost book. */
void node_learn(struct node *n);

#endif
