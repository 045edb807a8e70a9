/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of workers: our policies under pinned threads.
 *
 * A worker: one lock round per job (stop the previous, pick the next), asleep
 * or spinning when there is nothing, stealing when the policy does.
 *
 *        +------------ lock: stop, tick, pick ------------+
 *        |                    | NULL                      | a job
 *        |                    v                           v
 *        |   idle: in q->idle, then steal, then wait    unlock, wake others,
 *        |                    | woken, or tick due      client.run()
 *        +--------------------+---------------------------+
 *
 * Wake-ups: whoever changes a run queue takes as many workers out of q->idle
 * as there is work for (live_settle), unlocks, then signals those. A worker
 * that is not in q->idle looks at the queue before it goes idle, under the
 * lock, so no wake-up is lost. One idle worker, the tick waiter, waits no
 * longer than the policy's next tick.
 *
 * live.h says what becomes of a thread that does not come back from run().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/thread.h"
#include "engine/cpus.h"
#include "engine/live_state.h"

static struct live_worker *worker_of(struct live *l, const struct live_rq *q,
				     unsigned index)
{
	return &l->worker[q->rq->first_cpu + index];
}

static void wake_worker(struct live_worker *w)
{
	atomic_store_explicit(&w->woken, true, memory_order_release);
}

static bool steals(const struct live *l)
{
	return l->nrq > 1 && core_sched(l->core)->ops->steal;
}

/* A tick before the tick waiter's time needs a new look at the clock. */
static void choose_tick_waiter(struct live_rq *q, struct cr_cpus *wake)
{
	int who = q->tick_waiter;

	if (q->rq->next_tick >= q->until)
		return;
	if (who < 0 || !cr_cpus_has(&q->idle, (unsigned)who))
		who = cpus_lowest(&q->idle);
	if (who < 0)
		return; /* all are busy: they tick at their job's end */
	cr_cpus_del(&q->idle, (unsigned)who);
	cr_cpus_add(wake, (unsigned)who);
}

/* Idle workers of other run queues may want to steal what @q cannot run. */
static void wake_thieves(struct live *l, const struct live_rq *q, unsigned n)
{
	for (unsigned i = 0; i < l->nrq && n; i++) {
		struct live_rq *other = &l->rq[i];
		int who;

		if (other == q ||
		    !atomic_load_explicit(&other->n_idle, memory_order_seq_cst))
			continue;
		(void)pthread_mutex_lock(&other->lock);
		who = cpus_lowest(&other->idle);
		if (who >= 0) {
			cr_cpus_del(&other->idle, (unsigned)who);
			atomic_store_explicit(&other->n_idle,
					      cpus_count(&other->idle),
					      memory_order_seq_cst);
			wake_worker(worker_of(l, other, (unsigned)who));
			n--;
		}
		(void)pthread_mutex_unlock(&other->lock);
		if (who >= 0 && !l->cfg.poll)
			(void)pthread_cond_signal(
				&worker_of(l, other, (unsigned)who)->wake);
	}
}

void live_settle(struct live *l, struct live_rq *q, bool ticks,
		 struct live_wakes *w)
{
	w->cpus = (struct cr_cpus){ 0 };
	w->surplus = core_wakes(l->core, q->rq, &q->idle, &w->cpus);
	w->faulty = core_faulty(l->core, q->rq);
	if (ticks)
		choose_tick_waiter(q, &w->cpus);
	for (struct cr_cpus left = w->cpus; cpus_lowest(&left) >= 0;) {
		unsigned i = (unsigned)cpus_lowest(&left);

		cr_cpus_del(&left, i);
		wake_worker(worker_of(l, q, i));
	}
	if (!steals(l)) {
		w->surplus = 0;
		return;
	}
	atomic_store_explicit(&q->queued, q->rq->nqueued, memory_order_seq_cst);
	atomic_store_explicit(&q->n_idle, cpus_count(&q->idle),
			      memory_order_seq_cst);
}

