import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { bridgeConfiguration, bridgeNameOf, layBridgeNetwork } from '#network/bridge-network.ts'

const network = { name: 'pods', bridge: 'tn-1', podCidrs: ['10.1.0.0/24', 'fd00::/64'], dataDirectory: '/data' }

test('the bridge has a range of addresses and a way out for each family', () => {
  const { plugins } = bridgeConfiguration(network) as { plugins: Record<string, unknown>[] }
  assert.deepEqual(plugins[0]?.['ipam'], {
    type: 'host-local',
    ranges: [[{ subnet: '10.1.0.0/24' }], [{ subnet: 'fd00::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    dataDir: '/data',
  })
  assert.equal(plugins[1]?.['type'], 'portmap')
})

test('a network is laid down where none is configured, changed when its range does, and no other is touched', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cni-'))
  try {
    const configs = join(directory, 'net.d')
    assert.equal(await layBridgeNetwork(network, configs, nodeFiles), true)
    const path = join(configs, '10-typernetes.conflist')
    assert.match(readFileSync(path, 'utf8'), /"10\.1\.0\.0\/24"/)
    assert.equal(await layBridgeNetwork({ ...network, podCidrs: ['10.2.0.0/24'] }, configs, nodeFiles), true)
    assert.match(readFileSync(path, 'utf8'), /"10\.2\.0\.0\/24"/)
    const others = join(directory, 'others')
    mkdirSync(others)
    writeFileSync(join(others, '05-calico.conflist'), '{}')
    assert.equal(await layBridgeNetwork(network, others, nodeFiles), false)
    assert.deepEqual(await nodeFiles.list(others), ['05-calico.conflist'])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('names of bridges differ with the directory, and fit an interface', () => {
  const names = ['/a', '/b', `/${'long'.repeat(50)}`].map(bridgeNameOf)
  assert.equal(new Set(names).size, 3)
  for (const name of names) assert.ok(name.length <= 15)
})
