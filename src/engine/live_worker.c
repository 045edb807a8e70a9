/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: one lock round per job (stop the previous, pick the next), asleep
 * or spinning when there is nothing, stealing when the policy does.
 *
 *        +------------ lock: stop, tick, pick ------------+
 *        |                    | NULL                      | a job
 *        |                    v                           v
 *        |   idle: in q->idle, then steal, then wait    unlock, wake others,
 *        |                    | poked, or tick due      client.run()
 *        +--------------------+---------------------------+
 *
 * Wake-ups: whoever changes a run queue takes as many workers out of q->idle
 * as there is work for (live_settle), unlocks, then signals those. A worker
 * that is not in q->idle looks at the queue before it goes idle, under the
 * lock, so no wake-up is lost. One idle worker, the keeper, waits no longer
 * than the policy's next tick.
 *
 * What becomes of a thread that does not come back from run() is in
 * live_watch.h.
 */
#include "engine/cpus.h"
#include "engine/live_state.h"

static struct live_worker *worker_of(struct live *l, const struct live_rq *q,
				     unsigned index)
{
	return &l->worker[q->rq->first_cpu + index];
}

static void wake(struct live_worker *w)
{
	atomic_store_explicit(&w->poked, true, memory_order_release);
}

static bool steals(const struct live *l)
{
	return l->nrq > 1 && core_sched(l->core)->ops->steal;
}

/* A tick before the keeper's time needs a new look at the clock. */
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

static void settle(struct live *l, struct live_rq *q, struct live_wakes *w)
{
	for (struct cr_cpus left = w->cpus; cpus_lowest(&left) >= 0;) {
		unsigned i = (unsigned)cpus_lowest(&left);

		cr_cpus_del(&left, i);
		wake(worker_of(l, q, i));
	}
	if (!steals(l)) {
		w->surplus = 0;
		return;
	}
	atomic_store_explicit(&q->queued, q->rq->nqueued, memory_order_seq_cst);
	atomic_store_explicit(&q->n_idle, cpus_count(&q->idle),
			      memory_order_seq_cst);
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
			wake(worker_of(l, other, (unsigned)who));
			n--;
		}
		(void)pthread_mutex_unlock(&other->lock);
		if (who >= 0 && !l->cfg.poll)
			(void)pthread_cond_signal(
				&worker_of(l, other, (unsigned)who)->wake);
	}
}

/* Whom the events so far want to pick; lock held. */
static void collect(struct live *l, struct live_rq *q, struct live_wakes *w)
{
	w->cpus = (struct cr_cpus){ 0 };
	w->surplus = core_wakes(l->core, q->rq, &q->idle, &w->cpus);
	w->faulty = core_faulty(l->core, q->rq);
}

void live_settle(struct live *l, struct live_rq *q, struct live_wakes *w)
{
	collect(l, q, w);
	choose_tick_waiter(q, &w->cpus);
	settle(l, q, w);
}

static void report_fault(struct live *l, struct live_rq *q)
{
	const struct live_client *client = &l->cfg.client;
	struct core_fault fault;
	bool got;

	(void)pthread_mutex_lock(&q->lock);
	got = core_take_fault(l->core, q->rq, &fault);
	(void)pthread_mutex_unlock(&q->lock);
	if (got && client->faulty)
		client->faulty(client->arg, &fault);
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
	if (w->faulty)
		report_fault(l, q);
}

/* --- one job --- */

