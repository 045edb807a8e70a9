/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random legal streams of events through every registered policy, over every
 * kind of domain, preemptible and not: no task and no frame is lost or
 * doubled, no CPU idles while it has something to do, masks are kept, and the
 * policy's own check() holds (debug builds: after every callback).
 */
#include <stdlib.h>
#include <string.h>

#include "base/field.h"
#include "cmocka_cr.h"
#include "engine_source.h"
#include "schedulers/registry.h"
#include "seed.h"

enum { TASKS = 24, CPUS = 5, STEPS = 4000, DRAWS = 4, PATIENCE = 1000000 };

static unsigned stolen;

struct world {
	struct core *core;
	struct source *s; /* [TASKS] */
	cr_ns now;
	uint64_t seed;
	bool preemptible;
	unsigned per_rq;
	bool drawn;	/* options by chance, else the defaults */
	char opts[256]; /* of the policy in use                 */
};

/* Times are short here, so that turns end and windows pass; bounds, too. */
static int64_t draw_value(const struct cr_opt *o, uint64_t *seed)
{
	uint64_t range = (uint64_t)(o->max - o->min) + 1;
	unsigned dice = test_below(seed, 8);

	if (o->kind == CR_OPT_ENUM)
		for (range = 0; o->names[range];)
			range++;
	else if (dice < 2)
		return dice ? o->min : o->max;
	if (o->kind == CR_OPT_TIME && range > 8000)
		range = 8000;
	return o->min + (int64_t)(test_random(seed) % range);
}

static bool is_for(const struct cr_sched_ops *ops, unsigned cpus_per_rq)
{
	return cpus_per_rq == 1 || !(ops->flags & CR_F_ONE_CPU);
}

static void draw_options(struct world *w, const struct cr_sched_ops *ops)
{
	size_t at = 0;
	char value[64];

	w->opts[0] = '\0';
	for (const struct cr_opt *o = ops->opts; w->drawn && o && o->name;
	     o++) {
		option_format(o, draw_value(o, &w->seed), value, sizeof(value));
		at += (size_t)snprintf(w->opts + at, sizeof(w->opts) - at,
				       "%s%s=%s", at ? "," : "", o->name,
				       value);
		assert_true(at < sizeof(w->opts));
	}
}

/* Pfair's policies idle by rule unless they release early. */
static bool conserving(struct world *w)
{
	return !(core_sched(w->core)->ops->flags & CR_F_IDLES) ||
	       strstr(w->opts, "mode=erfair");
}

static struct cr_task *task_of(struct world *w, unsigned i)
{
	return &w->s[i].task.core.task;
}

static bool joined(struct world *w, unsigned i)
{
	return task_of(w, i)->rq != NULL;
}

/* A new personality for a task that is outside. */
static void dress(struct world *w, unsigned i)
{
	struct cr_task *t = task_of(w, i);
	unsigned cls = test_below(&w->seed, 3);

	t->cls = (enum cr_class)cls;
	t->period = 1000 * (1 + (cr_ns)test_below(&w->seed, 30));
	t->rel_deadline = t->period;
	t->cost.mean = 1 + (cr_ns)test_below(&w->seed, 900);
	t->cost.p99 = 2 * t->cost.mean;
	t->nice = (int)test_below(&w->seed, 40) - 20;
	t->weight = 1 + test_below(&w->seed, 4096);
	t->cpus = (struct cr_cpus){ 0 };
	cr_cpus_add(&t->cpus, test_below(&w->seed, CPUS));
	for (unsigned c = 0; c < CPUS; c++)
		if (test_below(&w->seed, 4))
			cr_cpus_add(&t->cpus, c);
	w->s[i].rel_deadline = t->rel_deadline;
}

static void enter(struct world *w, unsigned i)
{
	struct cr_verdict v;
	int rq;

	dress(w, i);
	rq = core_admit(w->core, task_of(w, i), &v);
	assert_true(rq >= 0); /* admission is off */
	core_add(w->core, &w->s[i].task.core, (unsigned)rq, w->now);
}

static void frame(struct world *w, unsigned i)
{
	(void)source_push(&w->s[i], w->now);
	if (joined(w, i) && task_of(w, i)->state == CR_IDLE)
		assert_true(core_release(w->core, &w->s[i].task.core, w->now));
}

static struct cr_rq *rq_of(struct world *w, unsigned cpu, unsigned *index)
{
	struct cr_rq *rq = core_rq_of(w->core, cpu);

	*index = cpu - rq->first_cpu;
	return rq;
}

static void stop(struct world *w, unsigned cpu)
{
	static const enum cr_stop why[] = { CR_STOP_DONE, CR_STOP_SLICE,
					    CR_STOP_PREEMPT };
	unsigned i, way = w->preemptible ? test_below(&w->seed, 3) : 0;
	struct cr_rq *rq = rq_of(w, cpu, &i);
	struct core_task *t;

	if (!rq->cpu[i].running)
		return;
	t = core_stop(w->core, rq, i, w->now - rq->cpu[i].since, why[way],
		      w->now);
	if (why[way] == CR_STOP_DONE)
		source_of(t)->done++;
	(void)core_again(w->core, t, w->now);
}

