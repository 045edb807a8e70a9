/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random crowds of callers for the fair policies, and the smallest crowd that
 * still fails.
 */
#ifndef TESTS_CROWD_H
#define TESTS_CROWD_H

#include "seed.h"
#include "sim_rig.h"

enum { CROWD_MAX = 48 };

/** From @start on: a frame every @period; without one, always a frame. */
struct caller {
	int nice;
	cr_ns frame;  /* cost of each; 0: one frame without end */
	cr_ns period; /* 0: half a frame */
	cr_ns start;
};

struct crowd {
	unsigned n, ncpu;
	struct caller c[CROWD_MAX];
};

/** What should hold for every crowd. */
struct crowd_property {
	const char *what; /* in words */
	/** False: not one that the property speaks about. */
	bool (*draw)(struct crowd *c, uint64_t *seed);
	/** One that turns out not to be, or is shrunk too far: crowd_mute(). */
	bool (*fails)(const struct crowd *c);
};

static bool crowd_muted;

/** fails() found that its property says nothing about the crowd. Returns
 * false. */
static inline bool crowd_mute(void)
{
	crowd_muted = true;
	return false;
}

static inline cr_ns crowd_between(uint64_t *seed, cr_ns least, cr_ns most)
{
	return least + (cr_ns)(test_random(seed) >> 1) % (most - least + 1);
}

/** @least to @most callers with nice levels from a random range. */
static inline void crowd_draw(struct crowd *c, uint64_t *seed, unsigned least,
			      unsigned most)
{
	unsigned span = 1 + test_below(seed, 40);
	int from = (int)test_below(seed, 41 - span) - 20;

	*c = (struct crowd){ .ncpu = 1 };
	c->n = (unsigned)crowd_between(seed, least, most);
	for (unsigned i = 0; i < c->n; i++)
		c->c[i].nice = from + (int)test_below(seed, span);
}

/** The same, two to twelve, with frames of 50 us to 5 ms. */
static inline bool crowd_draw_frames(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 12);
	for (unsigned i = 0; i < c->n; i++)
		c->c[i].frame = crowd_between(seed, 50 * CR_US, 5 * CR_MS);
	return true;
}

/** The same, of which the last one comes late. */
static inline bool crowd_draw_latecomer(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 12);
	c->c[c->n - 1].start = crowd_between(seed, 1, 300 * CR_MS);
	return true;
}

/** More callers than CPUs, of which there are two to four. */
static inline bool crowd_draw_cpus(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 20);
	c->ncpu = 2 + test_below(seed, 3);
	return c->n > c->ncpu;
}

/* --- in the simulator --- */

static const struct crowd *crowd_dressing;

static inline void crowd_dress(struct rig_task *r)
{
	const struct caller *c = &crowd_dressing->c[r->rig->ntasks];
	struct cr_task *t = &r->st.core.task;

	t->nice = c->nice;
	t->cost = (struct cr_cost){ .mean = CR_MS, .p99 = CR_MS };
	r->offset = c->start;
	if (c->frame)
		t->period = t->rel_deadline =
			c->period ? c->period : c->frame / 2 + 1;
}

/** Add all of @c. */
static inline void crowd_join(struct sim_rig *rig, const struct crowd *c)
{
	crowd_dressing = c;
	for (unsigned i = 0; i < c->n; i++) {
		cr_ns frame = c->c[i].frame ? c->c[i].frame : 3600 * CR_SEC;

		assert_non_null(
			rig_add_with(rig, 7200 * CR_SEC, frame, crowd_dress));
	}
}

/** @c under @ops; frames are cut or not. */
static inline struct sim_rig *crowd_rig(const struct crowd *c,
					const struct cr_sched_ops *ops,
					const char *opts,
					enum sim_preempt preempt)
{
	struct sim_rig *rig = rig_new(ops, opts, c->ncpu, c->n);

	rig->cfg.preempt = preempt;
	crowd_join(rig, c);
	return rig;
}

/** CPU time that caller @i has had by now. */
static inline cr_ns crowd_service(const struct sim_rig *rig, unsigned i)
{
	const struct rig_task *r = &rig->task[i];
	cr_ns done = (cr_ns)r->done * r->cost;

	return r->st.started
		       ? done + cr_task_ran(&r->st.core.task, sim_now(rig->sim))
		       : done;
}

/** What the policy shows of caller @i. */
static inline int64_t crowd_shown(const struct sim_rig *rig, unsigned i,
				  const char *key)
{
	struct cr_kv kv[8];
	unsigned n =
		rig->cfg.core.ops->explain(&rig->task[i].st.core.task, kv, 8);

	for (unsigned k = 0; k < n; k++)
		if (strcmp(kv[k].key, key) == 0)
			return kv[k].value;
	fail_msg("no %s", key);
	return 0;
}

/** Its weight: 1024 at nice 0. */
static inline int64_t crowd_weight(const struct sim_rig *rig, unsigned i)
{
	return crowd_shown(rig, i, "weight");
}

static inline int64_t crowd_weights(const struct sim_rig *rig)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < rig->ntasks; i++)
		sum += crowd_weight(rig, i);
	return sum;
}

/* --- looks --- */

/** Under @ops: is it @bad at any of fifty times, 40 ms apart at most? */
static inline bool crowd_fails_at_times(const struct crowd *c,
					const struct cr_sched_ops *ops,
					enum sim_preempt preempt,
					bool (*bad)(const struct sim_rig *rig,
						    const struct crowd *c))
{
	struct sim_rig *rig = crowd_rig(c, ops, NULL, preempt);
	uint64_t seed = c->n + 1;
	bool found = false;

	for (unsigned k = 0; k < 50 && !found; k++) {
		sim_run(rig->sim, sim_now(rig->sim) +
					  crowd_between(&seed, 1, 40 * CR_MS));
		found = bad(rig, c);
	}
	rig_free(rig);
	return found;
}

