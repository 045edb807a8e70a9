/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of one receiver. A slot's list is in the order of arming, so timers of
 * one tick are taken in that order unless they came from level 1.
 */
#include "media/wheel.h"

#include "base/thread.h"

#define BLOCK ((int64_t)WHEEL_SLOTS)

/* Of wheel_entry.place; those of slots begin at PLACE_SLOTS. */
enum { PLACE_NONE, PLACE_READY, PLACE_SLOTS };

void wheel_init(struct wheel *w, cr_ns now)
{
	*w = (struct wheel){ .now = now / WHEEL_TICK };
	TAILQ_INIT(&w->ready);
	for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
		TAILQ_INIT(&w->level[0].slot[i]);
		TAILQ_INIT(&w->level[1].slot[i]);
	}
	atomic_store_explicit(&w->due, CR_NEVER, memory_order_relaxed);
	thread_lock_init(&w->lock);
}

void wheel_fini(struct wheel *w)
{
	(void)pthread_mutex_destroy(&w->lock);
}

/* --- slots --- */

static struct wheel_list *list_at(struct wheel *w, unsigned place)
{
	unsigned slot = place - PLACE_SLOTS;

	if (place == PLACE_READY)
		return &w->ready;
	return &w->level[slot / WHEEL_SLOTS].slot[slot % WHEEL_SLOTS];
}

static void mark(struct wheel *w, unsigned place, bool used)
{
	unsigned slot = place - PLACE_SLOTS;
	uint64_t bit = UINT64_C(1) << slot % 64, *word;

	if (place == PLACE_READY)
		return;
	word = &w->level[slot / WHEEL_SLOTS].used[slot % WHEEL_SLOTS / 64];
	*word = used ? *word | bit : *word & ~bit;
}

static void hang(struct wheel *w, struct wheel_entry *e, unsigned place)
{
	TAILQ_INSERT_TAIL(list_at(w, place), e, link);
	e->place = place;
	mark(w, place, true);
}

static void take_off(struct wheel *w, struct wheel_entry *e)
{
	struct wheel_list *list;

	if (e->place == PLACE_NONE)
		return;
	list = list_at(w, e->place);
	TAILQ_REMOVE(list, e, link);
	if (TAILQ_EMPTY(list))
		mark(w, e->place, false);
	e->place = PLACE_NONE;
}

/* The place of a timer of @tick. */
static unsigned place_of_tick(const struct wheel *w, int64_t tick)
{
	int64_t block = w->now / BLOCK, blocks = tick / BLOCK - block;

	if (tick <= w->now)
		return PLACE_READY;
	if (tick - w->now < BLOCK)
		return PLACE_SLOTS + (unsigned)(tick % BLOCK);
	if (blocks >= BLOCK)
		blocks = BLOCK - 1;
	return PLACE_SLOTS + WHEEL_SLOTS + (unsigned)((block + blocks) % BLOCK);
}

/* How far behind @from, a slot of @l, the next one with timers is: 1 to
 * WHEEL_SLOTS - 1, or 0: there is none. */
static unsigned next_used(const struct wheel_level *l, unsigned from)
{
	for (unsigned ahead = 1; ahead < WHEEL_SLOTS;) {
		unsigned slot = (from + ahead) % WHEEL_SLOTS;
		uint64_t rest = l->used[slot / 64] >> slot % 64;

		if (rest) {
			ahead += (unsigned)__builtin_ctzll(rest);
			return ahead < WHEEL_SLOTS ? ahead : 0;
		}
		ahead += 64 - slot % 64;
	}
	return 0;
}

/* The next tick at which something is to be done; CR_NEVER: none. */
static int64_t next_tick(const struct wheel *w)
{
	int64_t block = w->now / BLOCK;
	unsigned near = next_used(&w->level[0], (unsigned)(w->now % BLOCK));
	unsigned far = next_used(&w->level[1], (unsigned)(block % BLOCK));
	int64_t tick = near ? w->now + near : CR_NEVER;

	return far ? cr_ns_min(tick, (block + far) * BLOCK) : tick;
}

/* --- time --- */

/* All of the slot @place go where they belong now. */
static void rehang_slot(struct wheel *w, unsigned place)
{
	struct wheel_list *list = list_at(w, place);
	struct wheel_entry *e;

	while ((e = TAILQ_FIRST(list))) {
		take_off(w, e);
		hang(w, e, place_of_tick(w, e->tick));
	}
}

static void advance_wheel(struct wheel *w, int64_t to)
{
	int64_t tick;

	while ((tick = next_tick(w)) <= to) {
		w->now = tick;
		if (tick % BLOCK == 0)
			rehang_slot(w,
				    PLACE_SLOTS + WHEEL_SLOTS +
					    (unsigned)(tick / BLOCK % BLOCK));
		rehang_slot(w, PLACE_SLOTS + (unsigned)(tick % BLOCK));
	}
	if (to > w->now)
		w->now = to;
}

static void publish(struct wheel *w)
{
	int64_t tick = TAILQ_EMPTY(&w->ready) ? next_tick(w) : w->now;

	atomic_store_explicit(&w->due,
			      tick == CR_NEVER ? CR_NEVER : tick * WHEEL_TICK,
			      memory_order_relaxed);
}

/* --- API --- */

bool wheel_arm(struct wheel *w, struct wheel_entry *e, cr_ns due)
{
	cr_ns before;
	bool earlier;

	(void)pthread_mutex_lock(&w->lock);
	before = wheel_due(w);
	take_off(w, e);
	if (due != CR_NEVER && !e->closed) {
		e->tick = due / WHEEL_TICK + (due % WHEEL_TICK > 0);
		hang(w, e, place_of_tick(w, e->tick));
	}
	publish(w);
	earlier = wheel_due(w) < before;
	(void)pthread_mutex_unlock(&w->lock);
	return earlier;
}

void wheel_disarm(struct wheel *w, struct wheel_entry *e)
{
	(void)wheel_arm(w, e, CR_NEVER);
}

void wheel_close(struct wheel *w, struct wheel_entry *e)
{
	(void)pthread_mutex_lock(&w->lock);
	take_off(w, e);
	e->closed = true;
	publish(w);
	(void)pthread_mutex_unlock(&w->lock);
}

void wheel_reopen(struct wheel *w, struct wheel_entry *e)
{
	(void)pthread_mutex_lock(&w->lock);
	e->closed = false;
	(void)pthread_mutex_unlock(&w->lock);
}

unsigned wheel_take(struct wheel *w, cr_ns now, struct wheel_entry **out,
		    unsigned n)
{
	struct wheel_entry *e;
	unsigned taken = 0;

	(void)pthread_mutex_lock(&w->lock);
	advance_wheel(w, now / WHEEL_TICK);
	while (taken < n && (e = TAILQ_FIRST(&w->ready))) {
		take_off(w, e);
		out[taken++] = e;
	}
	publish(w);
	(void)pthread_mutex_unlock(&w->lock);
	return taken;
}
