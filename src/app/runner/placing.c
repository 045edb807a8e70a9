/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs do what, by the options and the machine.
 */
#include "app/runner/placing.h"

#include <string.h>

/* CPUs of --pin or --rx-cpu. NULL: not given, none, or wrong, which is told. */
static const struct cpu_list *cpus(struct runner_options *o, const char *option,
				   const char *text, struct cpu_list *list,
				   const struct cpu_list *allowed)
{
	struct cr_err e;

	if (!text || !strcmp(text, "none"))
		return NULL;
	if (!cpu_list_parse(list, text, &e) &&
	    !cpu_list_within(list, allowed, &e))
		return list;
	config_blame(&o->from, option, 0, e.text);
	return NULL;
}

static bool is_none(const char *text)
{
	return text && !strcmp(text, "none");
}

/* This thread gives CPUs up later, which is nothing to go by. */
static const struct cpu_list *allowed_at_start(void)
{
	static struct cpu_list allowed;

	if (!allowed.count)
		cpu_list_allowed(&allowed);
	return &allowed;
}

void placing_do(struct runner_options *o, const struct placing_ask *ask)
{
	const struct cpu_list *allowed = allowed_at_start();
	struct node_config *node = &o->service.node;
	const struct placement *p = &o->placement;
	unsigned faults = o->from.faults.n;
	struct cpu_list pin, rx;
	struct placement_request request = {
		.workers = ask->workers,
		.receivers = ask->receivers,
		.run_queues = ask->run_queues,
		.pin_none = is_none(ask->pin),
		.rx_none = is_none(ask->rx),
		.pin = cpus(o, "pin", ask->pin, &pin, allowed),
		.rx = cpus(o, "rx-cpu", ask->rx, &rx, allowed),
	};
	struct placement_fault f;

	if (o->from.faults.n != faults)
		return;
	topology_read(&o->topology, TOPOLOGY_ROOT, allowed);
	if (placement_make(&o->placement, &o->topology, &request, &f)) {
		config_blame(&o->from, f.option, 0, f.why.text);
		return;
	}
	node->workers = p->workers;
	node->pin = p->pin.count ? p->pin.cpu : NULL;
	node->receivers = p->receivers;
	node->rx_cpu = p->rx_cpu;
	node->rq_cpus = p->rq_cpus;
	node->nrq = p->nrq;
	node->topology = &o->topology;
}
