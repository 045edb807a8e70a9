/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twice as much as the CPUs can do, in virtual time, under every policy: with
 * max_age auto, no frame is run that waited longer than its task's limit, none
 * is shed as too old that waited less, and every frame of an ordinary deadline
 * that is done is done within 100 ms of its arrival. Frames that are shed
 * before that have waited for their task's set point, or others of their class
 * have, unless the policy gives them up; and those that must not go never are.
 * With a quarter of what the CPUs can do, none is, and the schedule is, to the
 * nanosecond, what it is where none can be.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine_source.h"
#include "schedulers/registry.h"
#include "seed.h"

enum { TASKS = 32, CPUS = 2, RING = 8 };

#define STEP (100 * CR_US)
#define END (2 * CR_SEC)
#define BOUND (100 * CR_MS)

/* A frame's own service: the longest packet of the dearest codec. */
#define LONGEST (9 * CR_MS)

struct load {
	struct core *core;
	struct source *s; /* [TASKS] */
	cr_ns next[TASKS], cost[TASKS], ends[CPUS];
	cr_ns now;
	uint64_t seed;
	enum shed_kind kind;
	unsigned part; /* of a CPU that each task takes: 1 / part */
};

/* Of all runs: what each policy did. */
static uint64_t done_in_time, shed_of_all, given_up, patient_waits;
/* In this run, by class: a frame has waited for its set point. */
static bool waited[CR_NCLASSES];
/* In this run: what was picked, and when. */
static uint64_t course;

static void look(const struct core_task *t, cr_ns now)
{
	const struct shed_rule r = { 0 };

	if (core_waited(t, now) >= shed_set_point(&r, &t->task))
		waited[t->task.cls] = true;
}

static void shed(struct core_task *t, const struct cr_job *job,
		 enum cr_outcome why, cr_ns now)
{
	cr_ns limit = core_age_limit(CORE_AGE_AUTO, &t->task);

	if (why == CR_OUT_EXPIRED) {
		assert_true(now - job->arrival > limit);
		assert_true(t->task.cls == CR_BE || now > job->deadline);
	}
	look(t, now);
	if (why == CR_OUT_SHED) {
		assert_false(job->must_keep);
		assert_true(waited[t->task.cls] || t->task.give_up);
		given_up += !t->task.give_up;
	}
	shed_of_all += why == CR_OUT_EXPIRED || t->task.give_up;
	source_shed(t, job, why, now);
}

static const struct core_backlog backlog = { source_peek, source_claim, shed };

static void join(struct load *l, unsigned i)
{
	static const cr_ns periods[] = { 10 * CR_MS, 20 * CR_MS, 30 * CR_MS,
					 60 * CR_MS };
	static const cr_ns deadlines[] = { 5 * CR_MS, 0, 0, 0, 150 * CR_MS };
	struct source *s = &l->s[i];
	struct cr_task *t = &s->task.core.task;
	struct cr_verdict v;
	int rq;

	source_init(s, i, RING, CPUS);
	s->task.core.backlog = &backlog;
	t->cls = i % 4 ? CR_SOFT : i % 8 ? CR_HARD : CR_BE;
	t->period = periods[test_below(&l->seed, 4)];
	t->rel_deadline = deadlines[test_below(&l->seed, 5)];
	if (!t->rel_deadline)
		t->rel_deadline = t->period;
	s->rel_deadline = t->rel_deadline;
	s->importance = (uint8_t)(10 + test_below(&l->seed, 100));
	s->must_keep = i % 16 == 5;
	if (l->kind != SHED_AGE)
		s->task.core.shed = &s->shed_call;
	l->cost[i] = cr_ns_min(t->period / l->part, LONGEST);
	t->cost = (struct cr_cost){ .mean = l->cost[i], .p99 = l->cost[i] };
	l->next[i] = test_below(&l->seed, (unsigned)t->period);
	rq = core_admit(l->core, t, &v);
	assert_true(rq >= 0); /* admission is off */
	core_add(l->core, &s->task.core, (unsigned)rq, 0);
}

static void arrive(struct load *l, unsigned i)
{
	struct core_task *t = &l->s[i].task.core;

	if (l->next[i] > l->now)
		return;
	l->next[i] += t->task.period;
	(void)source_push(&l->s[i], l->now);
	if (t->task.state == CR_IDLE)
		assert_true(core_release(l->core, t, l->now));
}

static void end_job(struct load *l, unsigned cpu)
{
	struct cr_rq *rq = core_rq_of(l->core, cpu);
	struct core_task *t;
	cr_ns delay;

	if (!rq->cpu[cpu - rq->first_cpu].running || l->now < l->ends[cpu])
		return;
	t = core_stop(l->core, rq, cpu - rq->first_cpu,
		      l->cost[rq->cpu[cpu - rq->first_cpu].running->id],
		      CR_STOP_DONE, l->now);
	source_of(t)->done++;
	delay = l->now - t->task.job.arrival;
	if (t->task.cls == CR_BE || t->task.rel_deadline <= CORE_AGE_MOST) {
		assert_true(delay <= BOUND);
		done_in_time++;
	} else if (delay > CORE_AGE_MOST) {
		patient_waits++;
	}
	(void)core_again(l->core, t, l->now);
}

