# Runs a program that must not outlive its owner. Read by leash.rs, which is the owner's side of it.
#
#   sh -c SCRIPT leash LOG SIGNAL LITTER PROGRAM ARGUMENTS...
#
# The owner holds the other end of standard input and never writes to it: its end is the owner's end, even by
# `kill -9`. Then the program gets SIGNAL, after 5 s KILL, and LITTER (a directory, or '') is removed.
log=$1 signal=$2 litter=$3
shift 3
exec 3<&0 </dev/null

"$@" >>"$log" 2>&1 3<&- &
program=$!
echo "$program"
exec >/dev/null

# With our owner gone this process group is an orphan, and if a member is stopped then, the kernel hangs up on all of it.
trap '' HUP

# Told again until this shell is gone: a signal that comes just before `wait` runs its trap and would be lost on it.
orphaned=
trap 'orphaned=yes' USR1
{ read -r _ <&3; while kill -USR1 $$; do sleep 0.2; done; } 2>/dev/null &

wait "$program"
code=$?
if [ -n "$orphaned" ]; then
    trap '' USR1
    # A stopped process takes no signal but KILL, and a stopped child would outlive its parent.
    for stat in /proc/[0-9]*/stat; do
        { read -r child _ _ parent _ <"$stat"; } 2>/dev/null
        [ "$parent" = "$program" ] && kill -CONT "$child"
    done
    kill -CONT "$program"
    kill -"$signal" "$program"
    { sleep 5; kill -KILL "$program"; } &
    wait "$program"
fi 2>/dev/null

# What it has left in this process group, of which this shell is the leader, goes with it: helpers, and ours.
trap '' TERM
kill -TERM 0

# A helper may still be writing where we remove.
if [ -n "$orphaned" ] && [ -n "$litter" ]; then
    for _ in 1 2 3 4 5; do
        rm -rf -- "$litter" && break
        sleep 0.2
    done 2>/dev/null
fi
exit "$code"
