/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ages of what does not advance, look by look.
 *
 * Rounds of looks at workers and tasks, and what is done about findings.
 *
 * The contexts of threads: one for each place, and spares for those in the
 * place of stuck ones, made when they are needed.
 */
#include "recovery/recovery.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL_MIN (10 * CR_MS)
#define INTERVAL_MAX CR_SEC

cr_ns watchdog_interval(cr_ns limit)
{
	cr_ns quarter = limit / 4;

	if (quarter < INTERVAL_MIN)
		return INTERVAL_MIN;
	return quarter < INTERVAL_MAX ? quarter : INTERVAL_MAX;
}

/* Twice the interval: this thread, too, may have to wait for its CPU. */
void watchdog_begin(struct watchdog *w, cr_ns now)
{
	cr_ns most = 2 * watchdog_interval(w->limit);
	cr_ns passed = w->last ? now - w->last : 0;

	w->step = passed < most ? passed : most;
	w->last = now;
}

bool watch_worker_suspect(struct watch_worker *w, bool at_work, cr_ns picked)
{
	if (at_work && picked == w->picked)
		return true;
	*w = (struct watch_worker){ .picked = at_work ? picked : 0 };
	return false;
}

bool watch_worker(struct watch_worker *w, const struct watchdog *dog,
		  bool runnable, cr_ns cpu)
{
	cr_ns ran = w->known ? cpu - w->cpu : dog->step;

	w->age += runnable && ran < dog->step ? ran : dog->step;
	w->cpu = cpu;
	w->known = true;
	return w->age >= dog->limit;
}

bool watch_task_suspect(struct watch_task *c, bool waiting, uint64_t done)
{
	bool same = waiting && done == c->done;

	c->done = done;
	if (!same)
		c->known = false;
	return same;
}

/* A queued task ages while somebody could have run it. A frame that is early
 * may be held back (see cr_sched_ops). */
static void grow_old(struct watch_task *c, const struct watchdog *dog,
		     const struct watch_look *look)
{
	bool idle = look->idle || look->idles != c->idles;

	c->idles = look->idles;
	if (look->state == CR_QUEUED && look->now < look->eligible)
		return;
	if (look->state == CR_QUEUED && !idle) {
		c->age = 0;
		c->starving += dog->step;
		return;
	}
	c->age += dog->step;
	c->starving = 0;
}

enum watch_finding watch_task(struct watch_task *c, const struct watchdog *dog,
			      const struct watch_look *look)
{
	if (!c->known || look->release != c->release ||
	    look->state != c->state || look->state == CR_RUNNING) {
		c->known = true;
		c->woken = false;
		c->release = look->release;
		c->state = look->state;
		c->idles = look->idles;
		c->age = c->starving = 0;
		return WATCH_FINE;
	}
	grow_old(c, dog, look);
	if (c->starving >= dog->limit)
		return WATCH_STARVED;
	if (c->age < dog->limit)
		return WATCH_FINE;
	c->age = 0;
	if (c->woken && look->state == CR_QUEUED)
		return WATCH_FORGOTTEN;
	c->woken = true;
	return WATCH_STALLED;
}

struct recovery {
	struct recovery_config cfg;
	struct live *live;
	/** [ncontexts], some NULL. Written by control (release). */
	struct recovery_context *_Atomic *context;
	unsigned ncontexts;
	unsigned *at; /**< [cfg.places] which of them is there; control, and a
		       * thread that starts there                          */
	struct watch_worker *worker; /**< [cfg.workers] */
	struct watchdog dog;
	struct recovery_counts counts;
	bool ending;
};

static struct recovery_context *context(const struct recovery *r, unsigned i)
{
	/* acquire, pairs with make_context() */
	return atomic_load_explicit(&r->context[i], memory_order_acquire);
}

static int make_context(struct recovery *r, unsigned i)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *c = client->context_new(client->arg);

	if (!c)
		return -ENOMEM;
	atomic_store_explicit(&r->context[i], c, memory_order_release);
	return 0;
}

static void put_context(struct recovery *r, unsigned place, unsigned i,
			const struct recovery_context *before)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *c = context(r, i);

	client->context_for(client->arg, c, place, before);
	r->at[place] = i;
	atomic_store_explicit(&c->busy, true, memory_order_relaxed);
}

/** A context that no thread has; -ENOMEM; -EAGAIN: all spares are taken. */
static int contexts_spare(struct recovery *r)
{
	for (unsigned i = 0; i < r->ncontexts; i++) {
		const struct recovery_context *c = context(r, i);

		/* acquire, pairs with recovery_leave_slot() */
		if (c && !atomic_load_explicit(&c->busy, memory_order_acquire))
			return (int)i;
	}
	for (unsigned i = 0; i < r->ncontexts; i++)
		if (!context(r, i))
			return make_context(r, i) ? -ENOMEM : (int)i;
	return -EAGAIN;
}

struct recovery_context *recovery_context(const struct recovery *r,
					  unsigned place)
{
	return context(r, r->at[place]);
}

struct recovery_context *recovery_take_slot(struct recovery *r, unsigned place)
{
	struct recovery_context *c = recovery_context(r, place);

	/* a thread per task takes a place anew, on which another has sat */
	atomic_store_explicit(&c->busy, true, memory_order_relaxed);
	atomic_store_explicit(&c->used, true, memory_order_relaxed);
	return c;
}

void recovery_leave_slot(struct recovery_context *c)
{
	/* release, pairs with contexts_spare() */
	atomic_store_explicit(&c->busy, false, memory_order_release);
}

struct recovery_context *recovery_used(const struct recovery *r, unsigned i)
{
	struct recovery_context *c = context(r, i);

