/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page: page.html as a string, made at build time.
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

extern const char http_page[];

#endif