void live_signal(struct live *l, struct live_rq *q, const struct live_wakes *w)
{
	struct cr_cpus left = w->cpus;
	int i;

	while (!l->cfg.poll && (i = cpus_lowest(&left)) >= 0) {
		cr_cpus_del(&left, (unsigned)i);
		(void)pthread_cond_signal(&worker_of(l, q, (unsigned)i)->wake);
	}
	if (w->surplus)
		wake_thieves(l, q, w->surplus);
	if (w->faulty) {
		const struct live_client *client = &l->cfg.client;
		struct core_fault fault;
		bool got;

		(void)pthread_mutex_lock(&q->lock);
		got = core_take_fault(l->core, q->rq, &fault);
		(void)pthread_mutex_unlock(&q->lock);
		if (got && client->faulty)
			client->faulty(client->arg, &fault);
	}
}

void live_unlock(struct live *l, struct live_rq *q)
{
	struct live_wakes wakes;

	live_settle(l, q, true, &wakes);
	(void)pthread_mutex_unlock(&q->lock);
	live_signal(l, q, &wakes);
}

/* --- one job --- */

static uint64_t drops_so_far(const struct live_worker *w)
{
	struct core_counts n = core_counts(w->live->core, w->home->rq);

	return n.gone + n.expired + n.shed + n.given_up;
}

static struct core_task *tick_and_pick(struct live_worker *w, cr_ns now)
{
	struct core *c = w->live->core;
	uint64_t before = drops_so_far(w);
	struct core_task *t;

	(void)core_tick(c, w->home->rq, now);
	t = core_pick(c, w->home->rq, w->index, now);
	counter_add(&w->picks, t != NULL);
	counter_add(&w->drops, drops_so_far(w) - before);
	return t;
}

/* Lock held. A task that is leaving is returned, out of the engine. */
static struct live_task *finish_live_job(struct live_worker *w, cr_ns took,
					 cr_ns service, cr_ns now)
{
	struct core *c = w->live->core;
	struct core_task *t =
		core_stop(c, w->home->rq, w->index, service, CR_STOP_DONE, now);
	cr_ns busy = atomic_load_explicit(&w->busy, memory_order_relaxed);

	atomic_store_explicit(&w->busy, busy + took, memory_order_relaxed);
	counter_add(&w->jobs, 1);
	if (live_task_of(t)->leaving) {
		core_del(c, t, now);
		return live_task_of(t);
	}
	(void)core_again(c, t, now);
	return NULL;
}

/* --- idle --- */

static void lock_both(struct live_rq *a, struct live_rq *b)
{
	struct live_rq *first = a->rq->id < b->rq->id ? a : b;

	(void)pthread_mutex_lock(&first->lock);
	(void)pthread_mutex_lock(first == a ? &b->lock : &a->lock);
}

/* No lock held, and none after. */
static bool steal_from(struct live_worker *w, struct live_rq *from)
{
	struct live_wakes wakes;
	bool got = false;

	lock_both(w->home, from);
	if (steals(w->live))
		got = core_steal(w->live->core, from->rq, w->home->rq, w->index,
				 clock_now()) != NULL;
	live_settle(w->live, from, true, &wakes);
	(void)pthread_mutex_unlock(&from->lock);
	(void)pthread_mutex_unlock(&w->home->lock);
	live_signal(w->live, from, &wakes);
	return got;
}

/* The longest queue but @w's own and those in @asked; of equal ones the next
 * neighbour. NULL: nothing waits there. */
static struct live_rq *longest_other_queue(const struct live_worker *w,
					   const struct cr_cpus *asked)
{
	struct live *l = w->live;
	struct live_rq *best = NULL;
	unsigned most = 0;

	for (unsigned i = 1; i < l->nrq; i++) {
		unsigned at = (w->home->rq->id + i) % l->nrq;
		unsigned n = atomic_load_explicit(&l->rq[at].queued,
						  memory_order_seq_cst);

		if (n <= most || cr_cpus_has(asked, at))
			continue;
		best = &l->rq[at];
		most = n;
	}
	return best;
}