	return c && atomic_load_explicit(&c->used, memory_order_relaxed) ? c
									 : NULL;
}

unsigned recovery_ncontexts(const struct recovery *r)
{
	return r->ncontexts;
}

int recovery_open(struct recovery **out, const struct recovery_config *cfg)
{
	struct recovery *r = calloc(1, sizeof(*r));
	bool failed;

	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	r->dog.limit = r->counts.limit = cfg->limit;
	r->worker = calloc(cfg->workers, sizeof(*r->worker));
	r->ncontexts = cfg->places + cfg->spares;
	r->context = calloc(r->ncontexts, sizeof(*r->context));
	r->at = calloc(cfg->places, sizeof(*r->at));
	failed = !r->worker || !r->context || !r->at;
	for (unsigned i = 0; i < cfg->places && !failed; i++) {
		failed = make_context(r, i);
		if (!failed)
			put_context(r, i, i, NULL);
	}
	if (failed) {
		recovery_close(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void recovery_close(struct recovery *r)
{
	const struct recovery_client *client;

	if (!r)
		return;
	client = &r->cfg.client;
	for (unsigned i = 0; r->context && i < r->ncontexts; i++)
		if (context(r, i))
			client->context_free(client->arg, context(r, i));
	free(r->context);
	free(r->at);
	free(r->worker);
	free(r);
}

void recovery_of(struct recovery *r, struct live *l)
{
	r->live = l;
}

cr_ns recovery_interval(const struct recovery *r)
{
	return r->dog.limit ? watchdog_interval(r->dog.limit) : 0;
}

void recovery_end(struct recovery *r, cr_ns limit)
{
	r->ending = true;
	if (!r->dog.limit)
		r->dog.limit = r->counts.limit = limit;
}

struct recovery_counts recovery_counts(const struct recovery *r)
{
	return r->counts;
}

static void report_finding(struct recovery *r, struct recovery_finding f)
{
	r->cfg.client.found(r->cfg.client.arg, &f);
}

/* --- workers --- */

static void lose_worker(struct recovery *r, struct recovery_finding why)
{
	struct watch_worker *w = &r->worker[why.worker];

	r->counts.lost++;
	if (!w->reported)
		report_finding(r, why);
	w->reported = true;
}

static void start_worker(struct recovery *r, unsigned worker)
{
	struct cr_err e = { "" };

	if (!r->ending && live_start_worker(r->live, worker, &e))
		lose_worker(r,
			    (struct recovery_finding){ .event = RECOVERY_VACANT,
						       .worker = worker,
						       .why = e.text });
}

static void replace_worker(struct recovery *r, unsigned worker,
			   const struct live_worker_look *look)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *stuck = recovery_context(r, worker);
	int spare = r->ending ? 0 : contexts_spare(r);

	if (spare < 0) {
		lose_worker(r, (struct recovery_finding){
				       .event = RECOVERY_NO_SPARE,
				       .worker = worker,
				       .err = spare });
		return;
	}
	if (!live_detach(r->live, worker, look))
		return; /* it is back, or about to be */
	r->counts.hung++;
	r->counts.away++;
	report_finding(r, (struct recovery_finding){ .event = RECOVERY_STUCK,
						     .worker = worker,
						     .task = look->task,
						     .since = look->picked });
	client->rescue(client->arg, stuck, look->task);
	if (!r->ending) {
		put_context(r, worker, (unsigned)spare,
			    recovery_context(r, worker));
		start_worker(r, worker);
	}
	client->over(client->arg, look->task);
}

void recovery_round(struct recovery *r, cr_ns now)
{
	watchdog_begin(&r->dog, now);
	r->counts.away = live_join_detached(r->live);
	r->counts.lost = 0;
	for (unsigned i = 0; i < r->cfg.workers; i++) {
		struct watch_worker *w = &r->worker[i];
		struct live_worker_look look = { 0 };
		struct live_worker_use use;
		bool at_work = live_look_worker(r->live, i, &look);

		if (!at_work)
			start_worker(r, i); /* if that has failed before */
		if (!watch_worker_suspect(w, at_work, look.picked))
			continue;
		live_look_use(r->live, i, &use);
		if (watch_worker(w, &r->dog, use.runnable, use.cpu))
			replace_worker(r, i, &look);
	}
	r->counts.starved = 0;
}

/* --- tasks --- */

void recovery_task(struct recovery *r, struct watch_task *w,
		   struct live_task *t, bool waiting, uint64_t done)
{
	const char *policy;
	struct live_task_look in;
	struct watch_look look;

	if (!watch_task_suspect(w, waiting, done))
		return;
	live_look_task(r->live, t, &in);
	look = (struct watch_look){ .now = r->dog.last,
				    .state = in.state,
				    .release = in.release,
				    .eligible = in.eligible,
				    .idle = in.idle,
				    .idles = in.idles };
	switch (watch_task(w, &r->dog, &look)) {
	case WATCH_FINE:
		break;
	case WATCH_STARVED:
		r->counts.starved++;
		break;
	case WATCH_STALLED:
		report_finding(
			r, (struct recovery_finding){ .event = RECOVERY_STALLED,
						      .task = t,
						      .state = look.state });
		r->counts.stalled++;
		live_wake_again(r->live, t);
		break;
	case WATCH_FORGOTTEN:
		policy = live_scheduler(r->live);
		/* When the fallback has it already there is nobody else to
		 * try: the next round finds it again. */
		if (!live_blame_policy(r->live, t))
			break;
		r->counts.forgotten++;
		report_finding(r, (struct recovery_finding){
					  .event = RECOVERY_FORGOTTEN,
					  .task = t,
					  .why = policy });
		break;
	}
}
