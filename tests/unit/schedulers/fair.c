/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden schedules of cfs, eevdf, wfq and bfs, in slots of the simulator.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"

#define CFS_SLOT (750 * CR_US)	 /* the granularity; the latency is 8 of them */
#define EEVDF_SLOT (750 * CR_US) /* the slice */
#define BFS_SLOT (3 * CR_MS)	 /* the interval is two */

/* One call of a golden schedule: @cost of CPU time from @start on. */
struct row {
	int nice;
	uint32_t weight;
	cr_ns start, cost;
};

static const struct row *dressing;

static void dress(struct rig_task *r)
{
	const struct row *row = &dressing[r->rig->ntasks];

	r->st.core.task.nice = row->nice;
	r->st.core.task.weight = row->weight;
	r->offset = row->start;
}

static struct sim_rig *rig_of(const struct cr_sched_ops *ops, const char *opts,
			      unsigned ncpu, enum sim_preempt preempt,
			      const struct row *row, unsigned n)
{
	struct sim_rig *rig = rig_new(ops, opts, ncpu, n + 2);

	rig->cfg.preempt = preempt;
	dressing = row;
	for (unsigned i = 0; i < n; i++)
		assert_non_null(
			rig_add_with(rig, 3600 * CR_SEC, row[i].cost, dress));
	return rig;
}

static void trace(struct sim_rig *rig, cr_ns slot, const char *want)
{
	char line[1][128];

	rig_trace(rig, slot, 1, line, (unsigned)strlen(want));
	assert_string_equal(line[0], want);
	rig_free(rig);
}

#define ENDLESS (3600 * CR_SEC)
#define RIG(ops, opts, preempt, ...)                                           \
	rig_of((ops), (opts), 1, (preempt),                                    \
	       (const struct row[]){ __VA_ARGS__ },                            \
	       sizeof((const struct row[]){ __VA_ARGS__ }) /                   \
		       sizeof(struct row))
#define CFS(...) RIG(&cr_sched_cfs, NULL, SIM_FULL, __VA_ARGS__)
#define EEVDF(...) RIG(&cr_sched_eevdf, NULL, SIM_FULL, __VA_ARGS__)
#define BFS(...) RIG(&cr_sched_bfs, NULL, SIM_FULL, __VA_ARGS__)

/* --- cfs --- */

static void cfs_divides_the_latency_by_weight(void **state)
{
	trace(CFS({ 0, 1024, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }), CFS_SLOT,
	      "AAAABBBBAAAABBBB");
	trace(CFS({ 0, 3072, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }), CFS_SLOT,
	      "AAAAAABBAAAAAABB");
}

/* Nice 13 is worth 56 of 1024. */
static void cfs_multiplies_nice_and_weight(void **state)
{
	trace(CFS({ 13, 1024, 0, ENDLESS }, { 0, 56, 0, ENDLESS }), CFS_SLOT,
	      "AAAABBBBAAAABBBB");
	trace(CFS({ 13, 3072, 0, ENDLESS }, { 0, 56, 0, ENDLESS }), CFS_SLOT,
	      "AAAAAABBAAAAAABB");
}

static void cfs_keeps_the_granularity_in_a_crowd(void **state)
{
	struct row row[10];

	for (unsigned i = 0; i < 10; i++)
		row[i] = (struct row){ 0, 1024, 0, ENDLESS };
	trace(rig_of(&cr_sched_cfs, NULL, 1, SIM_FULL, row, 10), CFS_SLOT,
	      "ABCDEFGHIJABCDEFGHIJABC");
}

/* B comes at slot 4, half a latency (4 slots) behind A's 4: it preempts at
 * once, is level with A at slot 8, and the lower id goes on. */
static void cfs_gives_a_sleeper_half_a_latency(void **state)
{
	trace(CFS({ 0, 1024, 0, ENDLESS }, { 0, 1024, 4 * CFS_SLOT, ENDLESS }),
	      CFS_SLOT, "AAAABBBBAAAABBBBAAAA");
}

