/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU does what.
 *
 *   request --> number of receivers --> their CPUs --> the workers' --> queues
 */
#include "node/placement.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

enum {
	SERVED = 8,	/* workers to a receiver                          */
	GLOBAL_MAX = 8, /* workers that share a run queue, whatever caches */
	QUEUE_MIN = 4,	/* of a run queue that follows a cache            */
	QUEUE_MAX = 32	/* likewise: see campaigns/scale                  */
};

static unsigned least_used(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned most(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static unsigned per(unsigned n, unsigned each)
{
	return (n + each - 1) / each;
}

/* --- receivers --- */

/* CPUs that a receiver may have without taking a worker's: those that --pin
 * leaves. */
static void unpinned(const struct topology *t,
		     const struct placement_request *request,
		     struct topology *rest)
{
	rest->count = 0;
	for (unsigned i = 0; i < t->count; i++)
		if (!request->pin || !cpu_list_has(request->pin, t->cpu[i].cpu))
			rest->cpu[rest->count++] = t->cpu[i];
	rest->caches = t->caches;
	rest->cores = t->cores;
}

static unsigned count_receivers(const struct placement_request *request,
				const struct topology *rest)
{
	unsigned n;

	if (request->receivers)
		return request->receivers;
	if (request->rx)
		return least_used(request->rx->count, NODE_RECEIVERS_MAX);
	if (request->pin)
		n = least_used(per(request->pin->count, SERVED), rest->count);
	else if (request->workers)
		n = least_used(per(request->workers, SERVED),
			       most(rest->count, request->workers) -
				       request->workers);
	else
		n = per(rest->count, SERVED + 1);
	return most(1, least_used(n, NODE_RECEIVERS_MAX));
}

/* The cache whose share is least served by what it has been given. */
static unsigned least_served_cache(const unsigned *size, const unsigned *given,
				   unsigned caches)
{
	unsigned best = 0;

	/* size / (given + 1), compared without dividing */
	for (unsigned i = 1; i < caches; i++)
		if (size[i] * (given[best] + 1) > size[best] * (given[i] + 1))
			best = i;
	return best;
}

/* The next CPU of @cache that is not in @taken, siblings of those first. */
static unsigned next_cpu(const struct topology *rest, unsigned cache,
			 const struct cpu_list *taken)
{
	const struct topology_cpu *first = NULL;

	for (unsigned i = 0; i < rest->count; i++) {
		const struct topology_cpu *c = &rest->cpu[i];

		if (c->cache != cache || cpu_list_has(taken, c->cpu))
			continue;
		if (!first)
			first = c;
		for (unsigned k = 0; k < taken->count; k++)
			if (topology_find(rest, taken->cpu[k])->core == c->core)
				return c->cpu;
	}
	CR_ASSERT(first);
	return first->cpu;
}

/* @n CPUs of @rest, which has as many. */
static void spread_threads(const struct topology *rest, unsigned n,
			   struct cpu_list *out)
{
	unsigned size[CPU_LIST_MAX] = { 0 }, given[CPU_LIST_MAX] = { 0 };

	for (unsigned i = 0; i < rest->count; i++)
		size[rest->cpu[i].cache]++;
	out->count = 0;
	while (out->count < n) {
		unsigned cache = least_served_cache(size, given, rest->caches);

		out->cpu[out->count] = next_cpu(rest, cache, out);
		out->count++;
		given[cache]++;
	}
}

/* The CPUs that are the receivers': never more than half, unless all others are
 * the workers' by --pin. With one CPU they are in nobody's way. */
static void choose_rx(const struct topology *t,
		      const struct placement_request *request,
		      const struct topology *rest, unsigned receivers,
		      struct cpu_list *rx)
{
	if (request->rx) {
		*rx = *request->rx;
		return;
	}
	rx->count = 0;
	if (t->count < 2)
		return;
	if (!rest->count) { /* pinned workers have all */
		rx->cpu[rx->count++] = t->cpu[0].cpu;
		return;
	}
	spread_threads(rest,
		       least_used(receivers,
				  request->pin ? rest->count : t->count / 2),
		       rx);
}

/* --- workers --- */

static int choose_pinned(struct placement *p, const struct topology *t,
			 const struct placement_request *request,
			 const struct cpu_list *rx, struct placement_fault *f)
{
	if (request->pin)
		p->pin = *request->pin;
	else
		for (unsigned i = 0; i < t->count; i++)
			if (!cpu_list_has(rx, t->cpu[i].cpu))
				p->pin.cpu[p->pin.count++] = t->cpu[i].cpu;
	if (!p->pin.count) /* the receivers have all */
		p->pin.cpu[p->pin.count++] = t->cpu[0].cpu;
	p->workers = request->workers ? request->workers : p->pin.count;
	if (p->workers > p->pin.count) {
		f->option = "workers";
		return cr_fail(&f->why, -EINVAL,
			       "more than CPUs to pin them to; name the CPUs "
			       "with --pin, or --pin none");
	}
	p->pin.count = p->workers;
	return 0;
}

static int choose_workers(struct placement *p, const struct topology *t,
			  const struct placement_request *request,
			  const struct cpu_list *rx, struct placement_fault *f)
{
	if (!request->pin_none)
		return choose_pinned(p, t, request, rx, f);
	p->workers =
		request->workers
			? request->workers
			: most(t->count - least_used(rx->count, t->count), 1);
	return 0;
}

/* --- run queues --- */

static unsigned cache_of_cpu(const struct topology *t, unsigned cpu)
{
	const struct topology_cpu *c = topology_find(t, cpu);

	return c ? c->cache : 0;
}

/* @n workers, in equal parts or nearly, of @most_each at most. */
static void add_queues(struct placement *p, unsigned n, unsigned most_each)
{
	unsigned parts = per(n, most_each);

	for (unsigned i = 0; i < parts; i++)
		p->rq_cpus[p->nrq++] = n / parts + (i < n % parts);
}

static void queues_by_cache(struct placement *p, const struct topology *t)
{
	unsigned n = 0;
	struct cpu_list sorted = { .count = 0 };

	/* Workers of a cache together, otherwise in the order they have. */
	for (unsigned cache = 0; cache < t->caches; cache++)
		for (unsigned i = 0; i < p->pin.count; i++)
			if (cache_of_cpu(t, p->pin.cpu[i]) == cache)
				sorted.cpu[sorted.count++] = p->pin.cpu[i];
	CR_ASSERT(sorted.count == p->pin.count);
	p->pin = sorted;
	for (unsigned i = 0; i < p->workers; i++) {
		bool ends = i + 1 == p->workers ||
			    cache_of_cpu(t, p->pin.cpu[i]) !=
				    cache_of_cpu(t, p->pin.cpu[i + 1]);

		n++;
		if (ends && (n >= QUEUE_MIN || i + 1 == p->workers)) {
			if (n < QUEUE_MIN && p->nrq) /* the last: too few */
				n += p->rq_cpus[--p->nrq];
			add_queues(p, n, QUEUE_MAX);
			n = 0;
		}
	}
}

static int choose_queues(struct placement *p, const struct topology *t,
			 int run_queues, struct placement_fault *f)
{
	unsigned each = (unsigned)run_queues;

	if (run_queues == PLACEMENT_QUEUES_AUTO) {
		if (p->workers > GLOBAL_MAX && p->pin.count)
			queues_by_cache(p, t);
		else
			add_queues(p, p->workers, CR_MAX_CPUS);
		return 0;
	}
	if (!each)
		each = p->workers;
	if (each > p->workers) {
		f->option = "run-queues";
		return cr_fail(&f->why, -EINVAL,
			       "%u workers per run queue, but there are only "
			       "%u",
			       each, p->workers);
	}
	for (unsigned left = p->workers; left; left -= least_used(each, left))
		p->rq_cpus[p->nrq++] = least_used(each, left);
	return 0;
}

int placement_make(struct placement *out, const struct topology *t,
		   const struct placement_request *asked,
		   struct placement_fault *f)
{
	struct placement_request cut = *asked;
	const struct placement_request *request = &cut;
	struct placement p = { 0 };
	struct cpu_list rx, pin;
	struct topology rest;
	int err;

	/* CPUs of --pin beyond the number of workers are none of theirs. */
	if (cut.pin && cut.workers && cut.pin->count > cut.workers) {
		pin = *cut.pin;
		pin.count = cut.workers;
		cut.pin = &pin;
	}
	unpinned(t, request, &rest);
	p.receivers = count_receivers(request, &rest);
	choose_rx(t, request, &rest, p.receivers, &rx);
	for (unsigned i = 0; i < NODE_RECEIVERS_MAX; i++)
		p.rx_cpu[i] = request->rx_none || !rx.count
				      ? -1
				      : (int)rx.cpu[i % rx.count];
	err = choose_workers(&p, t, request, &rx, f);
	if (!err)
		err = choose_queues(&p, t, request->run_queues, f);
	if (!err)
		*out = p;
	return err;
}
