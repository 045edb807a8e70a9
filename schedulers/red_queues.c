/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues of red: trees that know sums of what is below each node, so that
 * nobody looks at all jobs.
 */
#include "schedulers/red.h"

#define NEVER_LATE (INT64_MIN / 2)

/* --- a job's numbers --- */

/* The time that @t still needs, by the worst case (hard) or the estimate. */
static cr_ns red_rest_of(const struct cr_task *t, cr_ns now)
{
	cr_ns need = t->cls == CR_HARD ? cr_task_worst(t) : t->job.cost;
	bool runs = CR_TASK_CONST(t, struct red_task)->runs;

	return cr_ns_max(need - (runs ? cr_task_ran(t, now) : t->job.ran), 0);
}

/* Up to when @t's job is of use. */
static cr_ns red_limit_of(const struct cr_task *t)
{
	return cr_ns_add(t->job.deadline,
			 CR_OPTS(t->rq, struct red_opts)->tolerance);
}

/* weight * 1.25^-nice, times 65536; with value=time, of each ns of the job. */
static uint64_t red_value_of(const struct cr_task *t)
{
	uint64_t value = (uint64_t)t->weight << 16;

	for (int n = t->nice; n < 0; n++)
		value += value / 4;
	for (int n = t->nice; n > 0; n--)
		value -= value / 5;
	return value;
}

/* Before @t is queued. */
static void set_numbers(struct cr_task *t)
{
	struct red_task *x = red_task_of(t);

	x->value = red_value_of(t);
	x->rest = red_rest_of(t, red_rq_of(t->rq)->now);
}

static bool by_time(const struct red_task *x)
{
	const struct cr_task *t = cr_task_of((struct red_task *)x);

	return CR_OPTS(t->rq, struct red_opts)->value == RED_TIME;
}

/* Three-way, by value for the time that is left to be spent on it. */
static int density_cmp(const struct red_task *a, const struct red_task *b)
{
	unsigned __int128 x = a->value, y = b->value;

	if (a->value == b->value && a->rest == b->rest)
		return 0;
	if (!by_time(a)) {
		x *= (uint64_t)cr_ns_max(b->rest, 1);
		y *= (uint64_t)cr_ns_max(a->rest, 1);
	}
	return (x > y) - (x < y);
}

/* Is @a to give way before @b? Of equal ones whose turn it is. */
static bool cheaper(const struct red_task *a, const struct red_task *b)
{
	const struct cr_task *s = cr_task_of((struct red_task *)a);
	const struct cr_task *t = cr_task_of((struct red_task *)b);
	int density;

	if (s->cls != t->cls)
		return s->cls > t->cls;
	density = density_cmp(a, b);
	if (density)
		return density < 0;
	if (a->lost_at != b->lost_at)
		return a->lost_at < b->lost_at;
	return s->id > t->id;
}

/* --- the accepted --- */

static int accepted_cmp(struct red_task *x, struct red_task *y)
{
	const struct cr_task *a = cr_task_of(x), *b = cr_task_of(y);

	if (a->job.deadline != b->job.deadline)
		return cr_cmp(a->job.deadline, b->job.deadline);
	return cr_cmp(a->id, b->id);
}

static struct red_task *cheapest(struct red_task *a, struct red_task *b)
{
	if (!a || !b)
		return a ? a : b;
	return cheaper(a, b) ? a : b;
}

static cr_ns red_sum_of(const struct red_task *x)
{
	return x ? x->sum : 0;
}

static void red_sum_up(struct red_task *x)
{
	struct red_task *l = RB_LEFT(x, node), *r = RB_RIGHT(x, node);
	cr_ns upto = red_sum_of(l) + x->rest;

	x->sum = upto + red_sum_of(r);
	x->late = cr_ns_max(upto - x->limit, l ? l->late : NEVER_LATE);
	if (r)
		x->late = cr_ns_max(x->late, upto + r->late);
	x->cheapest = cheapest(x, l ? l->cheapest : NULL);
	x->cheapest = cheapest(x->cheapest, r ? r->cheapest : NULL);
}

