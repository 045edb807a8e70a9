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

#include "cr/time.h"

/** Exit with 2, saying @why; @option: which one is wrong, NULL: none by itself.
 */
_Noreturn void options_die(const char *option, const char *why);

/** A numeric address with a port. */
void values_address(const char *option, const char *text,
		    struct sockaddr_storage *out);

/** --run-queues, as placement_wish has it. */
int values_run_queues(const char *text);

/** --rx-coalesce, as rx_config has it. */
cr_ns values_coalesce(const char *text);

/** --max-age, as core_config has it. */
cr_ns values_max_age(const char *text);

#endif
