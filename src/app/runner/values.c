/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of codec-runner's options.
 */
#include "app/runner/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/units.h"
#include "cr/sched.h"
#include "engine/core.h"
#include "media/rx.h"
#include "node/placement.h"
#include "udp/tos.h"

_Static_assert(CLI_MAX_LIST <= INTERFACES_MAX, "--interface fits");

_Noreturn void options_die(const char *option, const char *why)
{
	(void)fprintf(stderr,
		      "codec-runner: %s%s%s%s\nTry 'codec-runner --help'.\n",
		      option ? "--" : "", option ? option : "",
		      option ? ": " : "", why);
	exit(2);
}

void values_address(const char *option, const char *text,
		    struct sockaddr_storage *out)
{
	if (address_parse(text, out))
		options_die(option,
			    "must be a numeric address with a port, such as "
			    "127.0.0.1:40000 or [::1]:40000");
}

void values_rtp(const char *text, struct node_config *to)
{
	struct cr_err e;

	if (interface_parse_shared(&to->rtp, &to->rtp_advertised, text, &e))
		options_die("rtp", e.text);
}

unsigned values_interfaces(const struct cli_list *list,
			   struct interface_cfg to[INTERFACES_MAX])
{
	struct cr_err e;

	for (unsigned i = 0; i < list->count; i++)
		if (interface_parse(&to[i], list->item[i], &e))
			options_die("interface", e.text);
	return list->count;
}

struct port_range values_rtp_ports(const char *text)
{
	struct port_range r = { 0, 0 };
	struct cr_err e;

	if (text && port_range_parse(&r, text, &e))
		options_die("rtp-ports", e.text);
	return r;
}

unsigned values_tos(const char *text)
{
	unsigned tos = 0;
	struct cr_err e;

	if (text && tos_parse(text, &tos, &e))
		options_die("tos", e.text);
	return tos;
}

int values_run_queues(const char *text)
{
	int64_t n;

	if (!strcmp(text, "auto"))
		return PLACEMENT_QUEUES_AUTO;
	if (!strcmp(text, "global"))
		return PLACEMENT_QUEUES_GLOBAL;
	if (!strcmp(text, "partitioned"))
		return 1;
	if (units_parse_int(text, &n) || n < 1 || n > CR_MAX_CPUS)
		options_die("run-queues",
			    "must be auto, global, partitioned, or the number "
			    "of workers that share a run queue");
	return (int)n;
}

cr_ns values_coalesce(const char *text)
{
	int64_t t;

	if (!strcmp(text, "auto"))
		return RX_COALESCE_AUTO;
	if (units_parse_time(text, &t) || t < 0 || t > 10 * CR_MS)
		options_die("rx-coalesce",
			    "must be auto, or a time with its unit from 0s to "
			    "10ms");
	return t;
}

cr_ns values_max_age(const char *text)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		return CORE_AGE_AUTO;
	if (!strcmp(text, "none") || !strcmp(text, "never"))
		return 0;
	if (units_parse_time(text, &t) || t < 0 || t > 60 * CR_SEC)
		options_die("max-age",
			    "must be auto, none, or a time with its unit of up "
			    "to 60s, such as 100ms");
	return t;
}

cr_ns values_shed_wait(const char *text)
{
	cr_ns t;

	if (!strcmp(text, "auto"))
		return 0;
	if (units_parse_time(text, &t) || t < SHED_WAIT_MIN ||
	    t > SHED_WAIT_MAX)
		options_die("shed-wait",
			    "must be auto, or a time with its unit from 1ms to "
			    "60s, such as 20ms");
	return t;
}

const struct ng_guests *values_guests(const char *text)
{
	static struct ng_guests guests;
	struct cr_err e = { "" };

	if (!text)
		return NULL;
	if (ng_guests_read(&guests, text, &e))
		options_die("ng-allow", e.text);
	return &guests;
}
