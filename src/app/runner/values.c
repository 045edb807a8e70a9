/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of codec-runner's options.
 */
#include "app/runner/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/units.h"
#include "cr/sched.h"
#include "engine/core.h"
#include "media/rx.h"
#include "node/placement.h"
#include "udp/tos.h"

_Static_assert(CLI_MAX_LIST <= INTERFACES_MAX, "--interface fits");

static int wrong(struct cr_err *e, const char *why)
{
	return cr_fail(e, -EINVAL, "%s", why);
}

static int check_address(const char *text, struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!address_parse(text, &a))
		return 0;
	return wrong(e, "must be a numeric address with a port, such as "
			"127.0.0.1:40000 or [::1]:40000");
}

int values_rtp(const char *text, struct node_config *to, struct cr_err *e)
{
	return interface_parse_shared(&to->rtp, &to->rtp_advertised, text, e);
}

int values_interface(const char *text, struct interface_cfg *to,
		     struct cr_err *e)
{
	return interface_parse(to, text, e);
}

int values_rtp_ports(const char *text, struct port_range *to, struct cr_err *e)
{
	*to = (struct port_range){ 0, 0 };
	return text ? port_range_parse(to, text, e) : 0;
}

int values_tos(const char *text, unsigned *to, struct cr_err *e)
{
	*to = 0;
	return text ? tos_parse(text, to, e) : 0;
}

int values_control(const char *text, struct transport_addr *to,
		   struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!strcmp(text, "off"))
		return 0;
	if (address_parse(text, &a))
		return wrong(e, "must be a numeric address with a port, such "
				"as 127.0.0.1:5555, or off");
	return transport_addr_parse(to, text) ? wrong(e, "needs a port") : 0;
}

int values_control_socket(const char *text, struct transport_addr *to,
			  struct cr_err *e)
{
	if (!text || !transport_addr_unix(to, text))
		return 0;
	return cr_fail(e, -EINVAL, "must be a path of 1 to %zu bytes",
		       TRANSPORT_PATH_MAX);
}

int values_http(const char *text, struct cr_err *e)
{
	return text ? check_address(text, e) : 0;
}

int values_run_queues(const char *text, int *to, struct cr_err *e)
{
	int64_t n;

	if (!strcmp(text, "auto"))
		n = PLACEMENT_QUEUES_AUTO;
	else if (!strcmp(text, "global"))
		n = PLACEMENT_QUEUES_GLOBAL;
	else if (!strcmp(text, "partitioned"))
		n = 1;
	else if (units_parse_int(text, &n) || n < 1 || n > CR_MAX_CPUS)
		return wrong(e, "must be auto, global, partitioned, or the "
				"number of workers that share a run queue");
	*to = (int)n;
	return 0;
}

int values_coalesce(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = RX_COALESCE_AUTO;
	else if (units_parse_time(text, &t) || t < 0 || t > 10 * CR_MS)
		return wrong(e, "must be auto, or a time with its unit from 0s "
				"to 10ms");
	*to = t;
	return 0;
}

/* It looks every 10 ms at most, four times within its time, and its own thread
 * has to wait for a CPU, too. */
bool values_of_kernel(const char *scheduler)
{
	static const char kernel[] = "kernel:";

	return !strncmp(scheduler, kernel, sizeof(kernel) - 1);
}

int values_realtime_workers(bool wanted, const char *scheduler,
			    struct cr_err *e)
{
	if (wanted && values_of_kernel(scheduler))
		return wrong(e, "with a scheduler of the kernel calls have "
				"threads in place of workers; kernel:fifo and "
				"kernel:rr give those a priority");
	return 0;
}

int values_watchdog(int64_t limit, cr_ns *to, struct cr_err *e)
{
	if (limit && limit < 100 * CR_MS)
		return wrong(e, "must be 0, or from 100ms to 1h");
	*to = limit;
	return 0;
}

int values_max_age(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = CORE_AGE_AUTO;
	else if (!strcmp(text, "none") || !strcmp(text, "never"))
		t = 0;
	else if (units_parse_time(text, &t) || t < 0 || t > 60 * CR_SEC)
		return wrong(e, "must be auto, none, or a time with its unit "
				"of up to 60s, such as 100ms");
	*to = t;
	return 0;
}

int values_shed_wait(const char *text, cr_ns *to, struct cr_err *e)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		t = 0;
	else if (units_parse_time(text, &t) || t < SHED_WAIT_MIN ||
		 t > SHED_WAIT_MAX)
		return wrong(e, "must be auto, or a time with its unit from "
				"1ms to 60s, such as 20ms");
	*to = t;
	return 0;
}

int values_records_interim(int64_t each, cr_ns *to, struct cr_err *e)
{
	if (each && each < CR_SEC)
		return wrong(e, "must be 0, or from 1s to 24h");
	*to = each;
	return 0;
}

int values_node_name(const char *text, const char **to, struct cr_err *e)
{
	static char host[RECORD_NODE_MAX];
	size_t n;

	if (!text && (gethostname(host, sizeof(host)) || !*host))
		(void)snprintf(host, sizeof(host), "localhost");
	host[sizeof(host) - 1] = '\0';
	*to = text ? text : host;
	n = strlen(*to);
	for (size_t i = 0; i < n && text; i++)
		if (text[i] <= ' ' || text[i] > '~')
			n = 0;
	return n && n < RECORD_NODE_MAX
		       ? 0
		       : cr_fail(e, -EINVAL,
				 "must be 1 to %u printable characters of "
				 "ASCII, without blanks",
				 RECORD_NODE_MAX - 1);
}

int values_log(const char *file, enum log_format format, struct cr_err *e)
{
	return file && format == LOG_JOURNAL
		       ? wrong(e, "is for the journal: leave log-file out, or "
				  "take text or json")
		       : 0;
}
