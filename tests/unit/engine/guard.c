/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies that break the contract, one promise each: found, counted, reported
 * with the policy's own numbers, and replaced by fifo without losing a job.
 * Debug builds abort instead.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_fixture.h"
#include "schedulers/policies.h"

enum sabotage {
	HONEST,
	TWICE,	   /* hands out a task and keeps it in its list */
	LOSE,	   /* forgets a task */
	STALL,	   /* hands out nothing any more */
	SLEEPER,   /* hands out a task that has no job */
	FORGED,	   /* hands out what is no task of this engine */
	ELSEWHERE, /* hands out a task of another run queue */
	WRONG_CPU, /* hands out a task that may not run there */
	NO_SLICE,
	SAME_TICK, /* arms the tick that was due again */
};

enum { STRIKE = 4, FRAMES = 2, IDLER = N - 1 };

static struct {
	enum sabotage what;
	unsigned picks; /* STRIKE: now */
	struct cr_task *prey;
} plan;

static struct cr_task *bad_answer(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t;

	switch (plan.what) {
	case TWICE:
		t = cr_sched_fifo.pick(rq, cpu, now);
		cr_sched_fifo.enqueue(rq, t, CR_ENQ_REQUEUE, now);
		return t;
	case LOSE:
		plan.prey = cr_sched_fifo.pick(rq, cpu, now);
		return cr_sched_fifo.pick(rq, cpu, now);
	case NO_SLICE:
		t = cr_sched_fifo.pick(rq, cpu, now);
		t->slice = 0;
		return t;
	case SLEEPER:
	case FORGED:
	case ELSEWHERE:
	case WRONG_CPU:
		return plan.prey;
	default:
		return NULL;
	}
}

static struct cr_task *bad_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	bool strike = ++plan.picks == STRIKE;

	if (plan.what == STALL)
		strike = plan.picks >= STRIKE;
	if (plan.what == HONEST || plan.what == SAME_TICK || !strike)
		return cr_sched_fifo.pick(rq, cpu, now);
	return bad_answer(rq, cpu, now);
}

static void bad_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	cr_sched_fifo.enqueue(rq, t, why, now);
	if (plan.what == SAME_TICK && rq->next_tick == CR_NEVER)
		rq->next_tick = 5;
}

static void bad_tick(struct cr_rq *rq, cr_ns now)
{
	(void)now;
	rq->next_tick = 5;
}

static unsigned bad_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	for (unsigned i = 0; i < max; i++)
		kv[i] = (struct cr_kv){ "mischief", 100 + (int64_t)t->id,
					CR_KV_COUNT };
	return 100; /* not even this is true */
}

static struct cr_sched_ops bad(void)
{
	struct cr_sched_ops ops = cr_sched_fifo;

	ops.name = "bad";
	ops.enqueue = bad_enqueue;
	ops.pick = bad_pick;
	ops.tick = bad_tick;
	ops.explain = bad_explain;
	ops.check = NULL; /* it would be found out too early */
	return ops;
}

/* --- a run --- */

static unsigned busy(struct core_fixture *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < core_nrq(g->core); i++) {
		struct cr_rq *rq = core_rq(g->core, i);

		for (unsigned c = 0; c < rq->ncpu; c++)
			n += rq->cpu[c].running != NULL;
	}
	return n;
}

static void pick_all(struct core_fixture *g, cr_ns now)
{
	for (unsigned i = 0; i < core_nrq(g->core); i++) {
		struct cr_rq *rq = core_rq(g->core, i);

		(void)core_tick(g->core, rq, now);
		for (unsigned c = 0; c < rq->ncpu; c++)
			if (!rq->cpu[c].running)
				(void)core_pick(g->core, rq, c, now);
	}
}

static void stop_all(struct core_fixture *g, cr_ns now)
{
	for (unsigned i = 0; i < core_nrq(g->core); i++) {
		struct cr_rq *rq = core_rq(g->core, i);

		for (unsigned c = 0; c < rq->ncpu; c++) {
			struct core_task *t;

			if (!rq->cpu[c].running)
				continue;
			t = core_stop(g->core, rq, c, 1, CR_STOP_DONE, now);
			source_of(t)->done++;
			(void)core_again(g->core, t, now);
		}
	}
}

