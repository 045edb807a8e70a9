/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manual pages: troff with the man macros. One thread at a time for each @out;
 * who has printed all asks cli_written() whether it arrived.
 */
#ifndef BASE_TROFF_H
#define BASE_TROFF_H

#include <stddef.h>
#include <stdio.h>

#include "base/cli.h"

/** Print @len bytes of @text so that troff takes them literally. */
void troff_bytes(FILE *out, const char *text, size_t len);

/** And a whole text. */
void troff_text(FILE *out, const char *text);

/** The begin of a page, to be gone on with: .TH and @name in capitals. */
void troff_title(FILE *out, const char *name);

/** A paragraph for each line of @text that is not empty. */
void troff_paragraphs(FILE *out, const char *text);

/** What @o does, and its default. */
void troff_help(FILE *out, const struct cli_opt *o);

/** The heading of a group of options. */
void troff_section(FILE *out, const char *heading);

#endif
