import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { pinoLogger } from '#base/pino-logger.ts'

test('a line names its component once, and its object in fields of its own', async () => {
  const directory = await nodeFiles.temporaryDirectory('log-')
  const file = join(directory, 'log')
  const logger = pinoLogger({ level: 'info', file })
  logger.info('started')
  const kubelet = logger.with({ component: 'kubelet' })
  kubelet.with({ node: 'n1' }).warn('failed to rotate container log', { pod: 'default/web' })
  kubelet.debug('not asked for')
  const lines = (await nodeFiles.readText(file)).trim().split('\n')
  const shown = lines.map((line) => {
    const { time: _time, ...fields } = JSON.parse(line) as Record<string, unknown>
    return fields
  })
  assert.deepEqual(shown, [
    { level: 'info', msg: 'started' },
    { level: 'warn', node: 'n1', component: 'kubelet', pod: 'default/web', msg: 'failed to rotate container log' },
  ])
  await nodeFiles.remove(directory)
})
