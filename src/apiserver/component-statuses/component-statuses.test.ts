import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ComponentStatus } from '#api/core/v1/kinds.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'

test('components are listed as they are found now: well, not well, and nobody there', async () => {
  let trouble: string | undefined = 'no leader'
  const server = await fakeApiServer(new VirtualClock(), seededRandom(1), [], {
    components: {
      scheduler: async () => ({ isHealthy: trouble === undefined, message: trouble ?? 'ok' }),
      'controller-manager': () => Promise.reject(new Error('connection refused')),
    },
  })
  const connection = new TrustedConnection({ name: 'admin', groups: ['system:masters'], extra: {} })
  const client = new Client({ transport: inProcessTransport(inProcess(server.server.handler.handle, connection)), userAgent: 'test' })
  const conditions = async (options = {}) =>
    (await client.list(ComponentStatus, options)).items.map(({ metadata, conditions }) => [metadata.name, conditions?.[0]])
  const healthy = (status: string, message: string) => ({ type: 'Healthy', status, message })
  assert.deepEqual(await conditions(), [
    ['controller-manager', healthy('False', 'connection refused')],
    ['scheduler', healthy('False', 'no leader')],
    ['etcd-0', healthy('True', 'ok')],
  ])
  trouble = undefined
  assert.deepEqual((await client.get(ComponentStatus, '', 'scheduler')).conditions, [healthy('True', 'ok')])
  assert.deepEqual(await conditions({ fieldSelector: 'metadata.name=scheduler' }), [['scheduler', healthy('True', 'ok')]])
  assert.deepEqual(await conditions({ labelSelector: 'a=b' }), [])
  await assert.rejects(client.get(ComponentStatus, '', 'dns'), /componentstatus "dns" not found/)
  const table = JSON.parse(await client.raw('/api/v1/componentstatuses', 'application/json;as=Table;v=v1;g=meta.k8s.io')) as {
    rows: { cells: string[] }[]
  }
  assert.deepEqual(table.rows[1]?.cells, ['scheduler', 'Healthy', 'ok', ''])
  await server.stop()
})
