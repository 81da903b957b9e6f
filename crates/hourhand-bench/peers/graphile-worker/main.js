// graphile-worker with a crontab and a backfill of an hour. It hears of jobs by LISTEN, and polls every 2 s besides. Ten jobs at a
// time, as its port to Rust in this table; one by default. Behind a pooler it prepares no statements, as its documentation says.

const { Logger, run } = require('graphile-worker')
const { Book, cronOfMinutes, replica } = require('./replica.js')

// Its own words are for failures; by default it logs each job.
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(`Error: ${message}`)
})

replica(async (orders) => {
  const cron = cronOfMinutes(orders)
  const book = new Book(orders.book)
  const runner = await run({
    connectionString: orders.url,
    concurrency: 10,
    noPreparedStatements: 'pooler' in orders.more,
    logger,
    crontab: orders.names.map((name) => `${cron} due ?id=${name}&fill=1h {name:"${name}"}`).join('\n'),
    taskList: {
      due: ({ name, _cron }) => book.body(name, new Date(_cron.ts), orders.body)
    }
  })
  book.ready()
  await runner.promise
})
