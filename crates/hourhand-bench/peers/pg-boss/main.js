// pg-boss with schedules, and a worker a queue, each with its defaults: schedules are looked at every 30 s, what is due is sent every
// 5 s, and a worker polls every 2 s. A queue has one schedule, so a job is a queue.
//
// The newest version for Node 20. A job does not say which occurrence it is of; it was made within that minute.

const PgBoss = require('pg-boss')
const { Book, cronOfMinutes, replica } = require('./replica.js')

replica(async (orders) => {
  const cron = cronOfMinutes(orders)
  const book = new Book(orders.book)
  const boss = new PgBoss(orders.url)
  boss.on('error', (error) => console.error(error.message))
  await boss.start()
  const every = orders.every * 1000
  for (const name of orders.names) {
    await boss.createQueue(name)
    await boss.schedule(name, cron)
  }
  // The workers last: each begins to poll at once.
  for (const name of orders.names) {
    await boss.work(name, { includeMetadata: true }, async ([job]) => {
      const occurrence = new Date(Math.floor(job.createdOn.getTime() / every) * every)
      await book.body(name, occurrence, orders.body)
    })
  }
  book.ready()
})
