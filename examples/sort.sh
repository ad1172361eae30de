#!/bin/sh
# Sorts a file: two seconds of work at speed 1. The machine's speed is emulated.
sleep "$(awk -v v="${BURSAR_SPEED:-1}" 'BEGIN { print 2 / v }')"
sort "$1" > "$2"
