/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl reference": what of docs is written by the protocol's tables.
 */
#ifndef APP_CTL_REFERENCE_H
#define APP_CTL_REFERENCE_H

#include <stdio.h>

/** Markdown: methods, notifications, objects, metrics, errors. */
void ctl_reference(FILE *out);

/** A JSON Schema (draft 2020-12) of the lines of --records. */
void ctl_reference_records(FILE *out);

#endif
