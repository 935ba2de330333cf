#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# Runs put_and_get on a store of three directories, and compares what it prints. run.sh PROGRAM DIRECTORY
set -eu
program=$1 directory=$2
rm -rf "$directory"
mkdir -p "$directory/1" "$directory/2" "$directory/3"
printf 'xec.data %s\n' "$directory/1" "$directory/2" "$directory/3" >"$directory/xec.conf"
echo 'xec.geometry 2+1' >>"$directory/xec.conf"
printed=$("$program" "$directory/xec.conf" /greetings/hello 'Hello, disks!')
wanted='/greetings/hello
Hello, disks!'
if [ "$printed" != "$wanted" ]; then
  printf 'printed:\n%s\nwanted:\n%s\n' "$printed" "$wanted"
  exit 1
fi
if "$program" "$directory/none.conf" /a b 2>"$directory/error"; then exit 1; fi
grep -q 'none.conf' "$directory/error"
rm -rf "$directory"
