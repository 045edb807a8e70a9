/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl reference": the part of docs/protocol.md that is written by the
 * protocol's tables.
 */
#ifndef APP_CTL_REFERENCE_H
#define APP_CTL_REFERENCE_H

#include <stdio.h>

/** Markdown: methods, notifications, objects, metrics, errors. */
void ctl_reference(FILE *out);

#endif
