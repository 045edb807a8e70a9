/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distance-based priority for (m,k)-firm calls: of any k frames in a row, m are
 * to be in time (Hamdaoui and Ramanathan, "A dynamic priority assignment
 * technique for streams with (m,k)-firm deadlines", 1995).
 *
 * The distance of a call is how many frames in a row it could miss from now on
 * until fewer than m of its last k are in time; 0: that is so already. The
 * least distance goes first, then the earliest deadline (in the place of
 * drops.h, so that nobody is forgotten where all have failed), then the task's
 * id. A call begins as if it had missed nothing. Best effort comes last, by
 * weight (be_share.h).
 *
 * Missed is a frame that was dropped, or overwritten before it was served (a
 * gap in the numbers), or done later than its deadline and the grace. A frame
 * that waits longer than that, or than the engine's age limit lets it, is
 * missed too, and so is one more with every period: distances are counted anew
 * then, or calls that are not served would look as safe as they were. The grace
 * is at most the age limit less the deadline, whatever the packet time, and
 * that is the default: what is sent counts. With 0, deadlines are firm.
 *
 * Good: in overload losses are spread over calls and over time, in runs of k -
 * m at most where edf's are longer, and by what users ask for. Bad: blind to
 * costs, and m and k must fit the overload: when the mandatory part does not
 * fit either, those that have failed come first, so others fail too, and runs
 * are longer than those of fifo, which loses as evenly as can be without asking
 * (but among calls of one age limit and one cost only).
 *
 * Proven: (1) On one CPU with preemption and sum U <= 1 nothing is missed: all
 * distances are and stay k - m + 1, so that is EDF. (2) n calls of one period
 * T and one cost T / q, released together, on M CPUs, deadlines = periods, late
 * frames dropped: nobody ever has fewer than m of k if and only if
 *
 *     n m <= M q k		(that is, the mandatory part fits: n m/k C/T <=
 * M)
 *
 * for with services at the periods u(1) < u(2) < ..., m of any k means u(r + m)
 * <= u(r) + k, and u(r) <= k - m + r at the start. The distance is the time to
 * that deadline, so dbp is EDF of services, M q in each period. Say call x is
 * the first to miss such a deadline, b. If some service up to b had a later
 * deadline, the last one in period a: who was not served in a has deadlines
 * behind b, so at most M q calls compete for M q services in each period from a
 * to b, and each is served every time, x as well. If none had: up to b there
 * were M q b services, and x lacks one, but no more are due by then: n m + M q
 * (b - k) <= M q b for b >= k, and n (b - k + m) <= M q b for b < k.
 * For other sets nothing is known to us.
 *
 * Left out: DWCS (West and Schwan). It looks at the earliest deadline first and
 * at fixed windows; that is another rule, not an option of this one.
 *
 * Live mode: no frame is cut, which is the paper's model. Admission is the
 * engine's: what it lets in is not meant to be missed.
 */
#include "schedulers/be_share.h"
#include "schedulers/drops.h"
#include "schedulers/policies.h"

#define MOST_K 64	    /* frames remembered: bits of a word  */
#define BEHIND (MOST_K + 1) /* distance of best effort          */
#define MOST_GRACE (10 * CR_SEC)

struct dbp_task {
	RB_ENTRY(dbp_task) by_order;
	unsigned distance; /* beside the links, as walks read both      */
	cr_ns place;	   /* EDF's                                      */
	RB_ENTRY(dbp_task) by_due;
	cr_ns due;	  /* queued, not done until then: one missed more;
			   * CR_NEVER: not in that tree                  */
	uint64_t met;	  /* bit n: the last frame but n was in time    */
	uint64_t next;	  /* number of the next frame, if none is lost  */
	unsigned overdue; /* frames missed from the visible one on      */
	unsigned lost;	  /* drops.h                                    */
	bool known;	  /* @next is                                   */
	struct be_flow flow;
};

_Static_assert(sizeof(struct dbp_task) <= CR_TASK_PRIV, "room in a task");

RB_HEAD(order_tree, dbp_task);
RB_HEAD(overdue_tree, dbp_task);

struct dbp_rq {
	struct order_tree queue;
	struct overdue_tree due; /* those of the same that can miss more */
	struct be_share share;
};

struct dbp_opts {
	int64_t m, k, grace;
};

static const struct cr_opt dbp_options[] = {
	{ .name = "m",
	  .help = "so many frames are to be in time ...",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct dbp_opts, m),
	  .min = 1,
	  .max = MOST_K,
	  .dflt = 4 },
	{ .name = "k",
	  .help = "... of so many in a row; if m is more, all of them",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct dbp_opts, k),
	  .min = 1,
	  .max = MOST_K,
	  .dflt = 5 },
	{ .name = "grace",
	  .help = "a frame counts as in time so long after its deadline, and "
		  "as long as it is not too old; with 10s that alone",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct dbp_opts, grace),
	  .min = 0,
	  .max = MOST_GRACE,
	  .dflt = MOST_GRACE },
	{ .name = NULL },
};

