/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages about rows: what is printed for a terminal, for the comments of a file
 * of options, or as a manual page (troff with the man macros). One walk over a
 * table (base/cli.h, config/config.h) prints them all.
 *
 * One thread at a time for each page; who has printed all asks cli_written()
 * whether it arrived.
 */
#ifndef BASE_PAGE_H
#define BASE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/field.h"

struct page {
	FILE *out;
	bool man;	    /**< troff, else lines of at most .width */
	const char *prefix; /**< of each line */
	int width;
	int column, indent; /**< where the next character, where lines begin */
};

/** Print @text: in words, where '\n' ends a line; or so that troff takes it
 * literally. */
void page_text(struct page *p, const char *text);

/** Print a paragraph for each line of @text that is not empty; of a terminal's,
 * lines. */
void page_paragraphs(struct page *p, const char *text);

/** Begin a manual page: @name with @suffix in capitals, of @section of what is
 * called @volume; and its NAME, which does @summary. */
void page_title(struct page *p, const char *name, const char *suffix,
		char section, const char *volume, const char *summary);

/** Begin the section @title of a page, a group @title of options. */
void page_section(struct page *p, const char *title);
void page_group(struct page *p, const char *title);

/** Print what @term means. */
void page_item(struct page *p, const char *term, const char *text);

/** Print how the option @f is written, on a command line or in a file, what it
 * does, and its default. */
void page_option(struct page *p, const struct field *f, bool in_file);

/** Print a command, and what it does. */
void page_example(struct page *p, const char *command, const char *text);

#endif
