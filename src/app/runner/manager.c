/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service manager is told, and when.
 */
#include "app/runner/manager.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "observe/log.h"

/* Between two lines of status: people read them. */
#define STATUS_EACH (5 * CR_SEC)
/* The watchdog is fed so often within its time: a busy machine may be late. */
enum { FEEDS = 3 };
#define TICK_MIN (10 * CR_MS)
/* What the end takes beside the drain: traces are written out. */
#define END_MARGIN (15 * CR_SEC)

/* What is lost is told again by the next tick, but for the two ends. */
static void tell(const struct manager *m, int err)
{
	if (m->open && err)
		log_event(LOG_WARN, "manager-not-told", "why=\"%s\"",
			  strerror(-err));
}

int manager_open(struct manager *m, struct cr_err *e)
{
	int err = notify_open(&m->notify, e);

	m->open = m->notify.fd >= 0;
	m->each = STATUS_EACH;
	if (m->notify.watchdog && m->notify.watchdog / FEEDS < m->each)
		m->each = m->notify.watchdog / FEEDS;
	if (m->each < TICK_MIN)
		m->each = TICK_MIN;
	return err;
}

void manager_close(struct manager *m)
{
	if (m->tick)
		event_free(m->tick);
	m->tick = NULL;
	if (m->open)
		notify_close(&m->notify);
	m->open = false;
}

/* --- what is told while it serves --- */

static void report_status(struct manager *m)
{
	struct node_stats s;

	node_stats(service_node(m->service), &s);
	m->told = clock_now();
	tell(m, notify_send(&m->notify,
			    "STATUS=%s%s%u calls, load %.2f of %.2f CPUs, %s, "
			    "%llu frames lost",
			    m->config->taken ? "" : "options not taken: ",
			    service_draining(m->service) ? "draining: " : "",
			    s.calls, s.load, s.bound, s.scheduler, s.lost));
}

/* Whoever is stuck without a substitute serves nobody: the manager starts the
 * daemon again when it has not been fed for its time. */
static void feed(struct manager *m)
{
	if (node_advances(service_node(m->service)))
		tell(m, notify_send(&m->notify, "WATCHDOG=1"));
	else
		tell(m, notify_send(&m->notify,
				    "STATUS=a worker is stuck, and no thread "
				    "can take its place"));
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct manager *m = arg;

	(void)fd, (void)what;
	if (m->stopping)
		return;
	/* the nearest tick: one may be a little early */
	if (clock_now() - m->told >= STATUS_EACH - m->each / 2)
		report_status(m);
	if (m->notify.watchdog)
		feed(m);
}

static int start_ticks(struct manager *m, struct event_base *base)
{
	const struct timeval each = { m->each / CR_SEC,
				      m->each % CR_SEC / CR_US };

	m->tick = event_new(base, -1, EV_PERSIST, on_tick, m);
	return m->tick && !event_add(m->tick, &each) ? 0 : -ENOMEM;
}

/* --- */

int manager_ready(struct manager *m, struct event_base *base, struct service *s)
{
	if (!m->open || m->stopping)
		return 0;
	m->service = s;
	tell(m, notify_send(&m->notify, "READY=1"));
	report_status(m);
	return m->tick ? 0 : start_ticks(m, base);
}

/* Notify-reload wants to know which reload it is: one that began later. */
void manager_reloading(struct manager *m)
{
	if (!m->open || m->stopping)
		return;
	tell(m, notify_send(&m->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
			    clock_now() / CR_US));
}

void manager_stopping(struct manager *m, cr_ns limit)
{
	if (!m->open)
		return;
	m->stopping = true;
	tell(m, notify_send(&m->notify,
			    "STOPPING=1\nSTATUS=draining\n"
			    "EXTEND_TIMEOUT_USEC=%" PRId64,
			    (limit + END_MARGIN) / CR_US));
}