/* --- order --- */

static bool dbp_before(const struct cr_task *a, const struct cr_task *b,
		       cr_ns now)
{
	const struct dbp_task *x = CR_TASK_CONST(a, struct dbp_task);
	const struct dbp_task *y = CR_TASK_CONST(b, struct dbp_task);

	(void)now;
	if (x->distance != y->distance)
		return x->distance < y->distance;
	return x->place != y->place ? x->place < y->place : a->id < b->id;
}

static int order_cmp(struct dbp_task *x, struct dbp_task *y)
{
	return x == y					     ? 0
	       : dbp_before(cr_task_of(x), cr_task_of(y), 0) ? -1
							     : 1;
}

CR_TREE(order_tree, dbp_task, by_order, order_cmp)

static int dbp_due_cmp(struct dbp_task *x, struct dbp_task *y)
{
	if (x->due != y->due)
		return cr_cmp(x->due, y->due);
	return cr_cmp(cr_task_of(x)->id, cr_task_of(y)->id);
}

CR_TREE(overdue_tree, dbp_task, by_due, dbp_due_cmp)

static void dbp_insert(struct dbp_rq *d, struct dbp_task *x)
{
	RB_INSERT(order_tree, &d->queue, x);
	if (x->due != CR_NEVER)
		RB_INSERT(overdue_tree, &d->due, x);
}

static void dbp_take_out(struct dbp_rq *d, struct dbp_task *x)
{
	RB_REMOVE(order_tree, &d->queue, x);
	if (x->due != CR_NEVER)
		RB_REMOVE(overdue_tree, &d->due, x);
}

/* --- distances --- */

static uint64_t missed_more(uint64_t met, uint64_t n)
{
	return n < MOST_K ? met << n : 0;
}

/* The m-th last frame in time is the l-th last of all: when k - l + 1 more are
 * missed, there are m - 1 among k. */
static unsigned distance_of(const struct dbp_opts *o, uint64_t met)
{
	unsigned k = (unsigned)o->k, left = (unsigned)cr_ns_min(o->m, o->k);

	for (unsigned l = 1; l <= k; l++, met >>= 1)
		if ((met & 1) && --left == 0)
			return k - l + 1;
	return 0;
}

/* No frame of a deadline before this can be in time at that. */
static cr_ns last_moment(const struct cr_task *t)
{
	return cr_ns_add(t->job.deadline,
			 CR_OPTS(t->rq, struct dbp_opts)->grace);
}

/* No frame that waits is served after this. */
static cr_ns last_turn(const struct cr_task *t)
{
	cr_ns old = cr_ns_add(t->job.arrival, t->max_age);

	if (t->max_age >= t->rel_deadline)
		old = cr_ns_max(old, t->job.deadline);
	return cr_ns_min(old, last_moment(t));
}

/* The frames that follow the visible one come and are due a period apart. */
static void count_overdue(struct cr_task *t, cr_ns now)
{
	const struct dbp_opts *o = CR_OPTS(t->rq, struct dbp_opts);
	struct dbp_task *x = CR_TASK(t, struct dbp_task);
	cr_ns due = last_turn(t), periods = 0;

	if (due <= now)
		periods = (now - due) / t->period + 1;
	x->overdue = (unsigned)cr_ns_min(periods, MOST_K);
	x->distance = distance_of(o, missed_more(x->met, x->overdue));
	x->due = x->distance ? cr_ns_add(due, periods * t->period) : CR_NEVER;
}

/* The task that waits with a frame that was missed since. */
static void dbp_look_again(struct dbp_rq *d, cr_ns now)
{
	struct dbp_task *x;

	while ((x = RB_MIN(overdue_tree, &d->due)) && x->due <= now) {
		dbp_take_out(d, x);
		count_overdue(cr_task_of(x), now);
		dbp_insert(d, x);
	}
}

/* The visible frame is a new one: those between were overwritten. */
static void see_frame(struct cr_task *t)
{
	struct dbp_task *x = CR_TASK(t, struct dbp_task);

	if (x->known && t->job.seq > x->next)
		x->met = missed_more(x->met, t->job.seq - x->next);
	x->next = t->job.seq + 1;
	x->known = true;
}