/* rotations ask for it; the way up to the root is *_update()'s */
#undef RB_AUGMENT
#define RB_AUGMENT(x) red_sum_up(x)
CR_TREE(red_accepted, red_task, node, accepted_cmp)

static void accepted_update(struct red_task *x)
{
	for (; x; x = RB_PARENT(x, node))
		red_sum_up(x);
}

/* From the lowest place in the tree that changes when @x is taken out, all
 * above is wrong. */
static struct red_task *lowest_change(struct red_task *x)
{
	struct red_task *low = RB_RIGHT(x, node);

	if (!low || !RB_LEFT(x, node))
		return RB_PARENT(x, node);
	while (RB_LEFT(low, node))
		low = RB_LEFT(low, node);
	return RB_PARENT(low, node) == x ? low : RB_PARENT(low, node);
}

void red_accept(struct cr_rq *rq, struct cr_task *t)
{
	struct red_task *x = red_task_of(t);

	x->where = RED_ACCEPTED;
	set_numbers(t);
	x->limit = red_limit_of(t);
	RB_LEFT(x, node) = RB_RIGHT(x, node) = NULL;
	red_sum_up(x); /* the tree adds it up while it turns */
	RB_INSERT(red_accepted, &red_rq_of(rq)->accepted, x);
	accepted_update(x);
}

void red_unaccept(struct cr_rq *rq, struct cr_task *t)
{
	struct red_task *x = red_task_of(t), *low = lowest_change(x);

	RB_REMOVE(red_accepted, &red_rq_of(rq)->accepted, x);
	accepted_update(low);
	x->where = RED_OUT;
}

void red_look(struct cr_rq *rq, cr_ns now)
{
	struct cr_task *r = rq->cpu[0].running;

	red_rq_of(rq)->now = now;
	if (!r || red_task_of(r)->where != RED_ACCEPTED)
		return;
	red_task_of(r)->rest = red_rest_of(r, now);
	accepted_update(red_task_of(r));
}

/* When the accepted have the CPU: who is not cut ends before. */
static cr_ns red_begin(const struct cr_rq *rq)
{
	cr_ns now = red_rq_of(rq)->now;
	const struct cr_task *r = rq->cpu[0].running;

	return r && !rq->sched->preemptible ? now + red_rest_of(r, now) : now;
}

bool red_has_time(const struct cr_rq *rq, struct cr_task *t)
{
	return red_begin(rq) + red_rest_of(t, red_rq_of(rq)->now) <=
	       red_limit_of(t);
}

/* The first accepted job that is late if all that are before it run from @at
 * on; one is. */
static struct red_task *first_late(struct red_task *x, cr_ns at)
{
	for (;;) {
		struct red_task *l = RB_LEFT(x, node);
		cr_ns upto = at + red_sum_of(l) + x->rest;

		if (l && at + l->late > 0) {
			x = l;
			continue;
		}
		if (upto > x->limit)
			return x;
		at = upto;
		x = RB_RIGHT(x, node);
	}
}

/* The cheapest of those up to @last. */
static struct red_task *cheapest_upto(struct red_task *x, struct red_task *last)
{
	struct red_task *found = NULL;

	while (x) {
		struct red_task *l = RB_LEFT(x, node);

		if (accepted_cmp(x, last) > 0) {
			x = l;
			continue;
		}
		found = cheapest(found, l ? l->cheapest : NULL);
		found = cheapest(found, x);
		x = RB_RIGHT(x, node);
	}
	return found;
}

struct cr_task *red_victim(struct cr_rq *rq)
{
	struct red_task *root = red_rq_of(rq)->accepted.rbh_root, *x;
	cr_ns at = red_begin(rq);

	if (!root || at + root->late <= 0)
		return NULL;
	x = first_late(root, at);
	if (red_has_time(rq, cr_task_of(x)))
		x = cheapest_upto(root, x);
	return x ? cr_task_of(x) : NULL;
}

