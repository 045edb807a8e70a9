/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl help": the methods of the protocol and their members, from the
 * protocol's tables. Needs no server.
 */
#ifndef APP_CTL_HELP_H
#define APP_CTL_HELP_H

#include <stdio.h>

#include "protocol/tables/method.h"

/** All methods, notifications and error codes, a line each. */
void ctl_help_all(FILE *out);

/** The parameters and the result of @m. */
void ctl_help_method(const struct method *m, FILE *out);

#endif
