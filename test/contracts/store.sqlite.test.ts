import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
import { describeStore } from './store.ts'

describeStore({
  name: 'SQLite',
  async open() {
    const dataDir = await mkdtemp(join(tmpdir(), 'typernetes-store-'))
    // Timers are virtual; the disk is not.
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    const store = await openSqliteStore({ dataDir, clock, logger: silentLogger, processId: process.pid })
    return {
      store,
      clock,
      async [Symbol.asyncDispose]() {
        await store.close()
        await rm(dataDir, { recursive: true })
      },
    }
  },
})
