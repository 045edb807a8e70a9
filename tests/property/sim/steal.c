/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run queues whose idle CPUs steal are as one: at no time is a CPU idle while
 * somebody waits, anywhere, who may run on it. No frame is done twice, and none
 * is forgotten. Without stealing that is not so.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { LOOKS = 40, UNTIL = 4000 };
#define SETS TEST_TRIES(300)

struct world {
	const struct cr_sched_ops *ops;
	unsigned ncpu, per_rq;
	enum sim_preempt preempt;
	uint64_t seed;
	uint64_t idle;	/* CPUs that were idle while somebody waited */
	uint64_t moved; /* tasks in another run queue than at first */
};

/* Each may run on its own CPU and, mostly, on the others. */
static void dress(struct rig_task *r)
{
	const struct set_task *from = r->rig->user;
	struct cr_task *t = &r->st.core.task;
	uint64_t seed = (uint64_t)from->cost * 31 + t->id;

	t->cls = from->cls == CR_HARD ? CR_SOFT : from->cls; /* they stay */
	t->rel_deadline = from->deadline;
	r->offset = set_between(&seed, 0, from->period);
	for (unsigned c = 0; c < r->rig->cfg.core.ncpu; c++)
		if (c != t->id % r->rig->cfg.core.ncpu &&
		    test_below(&seed, 4) == 0)
			cr_cpus_del(&t->cpus, c);
}

static struct sim_rig *rig_of(const struct task_set *set, const struct world *w)
{
	struct sim_rig *rig = rig_new(w->ops, NULL, w->ncpu, TASK_SET_MAX);

	rig->cfg.preempt = w->preempt;
	rig->cfg.core.cpus_per_rq = w->per_rq;
	for (unsigned i = 0; i < set->n; i++) {
		rig->user = &set->task[i];
		assert_non_null(rig_add_with(rig, set->task[i].period,
					     set->task[i].cost, dress));
	}
	return rig;
}

/* CPUs that have nothing to do now although somebody waits for them. */
static unsigned idle_for_nothing(const struct sim_rig *rig)
{
	struct core *core = sim_core(rig->sim);
	unsigned n = 0;

	for (unsigned c = 0; c < rig->cfg.core.ncpu; c++) {
		const struct cr_rq *rq = core_rq_of(core, c);
		bool wanted = false;

		for (unsigned i = 0; i < rig->ntasks; i++) {
			const struct cr_task *t = &rig->task[i].st.core.task;

			wanted |= t->state == CR_QUEUED &&
				  cr_cpus_has(&t->cpus, c);
		}
		n += wanted && !rq->cpu[c - rq->first_cpu].running;
	}
	return n;
}

/* The frames that came are those that are done, or one under way, or wait. */
static bool miscounts(const struct rig_task *r, cr_ns now)
{
	uint64_t came = now > r->offset ? (uint64_t)((now - 1 - r->offset) /
						     r->st.core.task.period) +
						  1
					: 0;
	uint64_t in_flight = r->claimed - r->done;

	return r->arrived != came || r->done > r->claimed ||
	       r->claimed > r->arrived || in_flight > 1;
}

static cr_ns service(const struct sim_rig *rig)
{
	cr_ns sum = 0;

	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];

		sum += (cr_ns)r->done * r->cost;
		if (r->st.started)
			sum += cr_task_ran(&r->st.core.task, sim_now(rig->sim));
	}
	return sum;
}

/* Of turns that are over, and of those under way. */
static cr_ns busy(const struct sim_rig *rig)
{
	struct core *core = sim_core(rig->sim);
	cr_ns sum = 0;

	for (unsigned c = 0; c < rig->cfg.core.ncpu; c++) {
		const struct cr_rq *rq = core_rq_of(core, c);
		const struct cr_cpu *cpu = &rq->cpu[c - rq->first_cpu];

		sum += sim_cpu_stats(rig->sim, c).busy;
		if (cpu->running)
			sum += sim_now(rig->sim) - cpu->since;
	}
	return sum;
}

static bool goes_wrong(const struct task_set *set, void *arg)
{
	struct world *w = arg;
	struct sim_rig *rig = rig_of(set, w);
	uint64_t seed = w->seed;
	unsigned home[TASK_SET_MAX];
	uint64_t idle = 0;
	bool bad = false;

	for (unsigned i = 0; i < set->n; i++)
		home[i] = rig->task[i].st.core.task.rq->id;
	for (unsigned k = 0; k < LOOKS && !bad; k++) {
		sim_run(rig->sim,
			sim_now(rig->sim) +
				set_between(&seed, 1, 2 * UNTIL / LOOKS));
		idle += idle_for_nothing(rig);
		for (unsigned i = 0; i < set->n; i++)
			bad |= miscounts(&rig->task[i], sim_now(rig->sim));
		bad |= service(rig) != busy(rig);
	}
	for (unsigned i = 0; i < set->n; i++)
		w->moved += rig->task[i].st.core.task.rq->id != home[i];
	rig_free(rig);
	w->idle += idle;
	return bad || (w->ops->steal && idle);
}

static void try_all(struct world *w)
{
	static const struct task_set_shape shape = { .tasks = { 4, 16 },
						     .util_ppm = 2700000,
						     .period = { 5, 200 },
						     .mixed = true };
	struct task_set_property p = { "CPUs have work while there is some",
				       goes_wrong, w };
	uint64_t seed = test_seed();

	for (w->ncpu = 2; w->ncpu <= 4; w->ncpu++)
		for (unsigned pre = 0; pre < 2; pre++) {
			w->per_rq = w->ncpu == 4 && pre ? 2 : 1;
			w->preempt = pre ? SIM_FULL : SIM_FRAME;
			w->seed = test_random(&seed);
			task_set_try(SETS / 6, &shape, &p);
		}
}

static void no_cpu_idles_while_somebody_waits(void **state)
{
	struct world w = { .ops = &cr_sched_edf_steal };

	try_all(&w);
	assert_int_equal(w.idle, 0);
	assert_true(w.moved > SETS);
}

static void without_stealing_they_do(void **state)
{
	struct world w = { .ops = &cr_sched_edf };

	try_all(&w);
	assert_true(w.idle > SETS);
	assert_int_equal(w.moved, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cpu_idles_while_somebody_waits),
		cmocka_unit_test(without_stealing_they_do),
	};

	return cmocka_run_group_tests_name("steal", tests, NULL, NULL);
}
