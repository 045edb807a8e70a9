/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a scheduler with its options, up to a new line, and any octets as
 * tasks that want to join it. A policy that starts takes tasks in and gives
 * them back; every refusal, of a policy or of a task, has a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/core.h"
#include "schedulers/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TASKS = 16 };

/* What is left of the input; zeros after its end. */
struct input {
	const uint8_t *at;
	size_t left;
};

static unsigned octet(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* A duration of any size: up to 2^16, times up to 2^47. */
static cr_ns duration(struct input *in)
{
	unsigned high = octet(in), low = octet(in);

	return (cr_ns)(high << 8 | low) << octet(in) % 48;
}

static struct cr_task a_task(struct input *in, uint32_t id)
{
	struct cr_task t = { .id = id, .weight = octet(in), .cpu = -1 };

	t.cls = (enum cr_class)(octet(in) % CR_NCLASSES);
	t.nice = (int)octet(in) - 128;
	t.period = duration(in);
	t.rel_deadline = duration(in);
	t.cost.mean = duration(in);
	t.cost.p99 = duration(in);
	t.cost.variance_ns2 = (uint64_t)duration(in);
	t.contract.jobs = octet(in);
	t.contract.per = duration(in);
	t.contract.burst = octet(in);
	t.contract.peak_jobs_per_sec = octet(in);
	t.contract.largest = duration(in);
	memset(&t.cpus, (int)octet(in) ^ 0xff, sizeof(t.cpus));
	return t;
}

static bool nothing_waits(struct core_task *t, struct cr_job *job)
{
	(void)t, (void)job;
	return false;
}

static const struct core_backlog empty = { .peek = nothing_waits };

static void try_tasks(struct core *c, struct input *in)
{
	static struct core_task tasks[TASKS];
	char text[512];
	unsigned n = 0;

	while (in->left && n < TASKS) {
		struct core_task *t = &tasks[n];
		struct cr_verdict v = { 0 };
		int rq;

		*t = (struct core_task){ .task = a_task(in, n + 1),
					 .backlog = &empty };
		rq = core_admit(c, &t->task, &v);
		CR_ASSERT(rq < (int)core_nrq(c));
		if (rq >= 0) {
			core_add(c, t, (unsigned)rq, 0);
			n++;
			continue;
		}
		core_refusal(c, rq, &v, text, sizeof(text));
		CR_ASSERT(v.rule && strlen(text) < sizeof(text) - 1);
	}
	while (n--)
		core_del(c, &tasks[n], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size;
	struct input in = { data + n, size - n };
	struct core_config cfg = { 0 };
	struct cr_err e = { "" };
	struct core *c;
	char spec[512];
	unsigned how;

	if (n >= sizeof(spec) || memchr(data, '/', n))
		return 0; /* a slash names a file to be run */
	memcpy(spec, data, n);
	spec[n] = '\0';
	(void)octet(&in); /* the new line */
	how = octet(&in);
	cfg.ncpu = 1 + how % 4;
	cfg.cpus_per_rq = how / 4 % 2;
	cfg.preemptible = how / 8 % 2;
	cfg.admission = how / 16 % 2;
	if (cr_scheduler_find(spec, &cfg.ops, &cfg.opts, &e) ||
	    core_open(&c, &cfg, 0, &e)) {
		CR_ASSERT(e.text[0]);
		return 0;
	}
	try_tasks(c, &in);
	core_close(c);
	return 0;
}