/* Home lock held before and after, not between. */
static bool steal(struct live_worker *w)
{
	struct cr_cpus asked = { { 0 } };
	struct live_rq *from;
	bool got = false;

	(void)pthread_mutex_unlock(&w->home->lock);
	while (!got && (from = longest_other_queue(w, &asked))) {
		got = steal_from(w, from);
		cr_cpus_add(&asked, from->rq->id);
	}
	(void)pthread_mutex_lock(&w->home->lock);
	if (got)
		counter_add(&w->steals, 1);
	return got;
}

static bool woken(const struct live_worker *w)
{
	return atomic_load_explicit(&w->woken, memory_order_acquire);
}

static void spin(struct live_worker *w, cr_ns until)
{
	(void)pthread_mutex_unlock(&w->home->lock);
	while (!woken(w) && (until == CR_NEVER || clock_now() < until)) {
#if defined(__x86_64__) || defined(__i386__)
		/* leave the core to its other thread, and the bus free */
		__builtin_ia32_pause();
#endif
	}
	(void)pthread_mutex_lock(&w->home->lock);
}

static void sleep_until(struct live_worker *w, cr_ns until)
{
	struct timespec at = { .tv_sec = until / CR_SEC,
			       .tv_nsec = until % CR_SEC };

	while (!woken(w) && (until == CR_NEVER || clock_now() < until)) {
		if (until == CR_NEVER)
			(void)pthread_cond_wait(&w->wake, &w->home->lock);
		else
			(void)pthread_cond_timedwait(&w->wake, &w->home->lock,
						     &at);
	}
}

/* Wait until woken or, as the tick waiter, until the policy's tick is due. */
static void wait_for_job(struct live_worker *w)
{
	struct live_rq *q = w->home;
	cr_ns until = CR_NEVER;

	if (q->rq->next_tick < q->until) {
		q->tick_waiter = (int)w->index;
		q->until = q->rq->next_tick;
		until = q->until;
	}
	if (w->live->cfg.poll)
		spin(w, until);
	else
		sleep_until(w, until);
	if (q->tick_waiter == (int)w->index) {
		q->tick_waiter = -1;
		q->until = CR_NEVER;
	}
}

/* Lock held. Returns when there may be something to do. */
static void idle(struct live_worker *w)
{
	struct live_rq *q = w->home;
	bool got = false;

	atomic_store_explicit(&w->woken, false, memory_order_relaxed);
	cr_cpus_add(&q->idle, w->index);
	if (steals(w->live)) {
		atomic_store_explicit(&q->n_idle, cpus_count(&q->idle),
				      memory_order_seq_cst);
		got = steal(w);
	}
	if (!got && !q->stopping) {
		wait_for_job(w);
		counter_add(&w->wakeups, 1);
	}
	cr_cpus_del(&q->idle, w->index);
}

/* There is nothing to do; no lock held. */
static void before_idle(struct live_thread *th)
{
	const struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	cr_ns now;

	if (client->idle)
		client->idle(client->arg, w->cpu);
	now = clock_now();
	if (now - th->meter.wall >= METER_AGE)
		meter_read(&th->meter, now, clock_thread_cpu());
}

/* Lock held. Returns what time it is when there may be something to do. */
static cr_ns idle_metered(struct live_thread *th)
{
	cr_ns since = clock_now(), now;

	idle(th->place);
	now = clock_now();
	if (!th->place->live->cfg.poll)
		th->meter.slept += now - since;
	return now;
}

/* Lock held. NULL: the engine stops. */
static struct core_task *next_job(struct live_thread *th, cr_ns *now)
{
	struct live_worker *w = th->place;
	bool reported = false;
	struct core_task *t;

	while (!(t = tick_and_pick(w, *now))) {
		struct live_wakes wakes;

		if (w->home->stopping)
			return NULL;
		/* a tick may have found work for others; the next tick is
		 * this worker's own to wait for */
		live_settle(w->live, w->home, false, &wakes);
		if (cpus_lowest(&wakes.cpus) >= 0 || wakes.faulty) {
			(void)pthread_mutex_unlock(&w->home->lock);
			live_signal(w->live, w->home, &wakes);
			(void)pthread_mutex_lock(&w->home->lock);
		} else if (!reported) {
			(void)pthread_mutex_unlock(&w->home->lock);
			before_idle(th);
			(void)pthread_mutex_lock(&w->home->lock);
			reported = true; /* and look once more before waiting */
		} else {
			*now = idle_metered(th);
			continue;
		}
		*now = clock_now();
	}
	return t;
}

