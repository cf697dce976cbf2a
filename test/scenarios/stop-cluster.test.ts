/** A cluster that is stopped in the middle of its work. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Deployment, Pod, startCluster } from '#index.ts'

test('controllers and scheduler end before the store does, also with a burst in flight', { timeout: 240_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'typernetes-stop-'))
  const records: LogRecord[] = []
  try {
    const cluster = await startCluster({ dataDir, simNodes: 3, logger: recordingLogger(records) })
    const { client } = cluster
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } }
    for (let index = 0; index < 30; index++) {
      const spec = { replicas: 10, selector: { matchLabels: labels }, template }
      await client.create(Deployment, { metadata: { namespace: 'default', name: `web-${index}` }, spec })
    }
    while ((await client.list(Pod, { namespace: 'default' })).items.length < 30);
    await cluster.stop()
  } finally {
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 })
  }
  const lines = records.map(({ level, message, fields }) => `${level}: ${message} ${JSON.stringify(fields)}`)
  assert.deepEqual(
    lines.filter((line) => /store is closed/.test(line)),
    [],
  )
})
