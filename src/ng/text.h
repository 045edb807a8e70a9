/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of an answer. What a message quotes of a request may be no UTF-8, or
 * may have been cut in the middle of a character, and such is no JSON.
 *
 * Pure but for memory.
 */
#ifndef NG_TEXT_H
#define NG_TEXT_H

#include <jansson.h>

/** @text as JSON; what is no ASCII becomes '?' where it is no UTF-8. NULL: out
 * of memory. */
json_t *ng_text(const char *text);

/** {"result": @result, @key: @text}; NULL: out of memory. */
json_t *ng_result(const char *result, const char *key, const char *text);

#endif