/* Until the engine stops (NULL), or until this thread has lost its place while
 * it was in run(): then the task it ran. Lock held, but for run() and gone().
 */
static struct core_task *work(struct live_thread *th)
{
	struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	struct live_run r = { .worker = w->cpu };
	struct live_task *gone;
	struct core_task *t;
	cr_ns now = clock_now();

	while ((t = next_job(th, &now))) {
		/* the task's terms may change while it runs */
		cr_ns plausible = meter_plausible(&t->task.cost), end, took;

		r.picked = now;
		r.expired = t->expired;
		live_unlock(w->live, w->home);
		client->run(client->arg, live_task_of(t), &r);
		end = clock_now();
		took = r.charged = end - now;
		/* the thread's CPU clock is worth a look only after a job like
		 * this */
		if (__builtin_expect(took > plausible, 0))
			r.charged = meter_service(&th->meter, took, plausible,
						  end, clock_thread_cpu());
		(void)pthread_mutex_lock(&w->home->lock);
		if (th->detached)
			break;
		now = clock_now();
		gone = finish_live_job(w, took, r.charged, now);
		if (!gone)
			continue;
		(void)pthread_mutex_unlock(&w->home->lock);
		client->gone(client->arg, gone);
		(void)pthread_mutex_lock(&w->home->lock);
		now = clock_now();
	}
	return t;
}

/* The thread: a struct live_thread *. */
static void *live_work(void *thread)
{
	struct live_thread *th = thread;
	struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	struct core_task *detached;

	if (client->worker_up)
		client->worker_up(client->arg, w->cpu);
	meter_read(&th->meter, clock_now(), clock_thread_cpu());
	(void)pthread_mutex_lock(&w->home->lock);
	th->tid = (int)gettid();
	detached = work(th);
	(void)pthread_mutex_unlock(&w->home->lock);
	if (detached) {
		struct live_task *t = live_task_of(detached);
		struct live_rq *q = live_lock_home(w->live, t);
		bool leaving = t->leaving;

		/* A detached thread has come back with its task. */
		t->detached = false;
		(void)pthread_mutex_unlock(&q->lock);
		if (leaving)
			w->live->cfg.client.returned(w->live->cfg.client.arg,
						     t);
	}
	if (client->worker_down)
		client->worker_down(client->arg, w->cpu);
	atomic_store_explicit(&th->over, true, memory_order_release);
	return NULL;
}

/* --- threads --- */

static int workers_create(struct live_thread *th)
{
	const struct live_worker *w = th->place;
	pthread_attr_t attr;
	cpu_set_t cpus;
	int rc;

	(void)pthread_attr_init(&attr);
	if (w->pin >= 0) {
		CPU_ZERO(&cpus);
		if (w->pin < CPU_SETSIZE)
			CPU_SET((unsigned)w->pin, &cpus);
		(void)pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	}
	rc = thread_create(&th->id, &attr, live_work, th);
	(void)pthread_attr_destroy(&attr);
	return rc;
}

int live_start_thread(struct live_worker *w, struct cr_err *e)
{
	struct live_thread *th = calloc(1, sizeof(*th));
	int rc;

	if (!th)
		return cr_fail(e, -ENOMEM, "out of memory for worker %u",
			       w->cpu);
	th->place = w;
	rc = workers_create(th);
	if (!rc) {
		(void)pthread_getcpuclockid(th->id, &th->cpu_clock);
		w->thread = th;
		return 0;
	}
	free(th);
	if (w->pin >= 0 && rc == -EINVAL)
		return cr_fail(e, rc, "worker %u does not start on CPU %d: %s",
			       w->cpu, w->pin, strerror(-rc));
	return thread_fail(e, rc, "a worker");
}