static void add(atomic_uint_fast64_t *counter, uint64_t n)
{
	/* one writer: no need for an atomic addition */
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

static uint64_t drops(const struct core_counts *n)
{
	return n->gone + n->expired + n->shed + n->given_up;
}

static struct core_task *pick(struct live_worker *w, cr_ns now)
{
	struct core *c = w->live->core;
	struct cr_rq *rq = w->home->rq;
	struct core_counts before = core_counts(c, rq), after;
	struct core_task *t;

	(void)core_tick(c, rq, now);
	t = core_pick(c, rq, w->index, now);
	after = core_counts(c, rq);
	add(&w->picks, after.picks - before.picks);
	add(&w->drops, drops(&after) - drops(&before));
	return t;
}

/* The thread's CPU clock is worth a look only after a job like this. */
static cr_ns service_of(struct live_thread *th, cr_ns took, cr_ns end)
{
	if (__builtin_expect(took <= th->plausible, 1))
		return took;
	return meter_service(&th->meter, took, th->plausible, end,
			     clock_thread_cpu());
}

/* No lock held. Returns how long the job took; th->service is how much of that
 * it had the CPU. */
static cr_ns run(struct live_thread *th, struct core_task *t, cr_ns picked)
{
	const struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	struct live_run r = { .worker = w->cpu,
			      .picked = picked,
			      .charged = th->service,
			      .expired = t->expired };
	cr_ns end;

	client->run(client->arg, live_task_of(t), &r);
	end = clock_now();
	th->service = service_of(th, end - picked, end);
	return end - picked;
}

/* Lock held. A task that is leaving is returned, out of the engine. */
static struct live_task *finish(struct live_worker *w, cr_ns took,
				cr_ns service, cr_ns now)
{
	struct core *c = w->live->core;
	struct core_task *t =
		core_stop(c, w->home->rq, w->index, service, CR_STOP_DONE, now);
	cr_ns busy = atomic_load_explicit(&w->busy, memory_order_relaxed);

	atomic_store_explicit(&w->busy, busy + took, memory_order_relaxed);
	add(&w->jobs, 1);
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
	live_settle(w->live, from, &wakes);
	(void)pthread_mutex_unlock(&from->lock);
	(void)pthread_mutex_unlock(&w->home->lock);
	live_signal(w->live, from, &wakes);
	return got;
}

/* The longest queue but @w's own and those in @asked; of equal ones the next
 * neighbour. NULL: nothing waits there. */
static struct live_rq *longest(const struct live_worker *w,
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
	while (!got && (from = longest(w, &asked))) {
		got = steal_from(w, from);
		cr_cpus_add(&asked, from->rq->id);
	}
	(void)pthread_mutex_lock(&w->home->lock);
	if (got)
		add(&w->steals, 1);
	return got;
}

static bool poked(const struct live_worker *w)
{
	return atomic_load_explicit(&w->poked, memory_order_acquire);
}

/* Tell the core's other thread, and the memory bus, that this is a spin. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void spin(struct live_worker *w, cr_ns until)
{
	(void)pthread_mutex_unlock(&w->home->lock);
	while (!poked(w) && (until == CR_NEVER || clock_now() < until))
		relax();
	(void)pthread_mutex_lock(&w->home->lock);
}

static void sleep_until(struct live_worker *w, cr_ns until)
{
	struct timespec at = { .tv_sec = until / CR_SEC,
			       .tv_nsec = until % CR_SEC };

	while (!poked(w) && (until == CR_NEVER || clock_now() < until)) {
		if (until == CR_NEVER)
			(void)pthread_cond_wait(&w->wake, &w->home->lock);
		else
			(void)pthread_cond_timedwait(&w->wake, &w->home->lock,
						     &at);
	}
}

/* Wait until poked or, as the keeper, until the policy's tick is due. */
static void wait(struct live_worker *w)
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

	atomic_store_explicit(&w->poked, false, memory_order_relaxed);
	cr_cpus_add(&q->idle, w->index);
	if (steals(w->live)) {
		atomic_store_explicit(&q->n_idle, cpus_count(&q->idle),
				      memory_order_seq_cst);
		got = steal(w);
	}
	if (!got && !q->stopping) {
		wait(w);
		add(&w->wakeups, 1);
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
static struct core_task *next(struct live_thread *th, cr_ns *now)
{
	struct live_worker *w = th->place;
	bool told = false;
	struct core_task *t;

	while (!(t = pick(w, *now))) {
		struct live_wakes wakes;

		if (w->home->stopping)
			return NULL;
		/* a tick may have found work for others; the next tick is
		 * this worker's own to wait for */
		collect(w->live, w->home, &wakes);
		settle(w->live, w->home, &wakes);
		if (cpus_lowest(&wakes.cpus) >= 0 || wakes.faulty) {
			(void)pthread_mutex_unlock(&w->home->lock);
			live_signal(w->live, w->home, &wakes);
			(void)pthread_mutex_lock(&w->home->lock);
		} else if (!told) {
			(void)pthread_mutex_unlock(&w->home->lock);
			before_idle(th);
			(void)pthread_mutex_lock(&w->home->lock);
			told = true; /* and look once more before waiting */
		} else {
			*now = idle_metered(th);
			continue;
		}
		*now = clock_now();
	}
	return t;
}

/* Until the engine stops (NULL), or until this thread has lost its place while
 * it was in run(): then the task it ran. */
static struct core_task *work(struct live_thread *th)
{
	struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	struct live_wakes wakes;
	struct live_task *gone;
	struct core_task *t;
	cr_ns now = clock_now(), took;

	while ((t = next(th, &now))) {
		/* the task's terms may change while it runs */
		th->plausible = meter_plausible(&t->task.cost);
		live_settle(w->live, w->home, &wakes);
		(void)pthread_mutex_unlock(&w->home->lock);
		live_signal(w->live, w->home, &wakes);
		took = run(th, t, now);
		(void)pthread_mutex_lock(&w->home->lock);
		if (th->detached)
			break;
		now = clock_now();
		gone = finish(w, took, th->service, now);
		if (!gone)
			continue;
		(void)pthread_mutex_unlock(&w->home->lock);
		client->gone(client->arg, gone);
		(void)pthread_mutex_lock(&w->home->lock);
		now = clock_now();
	}
	return t;
}

void *live_work(void *thread)
{
	struct live_thread *th = thread;
	struct live_worker *w = th->place;
	const struct live_client *client = &w->live->cfg.client;
	struct core_task *detached;

	if (client->worker_up)
		client->worker_up(client->arg, w->cpu);
	meter_read(&th->meter, clock_now(), clock_thread_cpu());
	(void)pthread_mutex_lock(&w->home->lock);
	live_begin(th);
	detached = work(th);
	(void)pthread_mutex_unlock(&w->home->lock);
	if (detached)
		live_come_back(w->live, live_task_of(detached));
	if (client->worker_down)
		client->worker_down(client->arg, w->cpu);
	atomic_store_explicit(&th->over, true, memory_order_release);
	return NULL;
}