/* However long it slept: at slot 40 B still gets no more than 4. */
static void cfs_does_not_pay_for_all_the_sleep(void **state)
{
	trace(CFS({ 0, 1024, 0, ENDLESS }, { 0, 1024, 40 * CFS_SLOT, ENDLESS }),
	      CFS_SLOT,
	      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABBBBAAAABBBBAAAA");
}

static int64_t shown(const struct rig_task *r, const struct cr_sched_ops *ops,
		     const char *key)
{
	struct cr_kv kv[8];
	unsigned n = ops->explain(&r->st.core.task, kv, 8);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return kv[i].value;
	fail_msg("no %s", key);
	return 0;
}

/* B sleeps from slot 6 on with a virtual runtime of 2 slots. At slot 7 half a
 * latency before A's 5 would be 1: B stays at 2 and after a slice is at 6. */
static void cfs_never_puts_a_sleeper_back(void **state)
{
	static const struct sim_job naps[] = {
		{ 0, 2 * CFS_SLOT, CR_NEVER },
		{ 7 * CFS_SLOT, 20 * CFS_SLOT, CR_NEVER },
	};
	struct sim_rig *rig = CFS({ 0, 1024, 0, ENDLESS });
	struct rig_task *b = rig_add_jobs(rig, naps, 2);

	sim_run(rig->sim, 11 * CFS_SLOT + 1);
	assert_int_equal(shown(b, &cr_sched_cfs, "vruntime"), 6 * CFS_SLOT);
	assert_int_equal(shown(b, &cr_sched_cfs, "behind"), -CFS_SLOT);
	rig_free(rig);
}

/* Light and heavy frames of equal calls: equal time. */
static void cfs_without_preemption_shares_time(void **state)
{
	static const struct sim_job heavy[] = {
		{ 0, 4 * CFS_SLOT, CR_NEVER },
		{ 0, 4 * CFS_SLOT, CR_NEVER },
	};
	static const struct sim_job light[] = {
		{ 0, CFS_SLOT, CR_NEVER }, { 0, CFS_SLOT, CR_NEVER },
		{ 0, CFS_SLOT, CR_NEVER }, { 0, CFS_SLOT, CR_NEVER },
		{ 0, CFS_SLOT, CR_NEVER }, { 0, CFS_SLOT, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(&cr_sched_cfs, NULL, 1, 2);

	rig->cfg.preempt = SIM_FRAME;
	(void)rig_add_jobs(rig, heavy, 2);
	(void)rig_add_jobs(rig, light, 6);
	trace(rig, CFS_SLOT, "AAAABBBBAAAABB.");
}

/* Neighbours differ by 1.25 as far as integers can; the ends are Linux's. */
static void cfs_weights_are_those_of_linux(void **state)
{
	struct row row[40];
	struct sim_rig *rig;
	int64_t last = 0;

	for (int i = 0; i < 40; i++)
		row[i] = (struct row){ i - 20, 1024, 0, CR_MS };
	rig = rig_of(&cr_sched_cfs, NULL, 1, SIM_FULL, row, 40);
	for (unsigned i = 0; i < 40; i++) {
		int64_t w = shown(&rig->task[i], &cr_sched_cfs, "weight");

		if (i)
			assert_in_range(last * 100 / w, 119, 129);
		last = w;
	}
	assert_int_equal(shown(&rig->task[0], &cr_sched_cfs, "weight"), 88761);
	assert_int_equal(shown(&rig->task[20], &cr_sched_cfs, "weight"), 1024);
	assert_int_equal(last, 15);
	rig_free(rig);
}

/* --- eevdf --- */

/* By weight 3: A's requests end a third later each. After one of A's, V is 1/4:
 * A has to wait until V has come to its 1/3, which takes one of B's. */
static void eevdf_serves_the_eligible_by_deadline(void **state)
{
	trace(EEVDF({ 0, 1024, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }),
	      EEVDF_SLOT, "ABABABAB");
	trace(EEVDF({ 0, 3072, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }),
	      EEVDF_SLOT, "ABAAABAAABAA");
}

/* However long B was not there: it comes with a lag of 0. At slot 4 both ask
 * for the same, at 4.5 A has half a slice left: its deadline is earlier. */
static void eevdf_pays_nothing_for_sleep(void **state)
{
	trace(EEVDF({ 0, 1024, 0, ENDLESS },
		    { 0, 1024, 4 * EEVDF_SLOT, ENDLESS }),
	      EEVDF_SLOT, "AAAAABABABAB");
	trace(EEVDF({ 0, 1024, 0, ENDLESS },
		    { 0, 1024, 4 * EEVDF_SLOT + EEVDF_SLOT / 2, ENDLESS }),
	      EEVDF_SLOT / 2, "AAAAAAAAAABBAABBAABB");
}

/* B's request of a slice ends a quarter of one later in virtual time, before
 * A's that is half done. After it B is ahead, and A has its half. */
static void eevdf_displaces_for_an_earlier_deadline(void **state)
{
	trace(EEVDF({ 0, 1024, 0, ENDLESS },
		    { 0, 4096, 4 * EEVDF_SLOT + EEVDF_SLOT / 2, ENDLESS }),
	      EEVDF_SLOT / 2, "AAAAAAAAABBABBBBAABB");
}

/* --- wfq --- */

#define WFQ_SLOT CR_MS

/* As many jobs at once as there are in @job, of a slot each, with @weight. */
static void wfq_burst(struct sim_rig *rig, const struct sim_job *job,
		      unsigned n, uint32_t weight)
{
	struct rig_task *r = rig_add_jobs(rig, job, n);

	r->st.core.task.weight = weight;
	r->st.core.task.cost.mean = WFQ_SLOT;
}

/* Bennett and Zhang's example of how far wfq may be ahead of GPS: A has half of
 * all weight and nine jobs, eight others have a job each. In GPS, A's end at 2,
 * 4, ... 18, the others' at 16: eight of A's are served in a row. */
static void wfq_serves_by_finish_times_of_the_fluid(void **state)
{
	static struct sim_job burst[9];
	struct sim_rig *rig = rig_new(&cr_sched_wfq, NULL, 1, 9);

	for (unsigned k = 0; k < 9; k++)
		burst[k] = (struct sim_job){ 0, WFQ_SLOT, CR_NEVER };
	wfq_burst(rig, burst, 9, 8 * 1024);
	for (unsigned i = 0; i < 8; i++)
		wfq_burst(rig, burst, 1, 1024);
	trace(rig, WFQ_SLOT, "AAAAAAAABCDEFGHIA.");
}

/* A's ends in GPS are 1.5 slots apart, B's 3. */
static void wfq_shares_by_weight(void **state)
{
	static struct sim_job burst[12];
	struct sim_rig *rig = rig_new(&cr_sched_wfq, NULL, 1, 2);

	for (unsigned k = 0; k < 12; k++)
		burst[k] = (struct sim_job){ 0, WFQ_SLOT, CR_NEVER };
	wfq_burst(rig, burst, 8, 2048);
	wfq_burst(rig, burst, 4, 1024);
	trace(rig, WFQ_SLOT, "AABAABAABAAB.");
}

/* B comes at slot 2 and starts there, as A's third does, and has no claim for
 * the time before. */
static void wfq_gives_nothing_for_the_time_before(void **state)
{
	static struct sim_job early[6], late[3];
	struct sim_rig *rig = rig_new(&cr_sched_wfq, NULL, 1, 2);

	for (unsigned k = 0; k < 6; k++)
		early[k] = (struct sim_job){ 0, WFQ_SLOT, CR_NEVER };
	for (unsigned k = 0; k < 3; k++)
		late[k] = (struct sim_job){ 2 * WFQ_SLOT, WFQ_SLOT, CR_NEVER };
	wfq_burst(rig, early, 6, 1024);
	wfq_burst(rig, late, 3, 1024);
	trace(rig, WFQ_SLOT, "AAABABABA.");
}

/* The time of a job is known when it is over. A's first takes three slots in
 * place of one, so its second starts where three end: after B's two. */
static void wfq_charges_what_a_job_took(void **state)
{
	static const struct sim_job longer[] = { { 0, 3 * WFQ_SLOT, CR_NEVER },
						 { 0, WFQ_SLOT, CR_NEVER } };
	static const struct sim_job two[] = { { 0, WFQ_SLOT, CR_NEVER },
					      { 0, WFQ_SLOT, CR_NEVER } };
	struct sim_rig *rig = rig_new(&cr_sched_wfq, NULL, 1, 2);

	wfq_burst(rig, longer, 2, 1024);
	wfq_burst(rig, two, 2, 1024);
	trace(rig, WFQ_SLOT, "AAABBA.");
}

/* --- bfs --- */

static void bfs_alternates_equal_calls(void **state)
{
	trace(BFS({ 0, 1024, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }), BFS_SLOT,
	      "AABBAABBAABB");
}

/* Offsets of 6 and 40.365 ms: B's turn comes when A's deadline, always 6 ms
 * ahead, lies beyond B's; that is at 36 and at 78 ms. Weight 6889 makes nice 0
 * the same as nice -20. */
static void bfs_renews_deadlines_by_nice_and_weight(void **state)
{
	trace(BFS({ -20, 1024, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }), BFS_SLOT,
	      "AAAAAAAAAAAABBAAAAAAAAAAAABBAA");
	trace(BFS({ 0, 6889, 0, ENDLESS }, { 0, 1024, 0, ENDLESS }), BFS_SLOT,
	      "AAAAAAAAAAAABBAAAAAAAAAAAABBAA");
}

/* B's deadline is 65 ms, C's 40 ms, but B was enqueued first. When A's frame
 * ends at 99 ms both have passed, and B is found first. */
static void bfs_takes_the_first_expired_of_the_list(void **state)
{
	trace(RIG(&cr_sched_bfs, NULL, SIM_FRAME, { 0, 1024, 0, 99 * CR_MS },
		  { 5, 1024, 10 * CR_MS, 6 * CR_MS },
		  { 0, 1024, 20 * CR_MS, 6 * CR_MS }),
	      BFS_SLOT, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABBCC.");
}

/* The same when A ends at 30 ms, and none has passed. */
static void bfs_takes_the_earliest_of_the_unexpired(void **state)
{
	trace(RIG(&cr_sched_bfs, NULL, SIM_FRAME, { 0, 1024, 0, 30 * CR_MS },
		  { 5, 1024, 10 * CR_MS, 6 * CR_MS },
		  { 0, 1024, 20 * CR_MS, 6 * CR_MS }),
	      BFS_SLOT, "AAAAAAAAAACCBB.");
}

static void on_cpu_0(struct rig_task *r)
{
	dress(r);
	r->st.core.task.cpus = (struct cr_cpus){ { 1 } };
}

static void on_cpu_1(struct rig_task *r)
{
	dress(r);
	r->st.core.task.cpus = (struct cr_cpus){ { 2 } };
}

/* As above with A to C on CPU 0; before them in the list is E, whose deadline
 * has passed, too, but who waits for CPU 1. */
static void bfs_finds_the_first_expired_that_may_run(void **state)
{
	static const struct row row[] = {
		{ 0, 1024, 0, 99 * CR_MS },
		{ 5, 1024, 10 * CR_MS, 6 * CR_MS },
		{ 0, 1024, 20 * CR_MS, 6 * CR_MS },
		{ 0, 1024, 0, 200 * CR_MS },
		{ 0, 1024, 5 * CR_MS, 6 * CR_MS },
	};
	struct sim_rig *rig = rig_new(&cr_sched_bfs, NULL, 2, 5);

	rig->cfg.preempt = SIM_FRAME;
	dressing = row;
	for (unsigned i = 0; i < 5; i++)
		assert_non_null(rig_add_with(rig, 3600 * CR_SEC, row[i].cost,
					     i < 3 ? on_cpu_0 : on_cpu_1));
	trace(rig, BFS_SLOT, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABBCC.");
}

/* B's deadline is earlier: it displaces A, who goes behind C in the list with
 * the deadline it had and half an interval. */
static void bfs_keeps_deadline_and_interval_over_preemption(void **state)
{
	trace(BFS({ 0, 1024, 0, ENDLESS }, { -20, 1024, 3 * CR_MS, 6 * CR_MS },
		  { 0, 1024, 0, ENDLESS }),
	      BFS_SLOT, "ABBCCACCAACCAA");
}

/* A sleeps from 3 to 6 ms; equal to B, it does not displace it, and its next
 * turn is what was left of its interval. */
static void bfs_keeps_deadline_and_interval_over_sleep(void **state)
{
	static const struct sim_job naps[] = {
		{ 0, 3 * CR_MS, CR_NEVER },
		{ 6 * CR_MS, 12 * CR_MS, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(&cr_sched_bfs, NULL, 1, 2);

	(void)rig_add_jobs(rig, naps, 2);
	assert_non_null(rig_add(rig, 3600 * CR_SEC, 3600 * CR_SEC));
	trace(rig, BFS_SLOT, "ABBABBAABBABB");
}

/* Frames of 2 ms: three of them are a turn, whoever else waits. */
static void bfs_makes_one_turn_of_the_frames_of_an_interval(void **state)
{
	static const struct sim_job frames[] = {
		{ 0, 2 * CR_MS, CR_NEVER },
		{ 0, 2 * CR_MS, CR_NEVER },
		{ 0, 2 * CR_MS, CR_NEVER },
		{ 0, 2 * CR_MS, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(&cr_sched_bfs, NULL, 1, 2);

	rig->cfg.preempt = SIM_FRAME;
	(void)rig_add_jobs(rig, frames, 4);
	(void)rig_add_jobs(rig, frames, 4);
	trace(rig, 2 * CR_MS, "AAABBBAB.");
}

/* 6 ms times 11^k / 10^k, within a millionth. */
static void bfs_offsets_are_powers_of_eleven_tenths(void **state)
{
	struct row row[40];
	struct sim_rig *rig;
	int64_t want = 6 * CR_MS * 1000;

	for (int i = 0; i < 40; i++)
		row[i] = (struct row){ i - 20, 1024, 0, CR_MS };
	rig = rig_of(&cr_sched_bfs, NULL, 1, SIM_FULL, row, 40);
	for (unsigned i = 0; i < 40; i++) {
		int64_t o = shown(&rig->task[i], &cr_sched_bfs, "offset");

		assert_true(llabs(o * 1000 - want) <= want / 1000000 + 1000);
		want = want * 11 / 10;
	}
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eevdf_serves_the_eligible_by_deadline),
		cmocka_unit_test(eevdf_pays_nothing_for_sleep),
		cmocka_unit_test(eevdf_displaces_for_an_earlier_deadline),
		cmocka_unit_test(wfq_serves_by_finish_times_of_the_fluid),
		cmocka_unit_test(wfq_shares_by_weight),
		cmocka_unit_test(wfq_gives_nothing_for_the_time_before),
		cmocka_unit_test(wfq_charges_what_a_job_took),
		cmocka_unit_test(cfs_divides_the_latency_by_weight),
		cmocka_unit_test(cfs_multiplies_nice_and_weight),
		cmocka_unit_test(cfs_keeps_the_granularity_in_a_crowd),
		cmocka_unit_test(cfs_gives_a_sleeper_half_a_latency),
		cmocka_unit_test(cfs_does_not_pay_for_all_the_sleep),
		cmocka_unit_test(cfs_never_puts_a_sleeper_back),
		cmocka_unit_test(cfs_without_preemption_shares_time),
		cmocka_unit_test(cfs_weights_are_those_of_linux),
		cmocka_unit_test(bfs_alternates_equal_calls),
		cmocka_unit_test(bfs_renews_deadlines_by_nice_and_weight),
		cmocka_unit_test(bfs_takes_the_first_expired_of_the_list),
		cmocka_unit_test(bfs_takes_the_earliest_of_the_unexpired),
		cmocka_unit_test(bfs_finds_the_first_expired_that_may_run),
		cmocka_unit_test(
			bfs_keeps_deadline_and_interval_over_preemption),
		cmocka_unit_test(bfs_keeps_deadline_and_interval_over_sleep),
		cmocka_unit_test(
			bfs_makes_one_turn_of_the_frames_of_an_interval),
		cmocka_unit_test(bfs_offsets_are_powers_of_eleven_tenths),
	};

	return cmocka_run_group_tests_name("fair", tests, NULL, NULL);
}
