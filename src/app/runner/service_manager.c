/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager hears of the daemon, and is sent again what it could not
 * take.
 */
#include "app/runner/service_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "node/node.h"
#include "observe/log.h"
#include "observe/store.h"
#include "protocol/service.h"

/* Between two lines of status: people read them. */
#define STATUS_EACH (5 * CR_SEC)
/* The watchdog is fed so often within its time: a busy machine may be late. */
enum { FEEDS = 3 };
#define TICK_MIN (10 * CR_MS)
/* Until what waits for the holder of descriptors is sent again: until then the
 * calls that have come do not survive. Doubled while it does not read. */
#define STORE_MIN CR_MS
/* The time that the end takes beside the drain: traces are written out. */
#define END_MARGIN (15 * CR_SEC)

/* The next tick sends what is lost again, but for the two ends. */
static void report_unsent(int err)
{
	if (err)
		log_event(LOG_WARN, "manager-not-notified",
			  LOG_STR("why", strerror(-err)));
}

static void report_status(struct service_manager *m)
{
	struct node_stats s;

	node_stats(service_node(m->service), &s);
	m->status_at = clock_now();
	report_unsent(
		notify_send(&m->notify,
			    "STATUS=%s%s%u calls, load %.2f of %.2f CPUs, %s, "
			    "%llu frames lost",
			    m->config->accepted ? "" : "options refused: ",
			    service_draining(m->service) ? "draining: " : "",
			    s.calls, s.load, s.bound, s.scheduler, s.lost));
}

/* A worker that is stuck without a substitute serves nobody: the manager starts
 * the daemon again when the watchdog has not been fed for its time. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct service_manager *m = arg;

	(void)fd, (void)what;
	if (m->stopping)
		return;
	/* the nearest tick: one may be a little early */
	if (clock_now() - m->status_at >= STATUS_EACH - m->tick_each / 2)
		report_status(m);
	if (!m->notify.watchdog)
		return;
	if (node_advances(service_node(m->service)))
		report_unsent(notify_send(&m->notify, "WATCHDOG=1"));
	else
		report_unsent(notify_send(&m->notify,
					  "STATUS=a worker is stuck, and no "
					  "thread can take its place"));
}

int manager_ready(struct service_manager *m, struct service *service)
{
	cr_ns each = STATUS_EACH;
	struct timeval interval;

	if (m->notify.fd < 0 || m->stopping)
		return 0;
	if (m->notify.watchdog)
		each = cr_ns_min(each, m->notify.watchdog / FEEDS);
	m->service = service;
	m->tick_each = cr_ns_max(each, TICK_MIN);
	report_unsent(notify_send(&m->notify, "READY=1"));
	report_status(m);
	if (m->tick)
		return 0;
	interval = (struct timeval){ m->tick_each / CR_SEC,
				     m->tick_each % CR_SEC / CR_US };
	m->tick = event_new(m->base, -1, EV_PERSIST, on_tick, m);
	return m->tick && !event_add(m->tick, &interval) ? 0 : -ENOMEM;
}

/* A burst of calls fills the manager's queue, which it reads within
 * milliseconds; a manager that is started anew takes longer. */
static void on_store(evutil_socket_t fd, short what, void *arg)
{
	struct service_manager *m = arg;
	struct store_stats was, is;
	struct timeval after;
	bool waits;

	(void)fd, (void)what;
	store_stats(&m->notify, &was);
	waits = store_retry(&m->notify);
	store_stats(&m->notify, &is);
	if (is.waiting < was.waiting) /* it reads */
		m->store_each = STORE_MIN;
	if (!waits)
		return;
	after = (struct timeval){ m->store_each / CR_SEC,
				  m->store_each % CR_SEC / CR_US };
	(void)evtimer_add(m->store, &after);
	m->store_each = cr_ns_min(2 * m->store_each, STATUS_EACH);
}

static void on_store_waits(void *arg)
{
	const struct timeval soon = { 0, STORE_MIN / CR_US };
	struct service_manager *m = arg;

	(void)evtimer_add(m->store, &soon);
}

int manager_open(struct service_manager *m, struct event_base *base,
		 const struct config_state *config, struct cr_err *e)
{
	int err = notify_open(&m->notify, e);

	if (err)
		return err;
	m->base = base;
	m->config = config;
	m->store = evtimer_new(m->base, on_store, m);
	m->store_each = STORE_MIN;
	store_on_wait(&m->notify, on_store_waits, m);
	return m->store ? 0 : -ENOMEM;
}

/* notify-reload wants to know which reload it is: one that began later. */
void manager_reloading(struct service_manager *m)
{
	if (!m->stopping)
		report_unsent(notify_send(
			&m->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
			clock_now() / CR_US));
}

void manager_hangup_later(struct service_manager *m)
{
	report_unsent(notify_send(&m->notify, "HANGUP=1"));
}

void manager_stopping(struct service_manager *m, cr_ns limit)
{
	if (m->notify.fd < 0)
		return;
	m->stopping = true;
	report_unsent(notify_send(&m->notify,
				  "STOPPING=1\nSTATUS=draining\n"
				  "EXTEND_TIMEOUT_USEC=%" PRId64,
				  (limit + END_MARGIN) / CR_US));
}

void manager_close(struct service_manager *m)
{
	if (m->tick)
		event_free(m->tick);
	if (m->store)
		event_free(m->store);
	notify_close(&m->notify);
}