/* --- the callbacks --- */

static void dbp_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct dbp_task *x = CR_TASK(t, struct dbp_task);

	(void)rq, (void)now;
	x->met = UINT64_MAX;
	x->due = CR_NEVER;
}

static void dbp_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct dbp_rq *d = CR_RQ(rq, struct dbp_rq);
	struct dbp_task *x = CR_TASK(t, struct dbp_task);

	dbp_look_again(d, now);
	if (why != CR_ENQ_REQUEUE)
		see_frame(t);
	if (t->cls != CR_BE) {
		x->place = drops_key(x->place, x->lost, t, why);
		count_overdue(t, now);
	} else if (why != CR_ENQ_REQUEUE) {
		x->distance = BEHIND;
		x->place = be_share_start(&d->share, &x->flow);
	}
	dbp_insert(d, x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, dbp_before, now);
}

static void dbp_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	dbp_take_out(CR_RQ(rq, struct dbp_rq), CR_TASK(t, struct dbp_task));
}

static struct cr_task *dbp_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct dbp_rq *d = CR_RQ(rq, struct dbp_rq);
	struct dbp_task *x;
	struct cr_task *t;

	dbp_look_again(d, now);
	x = RB_MIN(order_tree, &d->queue);
	while (x && !cr_may_run(rq, cr_task_of(x), cpu))
		x = RB_NEXT(order_tree, &d->queue, x);
	if (!x)
		return NULL;
	dbp_take_out(d, x);
	t = cr_task_of(x);
	if (t->cls == CR_BE)
		be_share_serve(&d->share, &x->flow);
	t->slice = CR_NEVER;
	return t;
}

static void dbp_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct dbp_task *x = CR_TASK(t, struct dbp_task);
	bool done = why == CR_STOP_DONE;

	(void)rq, (void)cpu, (void)ran;
	drops_count(&x->lost, why);
	if (!done && why != CR_STOP_DROP)
		return;
	if (t->cls == CR_BE)
		be_share_done(&x->flow, t->weight, t->job.ran);
	else
		x->met = missed_more(x->met, 1) |
			 (done && now <= last_moment(t));
}

static unsigned dbp_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct dbp_task *x = CR_TASK_CONST(t, struct dbp_task);
	const struct dbp_opts *o = CR_OPTS(t->rq, struct dbp_opts);
	int64_t met = 0;

	for (int64_t i = 0; i < o->k; i++)
		met += (int64_t)(x->met >> i & 1);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "distance", t->cls == CR_BE ? BEHIND : x->distance,
		  CR_KV_COUNT },
		{ "in_time_of_last", met, CR_KV_COUNT },
		{ "overdue", x->overdue, CR_KV_COUNT },
	};

	return CR_KV_COPY(kv, max, all);
}

/* Is what is kept of a queued task true? */
static bool is_right(const struct cr_rq *rq, struct dbp_task *x)
{
	const struct cr_task *t = cr_task_of(x);
	const struct dbp_opts *o = CR_OPTS(rq, struct dbp_opts);

	if (t->state != CR_QUEUED)
		return false;
	if (t->cls == CR_BE)
		return x->distance == BEHIND && x->due == CR_NEVER;
	return x->distance == distance_of(o, missed_more(x->met, x->overdue)) &&
	       (x->distance || x->due == CR_NEVER);
}

static bool dbp_check(const struct cr_rq *rq)
{
	struct dbp_rq *d = CR_RQ(rq, struct dbp_rq);
	struct dbp_task *x, *before = NULL;
	unsigned n = 0, due = 0;

	RB_FOREACH (x, order_tree, &d->queue) {
		if (!is_right(rq, x) || (before && order_cmp(before, x) >= 0))
			return false;
		due += x->due != CR_NEVER;
		before = x;
		n++;
	}
	RB_FOREACH (x, overdue_tree, &d->due)
		due--;
	return n == rq->nqueued && due == 0;
}

const struct cr_sched_ops cr_sched_dbp = {
	.abi = CR_SCHED_ABI,
	.name = "dbp",
	.help = "(m,k)-firm: nearest to missing more than k - m of k first",
	.rq_size = sizeof(struct dbp_rq),
	.task_size = sizeof(struct dbp_task),
	.opts_size = sizeof(struct dbp_opts),
	.opts = dbp_options,
	.task_add = dbp_task_add,
	.enqueue = dbp_enqueue,
	.dequeue = dbp_dequeue,
	.pick = dbp_pick,
	.stop = dbp_stop,
	.explain = dbp_explain,
	.check = dbp_check,
};
