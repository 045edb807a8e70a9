/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random periodic task sets, and the smallest one that still fails.
 *
 * Utilisations are drawn as UUniFast does (Bini and Buttazzo: evenly over all
 * ways to share out the sum), here as the gaps between sorted random cuts, in
 * integers. Costs are rounded so that the sum never exceeds the target; it is
 * counted exactly when the periods divide one number, else in ppm, rounded up.
 *
 *	struct task_set_shape shape = { .tasks = { 2, 8 },
 *					.util_ppm = CR_PPM,
 *					.period = { 4, 60 },
 *					.hyper = 240 };
 *	struct task_set_property edf = { .what = "edf meets all deadlines",
 *					 .fails = misses_a_deadline };
 *	task_set_try(1000, &shape, &edf);
 */
#ifndef TESTS_TASK_SET_H
#define TESTS_TASK_SET_H

#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "cr/sched.h"
#include "seed.h"

enum { TASK_SET_MAX = 32, TASK_SET_PERIODS = 512 };

/** 0 < cost, deadline (relative); cost <= period. */
struct set_task {
	cr_ns period, cost, deadline;
	enum cr_class cls;
};

struct task_set {
	unsigned n;
	struct set_task task[TASK_SET_MAX];
};

/** What sets to draw. Times are in any unit; periods up to 10^9. */
struct task_set_shape {
	unsigned tasks[2]; /**< least, most; a task too many for @util_ppm is
				left out                                */
	int64_t util_ppm;  /**< sum of cost / period, at most           */
	const cr_ns *list; /**< the periods, ending in 0; or NULL and:  */
	cr_ns period[2];   /**< least, most                             */
	cr_ns hyper;	   /**< they divide this; 0: any                */
	bool harmonic;	   /**< period[0] times 2s and 3s, each a multiple
				of the smaller ones; @hyper is not used */
	bool full;	   /**< exactly util_ppm: one task more takes what is
				left; @hyper or harmonic                */
	bool constrained;  /**< deadlines from cost to period           */
	bool dhall;	   /**< beyond @util_ppm comes one task more, of nearly
				a CPU and a period a little above all   */
	bool mixed;	   /**< classes by chance, else all are @cls    */
	enum cr_class cls;
};

/* --- drawing --- */

static inline cr_ns set_between(uint64_t *seed, cr_ns least, cr_ns most)
{
	return least + (cr_ns)(test_random(seed) >> 1) % (most - least + 1);
}

/* The periods to draw from; *@hyper becomes a common multiple, or 0. */
static inline unsigned set_periods(const struct task_set_shape *s,
				   uint64_t *seed, cr_ns *period, cr_ns *hyper)
{
	unsigned n = 0;

	*hyper = s->hyper;
	if (s->list)
		while (s->list[n] && n < TASK_SET_PERIODS) {
			period[n] = s->list[n];
			n++;
		}
	else if (s->harmonic)
		for (cr_ns p = s->period[0]; p <= s->period[1];
		     p *= set_between(seed, 2, 3))
			*hyper = period[n++] = p;
	else if (s->hyper)
		for (cr_ns p = s->period[0]; p <= s->period[1]; p++)
			if (s->hyper % p == 0 && n < TASK_SET_PERIODS)
				period[n++] = p;
	return n;
}

static inline int set_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Share out @sum ppm to @n tasks, at most 1.0 each. */
static inline void set_shares(uint64_t *seed, unsigned n, int64_t sum,
			      int64_t *share)
{
	int64_t cut[TASK_SET_MAX + 1] = { 0 }, over = 0;

	for (unsigned i = 1; i < n; i++)
		cut[i] = set_between(seed, 0, sum);
	cut[n] = sum;
	qsort(cut, n + 1, sizeof(cut[0]), set_cmp);
	for (unsigned i = 0; i < n; i++) {
		share[i] = cr_ns_min(cut[i + 1] - cut[i] + over, CR_PPM);
		over += cut[i + 1] - cut[i] - share[i];
	}
	for (unsigned i = 0; i < n; i++) {
		int64_t more = cr_ns_min(over, CR_PPM - share[i]);

		share[i] += more;
		over -= more;
	}
}

/* Utilisation in parts of @whole, rounded up; exact if the period divides. */
static inline int64_t set_units(cr_ns cost, cr_ns period, int64_t whole)
{
	return (cost * whole + period - 1) / period;
}

