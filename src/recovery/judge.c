/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ages of what does not advance, look by look.
 */
#include "recovery/judge.h"

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

static void remember(struct watch_task *c, const struct watch_look *look)
{
	c->known = true;
	c->woken = false;
	c->release = look->release;
	c->state = look->state;
	c->idles = look->idles;
	c->age = c->starving = 0;
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
		remember(c, look);
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