static bool someone_waits_for(struct world *w, struct cr_rq *rq, unsigned i)
{
	for (unsigned k = 0; k < TASKS; k++) {
		struct cr_task *t = task_of(w, k);

		if (t->rq == rq && t->state == CR_QUEUED &&
		    cr_may_run(rq, t, i))
			return true;
	}
	return false;
}

/* From any other run queue. A stolen task waits for its thief. */
static bool steal(struct world *w, struct cr_rq *rq, unsigned i)
{
	unsigned n = core_nrq(w->core), q = test_below(&w->seed, n);
	struct core_task *t;

	if (core_rq(w->core, q) == rq)
		return false;
	t = core_steal(w->core, core_rq(w->core, q), rq, i, w->now);
	if (!t)
		return false;
	assert_ptr_equal(t->task.rq, rq);
	assert_int_equal(t->task.state, CR_QUEUED);
	assert_true(someone_waits_for(w, rq, i));
	stolen++;
	return true;
}

static void pick(struct world *w, unsigned cpu)
{
	unsigned i;
	struct cr_rq *rq = rq_of(w, cpu, &i);
	struct core_task *t;

	if (rq->cpu[i].running)
		return;
	t = core_pick(w->core, rq, i, w->now);
	if (!t && steal(w, rq, i))
		t = core_pick(w->core, rq, i, w->now);
	if (!t) {
		assert_false(conserving(w) && someone_waits_for(w, rq, i));
		return;
	}
	assert_ptr_equal(rq->cpu[i].running, &t->task);
	assert_true(cr_cpus_has(&t->task.cpus, cpu));
	assert_true(t->task.slice > 0);
}

static void leave(struct world *w, unsigned i)
{
	if (!joined(w, i) || task_of(w, i)->state == CR_RUNNING)
		return;
	core_del(w->core, &w->s[i].task.core, w->now);
	enter(w, i);
}

/* Other terms for a task that is inside, whatever it does: it keeps its job. */
static void alter(struct world *w, unsigned i)
{
	struct cr_task before = *task_of(w, i), *t = task_of(w, i);
	struct core_terms to = {
		.cls = (enum cr_class)test_below(&w->seed, 3),
		.rel_deadline = t->period * (1 + test_below(&w->seed, 3)),
		.cost.mean = 1 + (cr_ns)test_below(&w->seed, 900),
		.nice = (int)test_below(&w->seed, 40) - 20,
		.weight = 1 + test_below(&w->seed, 4096),
		.contract.largest = (cr_ns)test_below(&w->seed, 2000),
	};
	struct core_change *ch;
	struct cr_verdict v;

	if (!joined(w, i))
		return;
	to.cost.p99 = 2 * to.cost.mean;
	assert_int_equal(core_change_prepare(&ch, w->core, TASKS, 0), 0);
	assert_int_equal(core_change(ch, &w->s[i].task.core, &to, w->now, &v),
			 0);
	core_change_finish(ch);
	w->s[i].rel_deadline = to.rel_deadline;
	assert_int_equal(t->state, before.state);
	assert_int_equal(t->cls, to.cls);
	if (t->state == CR_IDLE)
		return;
	assert_int_equal(t->job.seq, before.job.seq);
	assert_int_equal(t->job.ran, before.job.ran);
}

static void change_policy(struct world *w)
{
	const struct cr_sched_ops *ops;
	struct core_switch *sw;
	struct cr_err e = { "" };
	unsigned n = 0;

	while (cr_schedulers[n])
		n++;
	do
		ops = cr_schedulers[test_below(&w->seed, n)];
	while (!is_for(ops, w->per_rq));
	draw_options(w, ops);
	if (core_switch_prepare(&sw, w->core, TASKS, ops, w->opts, &e) ||
	    core_switch_commit(sw, w->now, &e))
		fail_msg("%s,%s: %s", ops->name, w->opts, e.text);
	core_switch_finish(sw);
}

/* Every task is in one state, and the queues count the queued ones. */
static void check_states(struct world *w)
{
	unsigned queued = 0, running = 0, in_queues = 0, on_cpus = 0;

	for (unsigned i = 0; i < TASKS; i++) {
		queued += task_of(w, i)->state == CR_QUEUED;
		running += task_of(w, i)->state == CR_RUNNING;
	}
	for (unsigned q = 0; q < core_nrq(w->core); q++) {
		struct cr_rq *rq = core_rq(w->core, q);

		in_queues += rq->nqueued;
		for (unsigned c = 0; c < rq->ncpu; c++)
			on_cpus += rq->cpu[c].running != NULL;
	}
	assert_int_equal(queued, in_queues);
	assert_int_equal(running, on_cpus);
}