/** Under @ops: is the last caller, since it came, ever further ahead of caller
 * i than @most says, in time of a neutral weight? */
static inline bool crowd_latecomer_takes(
	const struct crowd *c, const struct cr_sched_ops *ops,
	cr_ns (*most)(const struct sim_rig *rig, const struct crowd *c,
		      unsigned i))
{
	struct sim_rig *rig = crowd_rig(c, ops, NULL, SIM_FULL);
	unsigned s = c->n - 1;
	cr_ns before[CROWD_MAX];
	bool bad = false;

	sim_run(rig->sim, c->c[s].start);
	for (unsigned i = 0; i < c->n; i++)
		before[i] = crowd_service(rig, i);
	for (unsigned k = 0; k < 60 && !bad; k++) {
		cr_ns had;

		sim_run(rig->sim, sim_now(rig->sim) + 700 * CR_US);
		had = crowd_service(rig, s) * 1024 / crowd_weight(rig, s);
		for (unsigned i = 0; i < s; i++) {
			cr_ns other = (crowd_service(rig, i) - before[i]) *
				      1024 / crowd_weight(rig, i);

			bad |= had - other > most(rig, c, i);
		}
	}
	rig_free(rig);
	return bad;
}

/* --- shares of several CPUs --- */

/** In ppm of a CPU: in proportion to weight, but no more than one. False: a
 * weight is within a fifth of one CPU's worth. */
static inline bool crowd_fill(const struct sim_rig *rig, const struct crowd *c,
			      int64_t *share)
{
	int64_t cpus = c->ncpu, sum = crowd_weights(rig);
	bool again = true, clear = true;

	memset(share, 0, CROWD_MAX * sizeof(share[0]));
	while (again) {
		again = false;
		for (unsigned i = 0; i < c->n; i++) {
			int64_t w = crowd_weight(rig, i);

			if (share[i] || w * cpus < sum)
				continue;
			clear &= w * cpus * 4 > sum * 5;
			share[i] = CR_PPM;
			sum -= w;
			cpus--;
			again = true;
		}
	}
	for (unsigned i = 0; i < c->n; i++)
		if (!share[i]) {
			share[i] = crowd_weight(rig, i) * cpus * CR_PPM / sum;
			clear &= share[i] < CR_PPM * 4 / 5;
		}
	return clear;
}

/** Has anybody, after 20 s under @ops, more or less than its share of the CPUs
 * by 4 % of one? By 2 % is too strict: CR_SEED=1787470752228960669. */
static inline bool crowd_unfair_on_cpus(const struct crowd *c,
					const struct cr_sched_ops *ops)
{
	struct sim_rig *rig = crowd_rig(c, ops, NULL, SIM_FULL);
	cr_ns horizon = 20 * CR_SEC;
	int64_t share[CROWD_MAX];
	bool speaks, bad = false;

	sim_run(rig->sim, horizon);
	speaks = crowd_fill(rig, c, share);
	bad = !speaks && crowd_mute();
	for (unsigned i = 0; speaks && i < c->n; i++) {
		cr_ns want = share[i] * (horizon / CR_PPM);

		bad |= llabs(crowd_service(rig, i) - want) > horizon / 25;
	}
	rig_free(rig);
	return bad;
}

/* --- the smallest that fails --- */

static inline bool crowd_drop_one(struct crowd *c,
				  const struct crowd_property *p)
{
	for (unsigned i = 0; i < c->n && c->n > 1; i++) {
		struct crowd next = *c;

		memmove(&next.c[i], &next.c[i + 1],
			(next.n - i - 1) * sizeof(next.c[0]));
		next.n--;
		if (p->fails(&next)) {
			*c = next;
			return true;
		}
	}
	return false;
}

static inline bool crowd_calm_one(struct crowd *c,
				  const struct crowd_property *p)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct crowd next = *c;

		next.c[i].nice = 0;
		if (c->c[i].nice && p->fails(&next)) {
			*c = next;
			return true;
		}
	}
	return false;
}

static inline void crowd_print(const struct crowd *c)
{
	for (unsigned i = 0; i < c->n; i++)
		(void)printf("%snice %d", i ? ", " : "", c->c[i].nice);
	for (unsigned i = 0; i < c->n; i++)
		if (c->c[i].frame || c->c[i].start)
			(void)printf("\n  %u: frames of %lld ns from %lld", i,
				     (long long)c->c[i].frame,
				     (long long)c->c[i].start);
	(void)printf("\n");
}

/** Draw until @p was tried on @crowds that it speaks about; the first that
 * breaks it is shrunk, printed, and fails the test. */
static inline void crowd_try(unsigned crowds, const struct crowd_property *p)
{
	uint64_t seed = test_seed();
	struct crowd c;

	for (unsigned k = 0; k < crowds;) {
		if (!p->draw(&c, &seed))
			continue;
		crowd_muted = false;
		if (!p->fails(&c)) {
			k += !crowd_muted;
			continue;
		}
		while (crowd_drop_one(&c, p) || crowd_calm_one(&c, p))
			;
		(void)printf("CR_SEED=%" PRIu64 ": not so: %s; crowd %u "
			     "shrunk to %u CPU(s):\n  ",
			     test_run_seed(), p->what, k, c.ncpu);
		crowd_print(&c);
		fail();
	}
}

#endif
