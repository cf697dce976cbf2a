import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Sockets } from '#base/sockets.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { defaultRuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'
import { UserspaceBackend } from '#proxy/userspace/userspace-backend.ts'

/** Sockets of a user who may listen on the machine's own addresses alone. */
function withoutRoot() {
  const open: string[] = []
  const refused = () => Promise.reject(new Error('nobody is there'))
  const sockets: Sockets = {
    async listenTcp({ host, port }) {
      if (host !== '0.0.0.0') throw new Error('EADDRNOTAVAIL')
      open.push(`${host}:${port}`)
      return { port, close: async () => void open.splice(open.indexOf(`${host}:${port}`), 1) }
    },
    connectTcp: refused,
    bindUdp: refused,
    connectUdp: () => ({ port: 0, send() {}, close() {} }),
  }
  const processes = { ...nodeProcesses, run: async () => ({ exitCode: 2, signal: null, stdout: '', stderr: 'Operation not permitted' }) }
  return { open, sockets, processes }
}

const slice = (addresses: string[]): V1EndpointSlice => ({
  metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
  endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'n1' })),
})

test('without root node ports work, and it is said once why cluster addresses do not', async () => {
  const { open, sockets, processes } = withoutRoot()
  const records: LogRecord[] = []
  const backend = new UserspaceBackend({
    ...{ sockets, processes, clock: new VirtualClock(), logger: recordingLogger(records), settings: defaultRuleSettings },
    ownAddresses: () => ['192.0.2.1'],
  })
  const table = new ServiceTable({ name: 'n1', zone: '' })
  table.setService({
    metadata: { namespace: 'default', name: 'web' },
    spec: { type: 'NodePort', clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ port: 80, nodePort: 30_080 }] },
  })
  table.setSlice(slice(['10.1.0.1']))
  await backend.sync(table, table.takeChanged(), true)
  assert.deepEqual(open, ['0.0.0.0:30080'])
  table.setSlice(slice(['10.1.0.1', '10.1.0.2']))
  await backend.sync(table, table.takeChanged(), false)
  assert.deepEqual(open, ['0.0.0.0:30080'], 'it stays open while endpoints change')
  assert.equal(records.length, 1)
  table.setSlice(slice([]))
  await backend.sync(table, table.takeChanged(), false)
  assert.deepEqual(open, [], 'nobody listens where nobody answers')
})