/* FRAMES for every task but the idler, then run until nothing moves. */
static void run(struct core_fixture *g)
{
	cr_ns now = 0;

	for (unsigned k = 0; k < FRAMES; k++)
		for (unsigned i = 0; i < IDLER; i++)
			(void)frame(g, i, ++now);
	for (pick_all(g, ++now); busy(g); pick_all(g, ++now))
		stop_all(g, now);
}

static void lay_trap(struct core_fixture *g, enum sabotage what)
{
	static struct core_task forged;
	struct cr_rq *rq = core_rq(g->core, 0);

	plan.what = what;
	plan.picks = what == TWICE; /* strikes on CPU 0, seen on CPU 1 */
	forged = (struct core_task){
		.task = { .state = CR_QUEUED, .rq = rq, .slice = CR_NEVER }
	};
	memset(&forged.task.cpus, 0xff, sizeof(forged.task.cpus));
	plan.prey = &g->s[IDLER].task.core.task;
	if (what == FORGED)
		plan.prey = &forged.task;
	if (what == WRONG_CPU) /* waits at the fourth pick, on CPU 1 */
		plan.prey = &g->s[IDLER - 1].task.core.task;
	if (what == ELSEWHERE) /* 4th pick in all is the second of queue 1 */
		plan.prey = &g->s[IDLER - 1].task.core.task;
}

static void open_bad(struct core_fixture *g, const struct cr_sched_ops *ops,
		     enum sabotage what, bool lenient)
{
	struct core_config cfg = { .ops = ops,
				   .ncpu = 2,
				   .cpus_per_rq = what == ELSEWHERE,
				   .preemptible = what == NO_SLICE,
				   .lenient = lenient };

	open_core(g, cfg);
	if (what == WRONG_CPU)
		cr_cpus_del(&g->s[IDLER - 1].task.core.task.cpus, 1);
	for (unsigned i = 0; i < N; i++)
		join(g, i);
	lay_trap(g, what);
}

static uint64_t count_faults(struct core_fixture *g)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < core_nrq(g->core); i++)
		n += core_counts(g->core, core_rq(g->core, i)).faults;
	return n;
}

/* The text of the only fault there is. */
static void take_fault(struct core_fixture *g, char *text, size_t size)
{
	struct core_fault f;
	unsigned found = 0;

	for (unsigned i = 0; i < core_nrq(g->core); i++) {
		struct cr_rq *rq = core_rq(g->core, i);

		assert_int_equal(core_faulty(g->core, rq),
				 core_counts(g->core, rq).faults);
		if (!core_take_fault(g->core, rq, &f))
			continue;
		found++;
		assert_int_equal(f.rq, i);
		assert_false(core_take_fault(g->core, rq, &f));
		core_fault_text(&f, text, size);
	}
	assert_int_equal(found, 1);
}

static void to_fifo(struct core_fixture *g, cr_ns now)
{
	struct core_switch *sw;

	assert_int_equal(core_switch_prepare(&sw, g->core, N, &cr_sched_fifo,
					     NULL, NULL),
			 0);
	assert_int_equal(core_switch_commit(sw, now, NULL), 0);
	core_switch_finish(sw);
}

static void is_caught(enum sabotage what, const char *says)
{
	const struct cr_sched_ops ops = bad();
	struct core_fixture g;
	char text[512];

	open_bad(&g, &ops, what, true);
	run(&g);
	for (unsigned i = 0; i < N; i++)
		if (g.s[i].done != (i == IDLER ? 0 : FRAMES))
			fail_msg("sabotage %d: task %u did %u jobs", (int)what,
				 i, (unsigned)g.s[i].done);
	assert_int_equal(count_faults(&g), 1);
	assert_true(core_replaced(g.core));
	take_fault(&g, text, sizeof(text));
	if (!strstr(text, says))
		fail_msg("'%s' does not say '%s'", text, says);
	to_fifo(&g, 1000);
	assert_false(core_replaced(g.core));
	assert_true(frame(&g, 0, 1001));
	pick_all(&g, 1002);
	stop_all(&g, 1003);
	assert_int_equal(g.s[0].done, FRAMES + 1);
	close_core(&g, 1004);
}

