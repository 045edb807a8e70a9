/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as tests write it in C: with single quotes.
 */
#ifndef TESTS_JSON_TEXT_H
#define TESTS_JSON_TEXT_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"

/** @text with its single quotes made double ones, parsed; the test fails when
 * that is no JSON. The caller's; NULL stays NULL. */
static inline json_t *json_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	json_t *o;

	if (!copy)
		return NULL;
	for (char *q = strchr(copy, '\''); q; q = strchr(q, '\''))
		*q = '"';
	o = json_loads(copy, JSON_DECODE_ANY, NULL);
	if (!o)
		fail_msg("not JSON: %s", copy);
	free(copy);
	return o;
}

#endif