static inline void set_join(struct task_set *set, uint64_t *seed,
			    const struct task_set_shape *s, cr_ns period,
			    cr_ns cost)
{
	struct set_task *t = &set->task[set->n++];

	*t = (struct set_task){ period, cost, period, s->cls };
	if (s->constrained)
		t->deadline = set_between(seed, cost, period);
	if (s->mixed)
		t->cls = (enum cr_class)test_below(seed, CR_NCLASSES);
}

/** Draw a set of shape @s. */
static inline struct task_set task_set_draw(const struct task_set_shape *s,
					    uint64_t *seed)
{
	cr_ns period[TASK_SET_PERIODS], hyper;
	int64_t share[TASK_SET_MAX], whole, left;
	unsigned nperiods = set_periods(s, seed, period, &hyper);
	unsigned n = (unsigned)set_between(seed, s->tasks[0], s->tasks[1]);
	struct task_set set = { 0 };

	assert_true(n > 0 && n < TASK_SET_MAX);
	assert_true(nperiods || !(s->list || s->harmonic || s->hyper));
	whole = hyper ? hyper : CR_PPM;
	left = s->util_ppm * whole / CR_PPM;
	set_shares(seed, n, s->util_ppm, share);
	for (unsigned i = 0; i < n; i++) {
		cr_ns p = nperiods ? period[test_below(seed, nperiods)]
				   : set_between(seed, s->period[0],
						 s->period[1]);
		cr_ns cost = cr_ns_max(1, share[i] * p / CR_PPM);

		cost = cr_ns_min(cost, left * p / whole);
		if (cost == 0)
			continue;
		left -= set_units(cost, p, whole);
		set_join(&set, seed, s, p, cost);
	}
	for (; s->full && left > 0 && set.n < TASK_SET_MAX;
	     left -= cr_ns_min(left, hyper))
		set_join(&set, seed, s, hyper, cr_ns_min(left, hyper));
	if (s->dhall) {
		cr_ns p = set_between(seed, s->period[1] + 1,
				      s->period[1] * 3 / 2);

		set_join(&set, seed, s, p, set_between(seed, p * 9 / 10, p));
	}
	return set;
}

/* --- properties of a set --- */

/** Least common multiple of the periods, at most @most. */
static inline cr_ns task_set_hyper(const struct task_set *set, cr_ns most)
{
	cr_ns hyper = 1;

	for (unsigned i = 0; i < set->n; i++) {
		cr_ns a = hyper, b = set->task[i].period;

		while (b) {
			cr_ns rest = a % b;

			a = b;
			b = rest;
		}
		if (set->task[i].period / a > most / hyper)
			return most;
		hyper *= set->task[i].period / a;
	}
	return hyper;
}

/** Sum of cost / period in ppm, each rounded up. */
static inline int64_t task_set_util(const struct task_set *set)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < set->n; i++)
		sum += set_units(set->task[i].cost, set->task[i].period,
				 CR_PPM);
	return sum;
}

/* --- shrinking --- */

/** What should hold for every set. */
struct task_set_property {
	const char *what; /**< in words */
	/** Does @set break it, and is it a set the property speaks about? A
	 * shrunk set may have any periods: look at a bounded horizon. */
	bool (*fails)(const struct task_set *set, void *arg);
	void *arg;
};

static inline bool set_try(struct task_set *set, const struct task_set *next,
			   const struct task_set_property *p)
{
	if (!p->fails(next, p->arg))
		return false;
	*set = *next;
	return true;
}

static inline bool set_drop_one(struct task_set *set,
				const struct task_set_property *p)
{
	for (unsigned i = 0; i < set->n && set->n > 1; i++) {
		struct task_set next = *set;

		memmove(&next.task[i], &next.task[i + 1],
			(next.n - i - 1) * sizeof(next.task[0]));
		next.n--;
		if (set_try(set, &next, p))
			return true;
	}
	return false;
}

static inline bool set_is_sane(const struct set_task *t)
{
	return t->cost > 0 && t->cost <= t->period && t->deadline > 0;
}

/* Simpler ways to write a task, the boldest first. 0: no more. */
static inline bool set_simpler(struct set_task *t, unsigned way)
{
	bool implicit = t->deadline == t->period;

	switch (way) {
	case 0:
		t->cost = 1;
		break;
	case 1:
		t->deadline = t->period;
		break;
	case 2:
		t->period /= 2;
		t->cost = (t->cost + 1) / 2;
		break;
	case 3:
		t->cost /= 2;
		break;
	case 4:
		t->period /= 2;
		break;
	case 5:
		t->cost--;
		break;
	case 6:
		t->period--;
		break;
	default:
		return false;
	}
	if (implicit || t->deadline > t->period)
		t->deadline = t->period;
	return true;
}