static void every_broken_promise_is_caught_and_no_job_lost(void **state)
{
	is_caught(TWICE, "policy=bad callback=pick what=\"a task that is "
			 "running\" rq=0 cpu=1 task=2 mischief=102");
	is_caught(LOSE, "callback=pick what=\"nothing, with a task waiting and "
			"no tick to come\" rq=0");
	is_caught(STALL, "what=\"nothing, with a task waiting");
	is_caught(SLEEPER, "what=\"a task that has no job\" rq=0 cpu=1 task=5 "
			   "mischief=105");
	is_caught(FORGED, "what=\"no task of this engine\" rq=0 cpu=1");
	is_caught(ELSEWHERE, "what=\"a task of another run queue\"");
	is_caught(WRONG_CPU, "what=\"a task that may not run on this CPU\" "
			     "rq=0 cpu=1 task=4");
	is_caught(NO_SLICE, "what=\"a task without a slice\"");
	is_caught(SAME_TICK, "callback=tick what=\"armed the tick that was due "
			     "once more\" rq=0");
}

static void a_fault_names_a_time_that_never_comes(void **state)
{
	const struct core_fault f = {
		.kv = { { "deadline", CR_NEVER, CR_KV_CLOCK_NS },
			{ "served", CR_NEVER, CR_KV_COUNT },
			{ "slice", 5, CR_KV_NS } },
		.nkv = 3,
	};
	char text[128];

	(void)state;
	core_fault_said(&f, text, sizeof(text));
	assert_string_equal(text, "deadline_ns=never "
				  "served=9223372036854775807 slice_ns=5");
}

static void an_honest_policy_is_left_alone(void **state)
{
	const struct cr_sched_ops ops = bad();
	struct core_fixture g;

	open_bad(&g, &ops, HONEST, false);
	run(&g);
	for (unsigned i = 0; i < IDLER; i++)
		assert_int_equal(g.s[i].done, FRAMES);
	assert_int_equal(count_faults(&g), 0);
	assert_false(core_replaced(g.core));
	assert_int_equal(plan.picks, IDLER * FRAMES);
	close_core(&g, 1000);
}

/* fifo goes on with the longest waiting, whatever order they joined in. */
static void the_longest_waiting_goes_first_then(void **state)
{
	static const unsigned order[N] = { 3, 1, 4, 0, 2, 5 };
	const struct cr_sched_ops ops = bad();
	struct core_config cfg = { .ops = &ops, .ncpu = 1, .lenient = true };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	plan.what = STALL;
	plan.picks = STRIKE;
	for (unsigned k = 0; k < N; k++)
		(void)frame(&g, order[k], k);
	for (unsigned k = 0; k < N; k++) {
		assert_int_equal(pick(&g, 0, 10 + k), order[k]);
		(void)stop(&g, 0, 10 + k);
	}
	assert_int_equal(count_faults(&g), 1);
	close_core(&g, 100);
}

/* --- stealing --- */

static struct cr_task *steal_prey(struct cr_rq *from, struct cr_rq *to,
				  unsigned cpu, cr_ns now)
{
	(void)from, (void)to, (void)cpu, (void)now;
	return plan.prey;
}

static void a_thief_that_takes_what_is_not_there_is_caught(void **state)
{
	struct cr_sched_ops ops = bad();
	struct core_config cfg = {
		.ops = &ops, .ncpu = 2, .cpus_per_rq = 1, .lenient = true
	};
	struct cr_rq *rq[2];
	char text[512];
	struct core_fixture g;

	ops.steal = steal_prey;
	open_core_joined(&g, cfg);
	lay_trap(&g, HONEST); /* the prey sleeps */
	for (unsigned i = 0; i < 2; i++)
		rq[i] = core_rq(g.core, i);
	(void)frame(&g, 0, 1);
	(void)frame(&g, 2, 2);
	assert_ptr_equal(g.s[2].task.core.task.rq, rq[0]);
	plan.prey = &g.s[4].task.core.task;
	assert_null(core_steal(g.core, rq[0], rq[1], 0, 3));
	take_fault(&g, text, sizeof(text));
	assert_non_null(strstr(text, "callback=steal what=\"a task that has no "
				     "job\" rq=0 task=4"));
	/* both sides are fifo's now, and it steals nothing */
	assert_null(core_steal(g.core, rq[0], rq[1], 0, 4));
	assert_int_equal(pick(&g, 0, 5), 0);
	(void)stop(&g, 0, 6);
	assert_int_equal(pick(&g, 0, 7), 2);
	(void)stop(&g, 0, 8);
	close_core(&g, 100);
}

