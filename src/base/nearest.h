/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean ...?": the valid name nearest to what was typed.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdio.h>

/**
 * The entry of @names (NULL-terminated) with the least edit distance to @word
 * (insert, delete, replace or swap a letter; case does not count), the first
 * one when several are equally near. NULL: none is near enough to be meant.
 * Pure; any thread.
 */
const char *nearest_name(const char *word, const char *const *names);

/**
 * Write the hint for an error message: "did you mean 'edf'?", or, when nothing
 * is near, "known: fifo, rr, edf". Always terminates @buf. Returns @buf.
 */
const char *nearest_hint(const char *word, const char *const *names, char *buf,
			 size_t size);

#endif