static inline bool set_simplify_one(struct task_set *set,
				    const struct task_set_property *p)
{
	for (unsigned way = 0;; way++)
		for (unsigned i = 0; i < set->n; i++) {
			struct task_set next = *set;

			if (!set_simpler(&next.task[i], way))
				return false;
			if (memcmp(&next, set, sizeof(next)) &&
			    set_is_sane(&next.task[i]) &&
			    set_try(set, &next, p))
				return true;
		}
}

/** Make @set, which breaks @p, as small and simple as it still does. */
static inline void task_set_shrink(struct task_set *set,
				   const struct task_set_property *p)
{
	while (set_drop_one(set, p) || set_simplify_one(set, p))
		;
}

/** "(T 10 C 3) (T 20 C 5 D 7 hard)": into @buf. */
static inline const char *task_set_text(const struct task_set *set, char *buf,
					size_t size)
{
	static const char *const cls[] = { " hard", "", " best-effort" };
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < set->n && at < size; i++) {
		const struct set_task *t = &set->task[i];

		at += (size_t)snprintf(buf + at, size - at, "%s(T %lld C %lld",
				       i ? " " : "", (long long)t->period,
				       (long long)t->cost);
		if (t->deadline != t->period && at < size)
			at += (size_t)snprintf(buf + at, size - at, " D %lld",
					       (long long)t->deadline);
		if (at < size)
			at += (size_t)snprintf(buf + at, size - at, "%s)",
					       cls[t->cls]);
	}
	return buf;
}

/* --- trying --- */

enum { SEEN_SLOTS = 4096, DRAWS = 100 };

/* Hashes of the sets that were tried; 0: free. */
struct sets_seen {
	uint64_t hash[SEEN_SLOTS];
};

/* FNV-1a over the numbers of @set; never 0. */
static inline uint64_t set_hash(const struct task_set *set)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned i = 0; i < set->n; i++) {
		const struct set_task *t = &set->task[i];
		const uint64_t part[] = { (uint64_t)t->period,
					  (uint64_t)t->cost,
					  (uint64_t)t->deadline,
					  (uint64_t)t->cls };

		for (unsigned k = 0; k < 4; k++)
			hash = (hash ^ part[k]) * UINT64_C(0x100000001b3);
	}
	return hash ? hash : 1;
}

/* False: it has been noted before. */
static inline bool set_note(struct sets_seen *seen, const struct task_set *set)
{
	uint64_t hash = set_hash(set);
	unsigned at = hash % SEEN_SLOTS;

	while (seen->hash[at] && seen->hash[at] != hash)
		at = (at + 1) % SEEN_SLOTS;
	if (seen->hash[at])
		return false;
	seen->hash[at] = hash;
	return true;
}

/* A set that is not empty and was not tried yet, unless the shape seems to have
 * no more. */
static inline struct task_set set_draw_new(const struct task_set_shape *shape,
					   uint64_t *seed,
					   struct sets_seen *seen)
{
	struct task_set set = task_set_draw(shape, seed);

	for (unsigned k = 1; k < DRAWS && !(set.n && set_note(seen, &set)); k++)
		set = task_set_draw(shape, seed);
	return set;
}

/** Draw @sets sets, other ones with every call and no two alike as long as the
 * shape has enough of them. The first that breaks @p is shrunk, printed with
 * CR_SEED, and fails the test. */
static inline void task_set_try(unsigned sets,
				const struct task_set_shape *shape,
				const struct task_set_property *p)
{
	struct sets_seen seen = { 0 };
	uint64_t seed = test_seed();
	char text[2048];

	assert_true(sets < SEEN_SLOTS);
	for (unsigned round = 0; round < sets; round++) {
		struct task_set set = set_draw_new(shape, &seed, &seen);
		unsigned n = set.n;

		if (!p->fails(&set, p->arg))
			continue;
		task_set_shrink(&set, p);
		fail_msg("CR_SEED=%" PRIu64 ": %s: set %u, shrunk from %u to "
			 "%u tasks: %s",
			 test_run_seed(), p->what, round, n, set.n,
			 task_set_text(&set, text, sizeof(text)));
	}
}

#endif