/* --- the rejected --- */

static int rejected_cmp(struct red_task *x, struct red_task *y)
{
	return x == y ? 0 : cheaper(y, x) ? -1 : 1;
}

static cr_ns red_soonest_of(const struct red_task *x)
{
	return x ? x->soonest : CR_NEVER;
}

static void find_soonest(struct red_task *x)
{
	x->soonest = cr_ns_min(x->start,
			       cr_ns_min(red_soonest_of(RB_LEFT(x, node)),
					 red_soonest_of(RB_RIGHT(x, node))));
}

#undef RB_AUGMENT
#define RB_AUGMENT(x) find_soonest(x)
CR_TREE(red_rejected, red_task, node, rejected_cmp)

static void rejected_update(struct red_task *x)
{
	for (; x; x = RB_PARENT(x, node))
		find_soonest(x);
}

void red_reject(struct cr_rq *rq, struct cr_task *t)
{
	struct red_task *x = red_task_of(t);

	x->where = RED_REJECTED;
	set_numbers(t);
	x->start = x->soonest = red_limit_of(t) - x->rest;
	RB_INSERT(red_rejected, &red_rq_of(rq)->rejected, x);
	rejected_update(x);
}

void red_unreject(struct cr_rq *rq, struct cr_task *t)
{
	struct red_task *x = red_task_of(t), *low = lowest_change(x);

	RB_REMOVE(red_rejected, &red_rq_of(rq)->rejected, x);
	rejected_update(low);
	x->where = RED_OUT;
}

struct cr_task *red_hopeless(const struct cr_rq *rq)
{
	const struct red_rq *q = red_rq_of(rq);
	struct red_task *x = q->rejected.rbh_root;

	if (red_soonest_of(x) >= q->now)
		return NULL;
	while (x->start >= q->now) {
		struct red_task *l = RB_LEFT(x, node);

		x = red_soonest_of(l) < q->now ? l : RB_RIGHT(x, node);
	}
	return cr_task_of(x);
}

/* --- their ends --- */

static struct cr_task *owner(struct red_task *x)
{
	return x ? cr_task_of(x) : NULL;
}

struct cr_task *red_first(const struct cr_rq *rq)
{
	return owner(RB_MIN(red_accepted, &red_rq_of(rq)->accepted));
}

struct cr_task *red_best(const struct cr_rq *rq)
{
	return owner(RB_MIN(red_rejected, &red_rq_of(rq)->rejected));
}

struct cr_task *red_best_after(struct cr_task *t)
{
	return owner(RB_NEXT(red_rejected, NULL, red_task_of(t)));
}

/* --- for check() --- */

static int count_accepted(struct red_rq *q)
{
	struct red_task *x, *before = NULL;
	int n = 0;

	RB_FOREACH (x, red_accepted, &q->accepted) {
		struct red_task was = *x;

		red_sum_up(x);
		if (was.sum != x->sum || was.late != x->late ||
		    was.cheapest != x->cheapest || x->where != RED_ACCEPTED)
			return -1;
		if (before && accepted_cmp(before, x) >= 0)
			return -1;
		before = x;
		n += cr_task_of(x)->state == CR_QUEUED;
	}
	return n;
}

static int count_rejected(struct red_rq *q)
{
	struct red_task *x, *before = NULL;
	int n = 0;

	RB_FOREACH (x, red_rejected, &q->rejected) {
		cr_ns was = x->soonest;

		find_soonest(x);
		if (was != x->soonest || x->where != RED_REJECTED ||
		    cr_task_of(x)->state != CR_QUEUED)
			return -1;
		if (before && rejected_cmp(before, x) >= 0)
			return -1;
		before = x;
		n++;
	}
	return n;
}

bool red_queues_check(const struct cr_rq *rq, unsigned n)
{
	int accepted = count_accepted(red_rq_of(rq));
	int rejected = count_rejected(red_rq_of(rq));

	return accepted >= 0 && rejected >= 0 &&
	       (unsigned)(accepted + rejected) == n;
}
