#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# Runs put_and_get and change on a store of three directories, and compares what they print.
# run.sh PUT_AND_GET CHANGE DIRECTORY
set -eu
put_and_get=$1 change=$2 directory=$3
compare() {
  if [ "$1" != "$2" ]; then
    printf 'printed:\n%s\nwanted:\n%s\n' "$1" "$2"
    exit 1
  fi
}
rm -rf "$directory"
mkdir -p "$directory/1" "$directory/2" "$directory/3"
printf 'xec.data %s\n' "$directory/1" "$directory/2" "$directory/3" >"$directory/xec.conf"
printf '%s\n' 'xec.geometry 2+1' "xec.scratch $directory/scratch" >>"$directory/xec.conf"
compare "$("$put_and_get" "$directory/xec.conf" /greetings/hello 'Hello, disks!')" '/greetings/hello
Hello, disks!'
compare "$("$change" "$directory/xec.conf" /greetings/hello 7 'world!')" 'Hello, world!'
compare "$("$change" "$directory/xec.conf" /greetings/hello 0 'Jello')" 'Jello, world!'
if "$put_and_get" "$directory/none.conf" /a b 2>"$directory/error"; then exit 1; fi
grep -q 'none.conf' "$directory/error"
if "$change" "$directory/xec.conf" /none 0 x 2>"$directory/error"; then exit 1; fi
grep -q '/none' "$directory/error"
rm -rf "$directory"