static void pick(struct load *l, unsigned cpu)
{
	struct cr_rq *rq = core_rq_of(l->core, cpu);
	struct core_task *t;

	if (rq->cpu[cpu - rq->first_cpu].running)
		return;
	t = core_pick(l->core, rq, cpu - rq->first_cpu, l->now);
	if (!t)
		return;
	look(t, l->now);
	course = (course ^ t->task.id) * 31 + (uint64_t)l->now;
	assert_true(l->now - t->task.job.arrival <=
		    core_age_limit(CORE_AGE_AUTO, &t->task));
	l->ends[cpu] = l->now + l->cost[t->task.id];
}

static void run(struct load *l)
{
	for (; l->now < END; l->now += STEP) {
		for (unsigned i = 0; i < TASKS; i++)
			arrive(l, i);
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			end_job(l, cpu);
		for (unsigned q = 0; q < core_nrq(l->core); q++)
			(void)core_tick(l->core, core_rq(l->core, q), l->now);
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			pick(l, cpu);
	}
}

static void end_all(struct load *l)
{
	/* each at its own end: the last starts may be LONGEST ago */
	for (; l->now < END + LONGEST + STEP; l->now += STEP)
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			end_job(l, cpu);
	for (unsigned i = 0; i < TASKS; i++) {
		assert_int_equal(source_accounted(&l->s[i]), l->s[i].tail);
		core_del(l->core, &l->s[i].task.core, l->now);
	}
}

static void play(const struct cr_sched_ops *ops, unsigned per_rq, struct load l)
{
	struct core_config cfg = {
		.ops = ops,
		.shed = { .kind = l.kind },
		.ncpu = CPUS,
		.cpus_per_rq = per_rq,
		.max_age = { CORE_AGE_AUTO, CORE_AGE_AUTO, CORE_AGE_AUTO },
	};
	struct cr_err e = { "" };

	if (core_open(&l.core, &cfg, 0, &e))
		fail_msg("%s: %s", ops->name, e.text);
	memset(waited, 0, sizeof(waited));
	l.s = calloc(TASKS, sizeof(*l.s));
	assert_non_null(l.s);
	for (unsigned i = 0; i < TASKS; i++)
		join(&l, i);
	run(&l);
	end_all(&l);
	core_close(l.core);
	free(l.s);
}

/* On one run queue for all, and on one for each CPU. Each task an eighth of a
 * CPU is twice both. */
static void play_everywhere(const struct cr_sched_ops *ops, struct load l)
{
	for (unsigned per_rq = 0; per_rq < 2; per_rq++)
		if (per_rq == 1 || !(ops->flags & CR_F_ONE_CPU))
			play(ops, per_rq, l);
}

static void what_is_given_up_has_waited_under_every_policy(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned kind = SHED_PATTERN; kind <= SHED_QUIET; kind++) {
			struct load l = { .seed = test_random(&seed),
					  .kind = (enum shed_kind)kind,
					  .part = 8 };
			uint64_t before = given_up;

			play_everywhere(cr_schedulers[p], l);
			print_message("CR_SEED=%llu: %s gave up %llu\n",
				      (unsigned long long)test_run_seed(),
				      cr_schedulers[p]->name,
				      (unsigned long long)(given_up - before));
		}
	assert_true(given_up > 1000);
}

static void in_calm_nothing_changes_under_any_policy(void **state)
{
	uint64_t seed = test_seed(), before = given_up;

	for (unsigned p = 0; cr_schedulers[p]; p++) {
		struct load l = { .seed = test_random(&seed), .part = 64 };
		uint64_t by_age = 0;

		print_message("CR_SEED=%llu: %s\n",
			      (unsigned long long)test_run_seed(),
			      cr_schedulers[p]->name);
		for (unsigned kind = 0; kind <= SHED_QUIET; kind++) {
			course = 0;
			l.kind = (enum shed_kind)kind;
			play_everywhere(cr_schedulers[p], l);
			assert_int_equal(given_up, before);
			by_age = kind ? by_age : course;
			assert_int_equal(course, by_age);
		}
		assert_int_not_equal(by_age, 0);
	}
}

static void delay_is_bounded_under_every_policy(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned p = 0; cr_schedulers[p]; p++) {
		uint64_t before = shed_of_all;

		play_everywhere(
			cr_schedulers[p],
			(struct load){ .seed = test_random(&seed), .part = 8 });
		print_message("CR_SEED=%llu: %s shed %llu\n",
			      (unsigned long long)test_run_seed(),
			      cr_schedulers[p]->name,
			      (unsigned long long)(shed_of_all - before));
		assert_true(shed_of_all > before);
	}
	assert_true(done_in_time > 0);
	/* and who declared a longer deadline was waited for */
	assert_true(patient_waits > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delay_is_bounded_under_every_policy),
		cmocka_unit_test(
			what_is_given_up_has_waited_under_every_policy),
		cmocka_unit_test(in_calm_nothing_changes_under_any_policy),
	};

	return cmocka_run_group_tests_name("max_age", tests, NULL, NULL);
}
