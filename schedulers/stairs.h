/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by staircase and rsdl: two flights of levels, 0 the top, each level
 * a list of tasks, with a bitmap of the levels that have some. One flight is
 * this round's, the other is for tasks that have had their slices; when nobody
 * is left in the first, the next round begins and they change places. All is
 * O(1), except that CPU masks may force a walk.
 *
 * A round also ends when nobody is left to run at all: see stairs_wake().
 */
#ifndef SCHEDULERS_STAIRS_H
#define SCHEDULERS_STAIRS_H

#include "cr/list.h"

/* Levels at most: the bits of a bitmap. */
#define STAIRS_LEVELS 64

/* Nice values, -20..19. */
#define STAIRS_NICES 40

struct flight {
	uint64_t occupied; /* bit n: level[n] is not empty */
	struct cr_list level[STAIRS_LEVELS];
};

struct stairs {
	struct flight flight[2]; /* of round n: [n % 2] */
	uint64_t round;
	unsigned running; /* tasks picked and not stopped */
};

struct stairs_task {
	struct cr_list_node node; /* first: list.h sees a cr_list_node */
	uint64_t round;		  /* whose slices it is using */
	unsigned base;		  /* its level by nice */
	bool turn_over;		  /* its slice was used up at the last stop */
};

static inline struct stairs_task *stairs_task_of(struct cr_list_node *n)
{
	return (struct stairs_task *)(void *)n;
}

static inline void stairs_init(struct stairs *s)
{
	for (unsigned f = 0; f < 2; f++)
		for (unsigned i = 0; i < STAIRS_LEVELS; i++)
			TAILQ_INIT(&s->flight[f].level[i]);
}

/** @t is new in @s: from nice to one of @levels. */
static inline void stairs_join(const struct stairs *s, struct cr_task *t,
			       unsigned levels)
{
	struct stairs_task *x = CR_TASK(t, struct stairs_task);

	x->base = (unsigned)(t->nice + 20) * (levels - 1) / (STAIRS_NICES - 1);
	x->round = s->round;
}

static inline struct flight *stairs_flight(struct stairs *s, uint64_t round)
{
	return &s->flight[round % 2];
}

static inline bool stairs_empty(const struct stairs *s)
{
	return !s->flight[0].occupied && !s->flight[1].occupied;
}

/** Before the enqueue of a task that slept: where nobody can run, nobody has
 * slices to use up, and the round is over. */
static inline void stairs_wake(struct stairs *s)
{
	if (!s->running && stairs_empty(s))
		s->round++;
}

/** Does @x go on with its turn, after @why? */
static inline bool stairs_goes_on(const struct stairs_task *x, enum cr_enq why)
{
	return !x->turn_over && (why == CR_ENQ_NEXT || why == CR_ENQ_REQUEUE);
}

static inline void stairs_put(struct stairs *s, struct stairs_task *x,
			      unsigned level, bool first)
{
	struct flight *f = stairs_flight(s, x->round);

	f->occupied |= UINT64_C(1) << level;
	if (first)
		TAILQ_INSERT_HEAD(&f->level[level], &x->node, link);
	else
		TAILQ_INSERT_TAIL(&f->level[level], &x->node, link);
}

static inline void stairs_take(struct stairs *s, struct stairs_task *x,
			       unsigned level)
{
	struct flight *f = stairs_flight(s, x->round);

	TAILQ_REMOVE(&f->level[level], &x->node, link);
	if (TAILQ_EMPTY(&f->level[level]))
		f->occupied &= ~(UINT64_C(1) << level);
}

static inline struct cr_task *flight_first(const struct cr_rq *rq,
					   const struct flight *f, unsigned cpu)
{
	for (uint64_t bits = f->occupied; bits; bits &= bits - 1) {
		unsigned level = (unsigned)__builtin_ctzll(bits);
		struct cr_task *t = cr_list_first(rq, &f->level[level], cpu);

		if (t)
			return t;
	}
	return NULL;
}

/** The highest task that may run on cpu[@cpu], still queued; or NULL. A task
 * of the next round only if this one has none for that CPU. */
static inline struct cr_task *stairs_first(const struct cr_rq *rq,
					   struct stairs *s, unsigned cpu)
{
	struct cr_task *t;

	if (!stairs_flight(s, s->round)->occupied && !stairs_empty(s))
		s->round++;
	t = flight_first(rq, stairs_flight(s, s->round), cpu);
	return t ? t : flight_first(rq, stairs_flight(s, s->round + 1), cpu);
}

/** Does @a on level @la come before @b on @lb? Equals take turns, they do not
 * preempt one another. */
static inline bool stairs_before(const struct stairs *s,
				 const struct stairs_task *a, unsigned la,
				 const struct stairs_task *b, unsigned lb)
{
	bool a_waits = a->round > s->round, b_waits = b->round > s->round;

	return a_waits != b_waits ? b_waits : la < lb;
}

/** Are bitmaps and lists of one mind, are all queued tasks in them, and each
 * where @level_of says? */
static inline bool stairs_check(const struct cr_rq *rq, const struct stairs *s,
				unsigned (*level_of)(const struct cr_task *t))
{
	unsigned count = 0;
	struct cr_list_node *n;

	for (unsigned i = 0; i < 2 * STAIRS_LEVELS; i++) {
		unsigned level = i / 2;
		const struct flight *f = &s->flight[i % 2];

		if (TAILQ_EMPTY(&f->level[level]) !=
		    !(f->occupied >> level & 1))
			return false;
		TAILQ_FOREACH (n, &f->level[level], link) {
			const struct cr_task *t = cr_task_of(n);
			uint64_t ahead = stairs_task_of(n)->round - s->round;

			if (t->state != CR_QUEUED || t->rq != rq || ahead > 1 ||
			    (s->round + ahead) % 2 != i % 2 ||
			    level_of(t) != level)
				return false;
			count++;
		}
	}
	return count == rq->nqueued;
}

#endif