/* --- admission --- */

static int admit_nowhere(const struct cr_sched *s, const struct cr_task *t,
			 struct cr_verdict *v)
{
	(void)t, (void)v;
	return (int)s->nrq;
}

static void a_policy_that_admits_to_nowhere_admits_nobody(void **state)
{
	struct cr_sched_ops ops = bad();
	struct core_config cfg = { .ops = &ops, .ncpu = 2 };
	struct cr_verdict v;
	struct core_fixture g;

	ops.admit = admit_nowhere;
	open_core(&g, cfg);
	assert_int_equal(core_admit(g.core, &g.s[0].task.core.task, &v),
			 -EINVAL);
	assert_non_null(strstr(v.rule, "admit() names none"));
	close_core(&g, 0);
}

/* --- a switch while fifo stands in --- */

static int never_starts(struct cr_rq *rq)
{
	(void)rq;
	return -ENOTSUP;
}

static void a_switch_that_fails_leaves_fifo_at_work(void **state)
{
	const struct cr_sched_ops ops = bad();
	struct cr_sched_ops refusing = cr_sched_fifo;
	struct core_switch *sw;
	struct core_fixture g;

	refusing.rq_init = never_starts;
	open_bad(&g, &ops, STALL, true);
	plan.picks = STRIKE;
	for (unsigned i = 0; i < IDLER; i++)
		(void)frame(&g, i, i);
	pick_all(&g, 10);
	assert_true(core_replaced(g.core));
	assert_int_equal(
		core_switch_prepare(&sw, g.core, N, &refusing, NULL, NULL), 0);
	assert_int_equal(core_switch_commit(sw, 11, NULL), -ENOTSUP);
	core_switch_finish(sw);
	assert_true(core_replaced(g.core));
	for (cr_ns now = 12; busy(&g); pick_all(&g, ++now))
		stop_all(&g, now);
	for (unsigned i = 0; i < IDLER; i++)
		assert_int_equal(g.s[i].done, 1);
	close_core(&g, 100);
}

/* --- debug builds --- */

/* In a child, because it may abort; its last words go to @fd. */
_Noreturn static void strict_child(int fd)
{
	const struct cr_sched_ops ops = bad();
	struct core_fixture g;

	(void)signal(SIGABRT, SIG_DFL);
	(void)dup2(fd, STDERR_FILENO);
	open_bad(&g, &ops, SLEEPER, false);
	run(&g);
	_exit(count_faults(&g) == 1 ? 0 : 1);
}

static void a_debug_build_aborts_and_says_why(void **state)
{
	char text[512] = "";
	int fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		strict_child(fd[1]);
	(void)close(fd[1]);
	assert_true(read(fd[0], text, sizeof(text) - 1) >= 0);
	(void)close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
#ifdef CR_DEBUG
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "broken contract: policy=bad "
				     "callback=pick what=\"a task that has no "
				     "job\" rq=0 cpu=1 task=5 mischief=105"));
#else
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_string_equal(text, "");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_broken_promise_is_caught_and_no_job_lost),
		cmocka_unit_test(a_fault_names_a_time_that_never_comes),
		cmocka_unit_test(an_honest_policy_is_left_alone),
		cmocka_unit_test(the_longest_waiting_goes_first_then),
		cmocka_unit_test(
			a_thief_that_takes_what_is_not_there_is_caught),
		cmocka_unit_test(a_policy_that_admits_to_nowhere_admits_nobody),
		cmocka_unit_test(a_switch_that_fails_leaves_fifo_at_work),
		cmocka_unit_test(a_debug_build_aborts_and_says_why),
	};

	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
