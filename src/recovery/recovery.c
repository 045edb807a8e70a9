/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of looks at workers and tasks, and what is done about findings.
 */
#include "recovery/recovery.h"

#include <errno.h>
#include <stdlib.h>

#include "recovery/state.h"

int recovery_open(struct recovery **out, const struct recovery_config *cfg)
{
	struct recovery *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	r->dog.limit = r->counts.limit = cfg->limit;
	r->worker = calloc(cfg->workers, sizeof(*r->worker));
	if (!r->worker || contexts_open(r)) {
		recovery_close(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void recovery_close(struct recovery *r)
{
	if (!r)
		return;
	contexts_close(r);
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

static void found(struct recovery *r, struct recovery_finding f)
{
	r->cfg.client.found(r->cfg.client.arg, &f);
}

/* --- workers --- */

static void start_worker(struct recovery *r, unsigned worker)
{
	struct watch_worker *w = &r->worker[worker];
	struct cr_err e = { "" };

	if (r->ending || !live_start_worker(r->live, worker, &e))
		return;
	r->counts.lost++;
	if (!w->told)
		found(r, (struct recovery_finding){ .event = RECOVERY_VACANT,
						    .worker = worker,
						    .why = e.text });
	w->told = true;
}

static void no_spare(struct recovery *r, unsigned worker, int err)
{
	struct watch_worker *w = &r->worker[worker];

	r->counts.lost++;
	if (!w->told)
		found(r, (struct recovery_finding){ .event = RECOVERY_NO_SPARE,
						    .worker = worker,
						    .err = err });
	w->told = true;
}

static void replace(struct recovery *r, unsigned worker,
		    const struct live_worker_look *look)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *stuck = recovery_context(r, worker);
	int spare = r->ending ? 0 : contexts_spare(r);

	if (spare < 0) {
		no_spare(r, worker, spare);
		return;
	}
	if (!live_detach(r->live, worker, look))
		return; /* it is back, or about to be */
	r->counts.hung++;
	r->counts.away++;
	found(r, (struct recovery_finding){ .event = RECOVERY_STUCK,
					    .worker = worker,
					    .task = look->task,
					    .since = look->picked });
	client->rescue(client->arg, stuck, look->task);
	if (!r->ending) {
		contexts_put(r, worker, (unsigned)spare);
		start_worker(r, worker);
	}
	client->over(client->arg, look->task);
}

static void look_at_worker(struct recovery *r, unsigned worker)
{
	struct watch_worker *w = &r->worker[worker];
	struct live_worker_look look = { 0 };
	struct live_worker_use use;
	bool at_work = live_look_worker(r->live, worker, &look);

	if (!at_work)
		start_worker(r, worker); /* if that has failed before */
	if (!watch_worker_suspect(w, at_work, look.picked))
		return;
	live_look_use(r->live, worker, &use);
	if (watch_worker(w, &r->dog, use.runnable, use.cpu))
		replace(r, worker, &look);
}

void recovery_round(struct recovery *r, cr_ns now)
{
	watchdog_begin(&r->dog, now);
	r->counts.away = live_join_detached(r->live);
	r->counts.lost = 0;
	for (unsigned w = 0; w < r->cfg.workers; w++)
		look_at_worker(r, w);
	r->counts.starved = 0;
}

/* --- tasks --- */

static struct watch_look look_inside(const struct recovery *r,
				     struct live_task *t)
{
	struct live_task_look in;

	live_look_task(r->live, t, &in);
	return (struct watch_look){ .now = r->dog.last,
				    .state = in.state,
				    .release = in.release,
				    .eligible = in.eligible,
				    .idle = in.idle,
				    .idles = in.idles };
}

static void wake_again(struct recovery *r, struct live_task *t,
		       enum cr_state state)
{
	found(r, (struct recovery_finding){ .event = RECOVERY_STALLED,
					    .task = t,
					    .state = state });
	r->counts.stalled++;
	live_wake_again(r->live, t);
}

/* When the fallback has it already there is nobody else to try: the next round
 * finds it again. */
static void blame_policy(struct recovery *r, struct live_task *t)
{
	const char *policy = live_scheduler(r->live);

	if (!live_blame_policy(r->live, t))
		return;
	r->counts.forgotten++;
	found(r, (struct recovery_finding){ .event = RECOVERY_FORGOTTEN,
					    .task = t,
					    .why = policy });
}

void recovery_task(struct recovery *r, struct watch_task *w,
		   struct live_task *t, bool waiting, uint64_t done)
{
	struct watch_look look;

	if (!watch_task_suspect(w, waiting, done))
		return;
	look = look_inside(r, t);
	switch (watch_task(w, &r->dog, &look)) {
	case WATCH_FINE:
		break;
	case WATCH_STARVED:
		r->counts.starved++;
		break;
	case WATCH_STALLED:
		wake_again(r, t, look.state);
		break;
	case WATCH_FORGOTTEN:
		blame_policy(r, t);
		break;
	}
}
