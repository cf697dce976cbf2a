/** Opens the store in the directory it is given and prints how many milliseconds that took: for a process that does nothing else. */
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'

const started = performance.now()
const store = await openSqliteStore({ dataDir: process.argv[2] ?? '', clock: systemClock, logger: silentLogger, processId: process.pid })
console.log(performance.now() - started)
await store.close()
