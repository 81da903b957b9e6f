// The contract of a replica, for the peers in Node: what it is told (orders) and what it writes down (Book). The same as orders.rs
// and book.rs beside this file, which say what the words mean.

const fs = require('node:fs')
const os = require('node:os')

const CANNOT = 3

// Node tells the time since the machine started without its suspensions. How long those were can be read only roughly, so it is
// taken for nothing unless it is more than that; a container may hide some of the machine's time, which is no suspension.
const ROUGH_NS = 50_000_000n
const suspended = BigInt(Math.round(os.uptime() * 1e9)) - process.hrtime.bigint()

const bootTime = () => process.hrtime.bigint() + (suspended > ROUGH_NS ? suspended : 0n)
const wallTime = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))

function readOrders (words) {
  const said = {}
  for (let at = 0; at < words.length; at += 2) said[words[at].replace(/^--/, '')] = words[at + 1]
  const { url, book, jobs, every, 'body-ms': body, ...more } = said
  return {
    url,
    book,
    every: Number(every),
    body: Number(body),
    more,
    names: Array.from({ length: Number(jobs) }, (_, number) => `job-${number}`)
  }
}

// The schedule as a cron expression of five fields; the process ends if it has seconds in it.
function cronOfMinutes ({ every }) {
  if (every < 60) refuse('its schedules know no seconds: a job a minute is the most frequent')
  const minutes = Math.floor(every / 60)
  if (minutes === 1) return '* * * * *'
  if (minutes < 60) return `*/${minutes} * * * *`
  return minutes < 1440 ? '0 * * * *' : '0 0 * * *'
}

// The file for the lines; a line is one write, so that processes do not write into each other's.
class Book {
  constructor (path) {
    this.file = fs.openSync(path, 'a')
  }

  ready () {
    this.write('ready', '-', null)
  }

  // A body, which does nothing but wait; `scheduledFor` is a Date, or null if the scheduler does not say it.
  async body (job, scheduledFor, ms) {
    this.write('began', job, scheduledFor)
    try {
      await new Promise((resolve) => ms > 0 ? setTimeout(resolve, ms) : resolve())
    } finally {
      this.write('ended', job, scheduledFor)
    }
  }

  write (what, job, scheduledFor) {
    const scheduled = scheduledFor === null ? '-' : BigInt(scheduledFor.getTime()) * 1_000_000n
    fs.writeSync(this.file, `${bootTime()} ${process.pid} ${what} ${job} ${wallTime()} ${scheduled}\n`)
  }
}

// Runs a replica. One that fails ends, with its reason as the last words.
function replica (main) {
  main(readOrders(process.argv.slice(2))).catch((error) => {
    console.error(`Error: ${error.message}`)
    process.exit(1)
  })
}

// Ends the process: the scheduler cannot do what it is told, for this reason.
function refuse (why) {
  fs.writeSync(1, `cannot: ${why}\n`)
  process.exit(CANNOT)
}

module.exports = { Book, cronOfMinutes, refuse, replica }
