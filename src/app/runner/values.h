/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of codec-runner's options that the table of rows cannot check: words
 * beside numbers, addresses.
 *
 * What is wrong ends the process with 2 and a message. Main thread.
 */
#ifndef APP_RUNNER_VALUES_H
#define APP_RUNNER_VALUES_H

#include <sys/socket.h>

#include "base/cli.h"
#include "cr/time.h"
#include "ng/guests.h"
#include "node/node.h"

/** Exit with 2, saying @why; @option: which one is wrong, NULL: none by itself.
 */
_Noreturn void options_die(const char *option, const char *why);

/** A numeric address with a port. */
void values_address(const char *option, const char *text,
		    struct sockaddr_storage *out);

/** --rtp. */
void values_rtp(const char *text, struct node_config *to);

/** --interface, as often as it was given. Returns how many are in @to. */
unsigned values_interfaces(const struct cli_list *list,
			   struct interface_cfg to[INTERFACES_MAX]);

/** --rtp-ports; NULL: no range. */
struct port_range values_rtp_ports(const char *text);

/** --tos; NULL: 0. */
unsigned values_tos(const char *text);

/** --ng-allow; NULL: nobody was named. There is one list in the process. */
const struct ng_guests *values_guests(const char *text);

/** --run-queues, as placement_wish has it. */
int values_run_queues(const char *text);

/** --rx-coalesce, as rx_config has it. */
cr_ns values_coalesce(const char *text);

/** --max-age, as core_config has it. */
cr_ns values_max_age(const char *text);

/** --shed-wait, as shed_rule.wait has it. */
cr_ns values_shed_wait(const char *text);

#endif
