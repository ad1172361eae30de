#!/bin/sh
# A task of the example sweep: takes 0.2 to 0.8 seconds on a machine of speed 1, and writes a result.
set -eu
seed=$1
sleep "$(awk -v s="$seed" -v v="${BURSAR_SPEED:-1}" 'BEGIN { print (0.2 + (s * 37 % 61) / 100) / v }')"
echo "seed $seed took its time on ${BURSAR_OFFER:-this computer}"
awk -v s="$seed" 'BEGIN { print s, s * s % 97 }' > "${BURSAR_OUTPUT_DIR:-.}/result.txt"