static void one_event(struct world *w, bool switching)
{
	unsigned dice = test_below(&w->seed, 100);
	unsigned i = test_below(&w->seed, TASKS);
	unsigned cpu = test_below(&w->seed, CPUS);

	w->now += test_below(&w->seed, test_below(&w->seed, 16) ? 60 : 4000);
	if (dice < 45)
		frame(w, i);
	else if (dice < 70)
		stop(w, cpu);
	else if (dice < 92)
		pick(w, cpu);
	else if (dice < 95)
		alter(w, i);
	else if (dice < 98 || !switching)
		leave(w, i);
	else
		change_policy(w);
	for (unsigned q = 0; q < core_nrq(w->core); q++)
		(void)core_tick(w->core, core_rq(w->core, q), w->now);
	check_states(w);
}

/* A microsecond; or when nothing runs, on to the next tick: a policy that
 * idles by rule may do so for long. */
static void pass_time(struct world *w)
{
	cr_ns next = CR_NEVER;

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		unsigned i;
		struct cr_rq *rq = rq_of(w, cpu, &i);

		if (rq->cpu[i].running)
			next = w->now;
		next = cr_ns_min(next, rq->next_tick);
	}
	w->now = next > w->now && next != CR_NEVER ? next : w->now + 1000;
}

static bool is_dry(struct world *w)
{
	for (unsigned i = 0; i < TASKS; i++)
		if (task_of(w, i)->state != CR_IDLE ||
		    w->s[i].head != w->s[i].tail)
			return false;
	return true;
}

/* Servers with little budget let a job pass a period: it may take long. */
static void run_dry(struct world *w)
{
	w->preemptible = false; /* stop() means done from now on */
	for (unsigned round = 0; !is_dry(w); round++) {
		if (round >= PATIENCE)
			fail_msg("jobs wait for ever");
		pass_time(w);
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			stop(w, cpu);
			(void)core_tick(w->core, core_rq_of(w->core, cpu),
					w->now);
			pick(w, cpu);
		}
	}
	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(source_accounted(&w->s[i]), w->s[i].tail);
}

/* The kinds of worlds that a stream runs in. */
struct kind {
	unsigned per_rq;
	bool preemptible, switching, drawn;
};

static void stream(const struct cr_sched_ops *ops, const struct kind *k,
		   uint64_t seed)
{
	struct world w = { .seed = seed,
			   .preemptible = k->preemptible,
			   .per_rq = k->per_rq,
			   .drawn = k->drawn };
	struct core_config cfg = { .ops = ops,
				   .opts = w.opts,
				   .ncpu = CPUS,
				   .cpus_per_rq = k->per_rq,
				   .preemptible = k->preemptible };
	struct cr_err e = { "" };

	cfg.max_age[CR_BE] = 20000;
	cfg.shed = (struct shed_rule){
		.kind = (enum shed_kind)test_below(&w.seed, 3),
		.wait = 1 + (cr_ns)test_below(&w.seed, 10000),
	};
	draw_options(&w, ops);
	if (core_open(&w.core, &cfg, 0, &e))
		fail_msg("%s,%s: %s", ops->name, w.opts, e.text);
	print_message("CR_SEED=%" PRIu64 ": %s,%s\n", test_run_seed(),
		      ops->name, w.opts);
	w.s = calloc(TASKS, sizeof(*w.s));
	assert_non_null(w.s);
	for (unsigned i = 0; i < TASKS; i++) {
		source_init(&w.s[i], i, 3, CPUS);
		w.s[i].task.core.backlog = &source_backlog;
		w.s[i].task.core.shed = i % 2 ? &w.s[i].shed_call : NULL;
		w.s[i].importance = (uint8_t)test_below(&w.seed, 124);
		enter(&w, i);
	}
	for (unsigned step = 0; step < STEPS; step++)
		one_event(&w, k->switching);
	run_dry(&w);
	for (unsigned i = 0; i < TASKS; i++)
		core_del(w.core, &w.s[i].task.core, w.now);
	for (unsigned q = 0; q < core_nrq(w.core); q++) {
		struct cr_rq *rq = core_rq(w.core, q);

		assert_int_equal(rq->load_ppm, 0);
		assert_int_equal(core_counts(w.core, rq).faults, 0);
	}
	core_close(w.core);
	free(w.s);
}

/* Every policy in every kind of world: once with its defaults, then with
 * options by chance. */
static void streams(bool switching)
{
	static const unsigned domains[] = { 0, 1, 2 };
	uint64_t seed = test_seed();

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned i = 0; i < 6 * DRAWS; i++) {
			struct kind k = { .per_rq = domains[i % 3],
					  .preemptible = i / 3 % 2,
					  .switching = switching,
					  .drawn = i >= 6 };

			if (is_for(cr_schedulers[p], k.per_rq))
				stream(cr_schedulers[p], &k,
				       test_random(&seed));
		}
}

static void nothing_is_lost_under_any_policy(void **state)
{
	streams(false);
	assert_true(stolen > 0);
}

static void nothing_is_lost_between_any_two_policies(void **state)
{
	streams(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_under_any_policy),
		cmocka_unit_test(nothing_is_lost_between_any_two_policies),
	};

	return cmocka_run_group_tests_name("policies", tests, NULL, NULL);
}
