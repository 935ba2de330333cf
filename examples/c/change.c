/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Overwrites a part of an object, appends a line to it and prints its new content:
 *
 *   cc change.c $(pkg-config --cflags --libs xec) -o change
 *   ./change xec.conf /greetings/hello 7 'world!'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xec/xec.h>

/* Waits for a request and frees it; leaves the program with its sentence if it failed. */
static void need(xec_request *request) {
  if (xec_request_wait(request) != XEC_OK) {
    fprintf(stderr, "%s: %s\n", xec_code_name(xec_request_code(request)), xec_request_message(request));
    exit(1);
  }
  xec_request_free(request);
}

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "usage: change CONFIG NAME OFFSET TEXT\n"), 2;
  xec_config *config = xec_config_new();
  if (xec_config_read_file(config, argv[1]) != XEC_OK)
    return fprintf(stderr, "%s\n", xec_config_error(config)), 2;
  char error[512];
  xec_store *store;
  if (xec_store_open(config, 0, 0, &store, error, sizeof error) != XEC_OK)
    return fprintf(stderr, "%s\n", error), 1;

  xec_request *open = xec_edit_open(store, argv[2], NULL, NULL);
  if (xec_request_wait(open) != XEC_OK) return fprintf(stderr, "%s\n", xec_request_message(open)), 1;
  xec_edit *edit = xec_request_take_edit(open);
  xec_request_free(open);
  need(xec_edit_write(edit, strtoull(argv[3], NULL, 10), argv[4], strlen(argv[4])));
  need(xec_edit_append(edit, "\n", 1));
  /* What was written can be read back before others see it. */
  uint64_t size = xec_edit_size(edit);
  char *text = calloc(1, size + 1);
  need(xec_edit_read(edit, 0, text, size));
  fputs(text, stdout);
  free(text);
  need(xec_edit_close(edit)); /* commits; XEC_NOT_CURRENT: somebody else was quicker */
  xec_edit_free(edit);
  xec_store_close(store);
  xec_config_free(config);
  return 0;
}