static void raise_priority(struct live *l, struct cr_err *warn)
{
	struct sched_param p = { .sched_priority = l->cfg.rt_priority };

	for (unsigned i = 0; i < l->nworkers; i++) {
		int rc = pthread_setschedparam(l->worker[i].thread->id,
					       SCHED_FIFO, &p);

		if (!rc)
			continue;
		(void)cr_fail(warn, rc,
			      "workers run without real-time priority %d (%s): "
			      "grant CAP_SYS_NICE or raise the rtprio limit",
			      l->cfg.rt_priority, strerror(rc));
		return;
	}
	if (l->cfg.poll)
		(void)cr_fail(warn, 0,
			      "real-time workers that poll never sleep: the "
			      "kernel's real-time throttling "
			      "(/proc/sys/kernel/sched_rt_runtime_us, usually "
			      "950 ms of every second) will stop them; poll "
			      "without real-time priority, or sleep");
}

static int open_workers(struct live *l, struct cr_err *warn, struct cr_err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < l->cfg.core.ncpu && !rc; i++) {
		rc = live_start_thread(&l->worker[i], e);
		l->nworkers += !rc;
	}
	if (!rc && l->cfg.rt_priority)
		raise_priority(l, warn);
	return rc;
}

static void workers_stop(struct live *l)
{
	for (unsigned i = 0; i < l->nrq; i++) {
		(void)pthread_mutex_lock(&l->rq[i].lock);
		l->rq[i].stopping = true;
		(void)pthread_mutex_unlock(&l->rq[i].lock);
	}
	for (unsigned i = 0; i < l->nworkers; i++) {
		struct live_worker *w = &l->worker[i];

		(void)pthread_mutex_lock(&w->home->lock);
		wake_worker(w);
		(void)pthread_mutex_unlock(&w->home->lock);
		(void)pthread_cond_signal(&w->wake);
	}
	for (unsigned i = 0; i < l->nworkers; i++)
		if (l->worker[i].thread) {
			(void)pthread_join(l->worker[i].thread->id, NULL);
			free(l->worker[i].thread);
			l->worker[i].thread = NULL;
		}
}

/* --- tasks --- */

static void workers_remove_task(struct live *l, struct live_task *t)
{
	struct live_rq *q = live_lock_home(l, t);
	bool held = t->core.task.state == CR_RUNNING || t->detached;

	if (held)
		t->leaving = true;
	else
		core_del(l->core, &t->core, clock_now());
	(void)pthread_mutex_unlock(&q->lock);
	if (!held)
		l->cfg.client.gone(l->cfg.client.arg, t);
}

/* Release those of @todo (bits of @tasks) that live where its first does. */
static uint64_t release_one_rq(struct live *l, struct live_task *const *tasks,
			       uint64_t todo)
{
	struct live_rq *q = &l->rq[live_home_of(tasks[__builtin_ctzll(todo)])];
	unsigned id = q->rq->id;
	cr_ns now;

	(void)pthread_mutex_lock(&q->lock);
	now = clock_now();
	for (uint64_t left = todo; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (live_home_of(tasks[i]) != id)
			continue;
		/* or live_wake_again() was first */
		if (tasks[i]->core.task.state == CR_IDLE)
			(void)core_release(l->core, &tasks[i]->core, now);
		todo &= ~(UINT64_C(1) << i);
	}
	live_unlock(l, q);
	return todo;
}

static void workers_release(struct live *l, struct live_task *const *tasks,
			    unsigned n)
{
	for (unsigned done = 0; done < n; done += 64) {
		unsigned part = n - done < 64 ? n - done : 64;
		uint64_t todo = UINT64_MAX >> (64 - part);

		while (todo)
			todo = release_one_rq(l, tasks + done, todo);
	}
}

const struct live_ops live_workers_ops = {
	.driver = { .name = "workers", .watched = true, .shares = true },
	.open = open_workers,
	.stop = workers_stop,
	.remove = workers_remove_task,
	.release = workers_release,
};
