/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of which CPUs do what. It is made once: threads stay where they
 * are.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/topology.h"
#include "node/node_impl.h"

/* The table as it grows; its last row is not complete. */
struct making {
	struct node_places *places;
	const struct topology *topology;
	struct cpu_list cpus; /* of the last row */
	bool failed;
};

static int cache_of(const struct topology *t, int cpu)
{
	const struct topology_cpu *c =
		t && cpu >= 0 ? topology_find(t, (unsigned)cpu) : NULL;

	return c ? (int)c->cache : -1;
}

static struct node_place_info *last_row(struct making *m)
{
	return m->places->n ? &m->places->row[m->places->n - 1] : NULL;
}

static void end_row(struct making *m)
{
	struct node_place_info *row = last_row(m);

	if (row)
		cpu_list_text(&m->cpus, row->cpus, sizeof(row->cpus));
	m->cpus.count = 0;
}

static void begin_row(struct making *m, const struct node_place_info *like)
{
	struct node_places *p = m->places;
	struct node_place_info *row;

	end_row(m);
	row = realloc(p->row, (p->n + 1) * sizeof(*row));
	if (!row) {
		m->failed = true;
		return;
	}
	p->row = row;
	row[p->n++] = *like;
}

/* Those of calls, where each has its own, come and go: their row has none. */
static const char role_calls[] = "calls";

/* Threads that are not pinned run where the control thread does. */
static void add(struct making *m, const char *role, int cpu, int run_queue)
{
	const struct node_place_info like = {
		.role = role,
		.cache = cache_of(m->topology, cpu),
		.run_queue = run_queue,
	};
	struct node_place_info *row = last_row(m);

	if (!row || row->role != role || row->cache != like.cache ||
	    row->run_queue != run_queue)
		begin_row(m, &like);
	if (m->failed)
		return;
	/* analyzer: without failure there is one now */
	last_row(m)->threads += role != role_calls;
	if (cpu < 0)
		cpu_list_allowed(&m->cpus);
	else if (!cpu_list_has(&m->cpus, (unsigned)cpu))
		m->cpus.cpu[m->cpus.count++] = (unsigned)cpu;
}

static void add_workers(struct making *m, const struct node *n)
{
	const struct node_config *cfg = &n->cfg;
	bool own = live_driver(n->live)->thread_per_task;
	unsigned queue = 0, end = live_queue_cpus(n->live, 0);

	for (unsigned i = 0; i < cfg->workers; i++) {
		int cpu = cfg->pin ? (int)cfg->pin[i] : -1;

		if (i == end)
			end += live_queue_cpus(n->live, ++queue);
		if (own)
			add(m, role_calls, cpu, -1);
		else
			add(m, "worker", cpu, (int)queue);
	}
}

int node_open_places(struct node *n, struct cr_err *e)
{
	const struct node_config *cfg = &n->cfg;
	struct making m = { .places = &n->places, .topology = cfg->topology };

	for (unsigned i = 0; i < cfg->receivers; i++)
		add(&m, "receiver", cfg->rx_cpu ? cfg->rx_cpu[i] : -1, -1);
	add_workers(&m, n);
	add(&m, "control", -1, -1);
	end_row(&m);
	return m.failed ? cr_fail(e, -ENOMEM, "out of memory for the node") : 0;
}

const struct node_place_info *node_place(const struct node *n, unsigned i)
{
	return i < n->places.n ? &n->places.row[i] : NULL;
}
