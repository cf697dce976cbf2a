/** Puts copies of a pod into the store of a data directory, without a server: `node fill-store.ts '{"directory":…}'`. */
import { readFileSync } from 'node:fs'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'

const { directory, pod, count, namespaces } = JSON.parse(process.argv[2] ?? '{}') as {
  directory: string
  /** A file with a pod as the server sent it. */
  pod: string
  count: number
  namespaces: number
}
const object = JSON.parse(readFileSync(pod, 'utf8'))
delete object.metadata.resourceVersion
await using store = await openSqliteStore({ dataDir: directory, clock: systemClock, logger: silentLogger, processId: process.pid })
const perBatch = 500
for (let start = 0; start < count; start += perBatch) {
  await Promise.all(
    Array.from({ length: Math.min(perBatch, count - start) }, (_, index) => {
      const number = start + index
      const namespace = `ns-${number % namespaces}`
      const metadata = { ...object.metadata, name: `pod-${number}`, namespace }
      const value = Buffer.from(JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata, spec: object.spec, status: object.status }))
      return store.txn({ success: [{ put: { key: `/registry/pods/${namespace}/pod-${number}`, value } }] })
    }),
  )
}
console.log(JSON.stringify({ revision: store.revision }))
