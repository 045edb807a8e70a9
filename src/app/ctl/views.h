/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that deserve more than ctl_show(): these know what members mean.
 */
#ifndef APP_CTL_VIEWS_H
#define APP_CTL_VIEWS_H

#include <jansson.h>
#include <stdio.h>

/** The result of call.query: who, how many frames, what was lost, and the
 * policy's own numbers with units. */
void ctl_view_call(const json_t *result, FILE *out);

/** The result of schedulers: only the one in use, with its options. */
void ctl_view_scheduler(const json_t *result, FILE *out);

/** The result of schedulers: all, with their options and how they admit. */
void ctl_view_schedulers(const json_t *result, FILE *out);

#endif
