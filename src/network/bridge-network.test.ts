import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { bridgeConfiguration, bridgeNameOf, layBridgeNetwork, removeBridgeNetwork } from '#network/bridge-network.ts'
import { layNodeMasquerade } from '#network/node-network.ts'

/** Remembers the rules it was told to make. */
function iptablesInMemory() {
  const rules = new Set<string>()
  const run = async (program: string, args: readonly string[]) => {
    const [, , , action = '', chain = '', ...rule] = args
    const key = `${program} ${chain} ${rule.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')}`
    const has = rules.has(key)
    if (action === '-A') rules.add(key)
    if (action === '-D') rules.delete(key)
    const own = [...rules].filter((one) => one.startsWith(`${program} ${chain} `)).map((one) => `-A ${one.slice(program.length + 1)}`)
    return { exitCode: action !== '-D' || has ? 0 : 1, signal: null, stdout: action === '-S' ? own.join('\n') : '', stderr: '' }
  }
  return { rules, processes: { ...nodeProcesses, run } }
}

const network = { name: 'pods', bridge: 'tn-1', podCidrs: ['10.1.0.0/24', 'fd00::/64'], dataDirectory: '/nowhere/data' }

test('the bridge has a range of addresses and a way out for each family', () => {
  const { plugins } = bridgeConfiguration(network) as { plugins: Record<string, unknown>[] }
  assert.deepEqual(plugins[0]?.['ipam'], {
    type: 'host-local',
    ranges: [[{ subnet: '10.1.0.0/24' }], [{ subnet: 'fd00::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    dataDir: '/nowhere/data',
  })
  assert.equal(plugins[1]?.['type'], 'portmap')
})

test('a network is laid down where none is configured, changed when its range does, and no other is touched', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cni-'))
  try {
    const configs = join(directory, 'net.d')
    const { rules, processes } = iptablesInMemory()
    const seams = { files: nodeFiles, processes }
    assert.equal(await layBridgeNetwork(network, configs, seams), true)
    const path = join(configs, '10-typernetes.conflist')
    assert.match(readFileSync(path, 'utf8'), /"10\.1\.0\.0\/24"/)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(await layBridgeNetwork({ ...network, podCidrs: ['10.2.0.0/24'] }, configs, seams), true)
    assert.match(readFileSync(path, 'utf8'), /"10\.2\.0\.0\/24"/)
    assert.ok(rules.has('iptables POSTROUTING -s 10.2.0.0/24 ! -d 10.2.0.0/24 -m comment --comment "pods of tn-1" -j MASQUERADE'))
    assert.ok(rules.has('iptables FORWARD -d 10.2.0.0/24 -m comment --comment "pods of tn-1" -j ACCEPT'))
    assert.equal(rules.size, 3, 'rules of the range before are gone')
    const wider = { ...network, clusterCidrs: ['10.0.0.0/8', 'fd00::/16'], mtu: 1450 }
    assert.equal(await layBridgeNetwork(wider, configs, seams), true)
    assert.ok(rules.has('ip6tables POSTROUTING -s fd00::/64 ! -d fd00::/16 -m comment --comment "pods of tn-1" -j MASQUERADE'))
    assert.match(readFileSync(path, 'utf8'), /"mtu": 1450/)
    await removeBridgeNetwork(network, configs, seams)
    assert.equal(rules.size, 0)
    assert.deepEqual(await nodeFiles.list(configs), [])
    const others = join(directory, 'others')
    mkdirSync(others)
    writeFileSync(join(others, '05-calico.conflist'), '{}')
    assert.equal(await layBridgeNetwork(network, others, seams), false)
    assert.deepEqual(await nodeFiles.list(others), ['05-calico.conflist'])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('what a node sends to others by their bridge keeps its address, whatever its destination', async () => {
  const { rules, processes } = iptablesInMemory()
  const addresses = { range: '172.30.1.0/24', address: '172.30.1.1', clusterCidrs: ['10.244.0.0/16'] }
  const nodes = { bridge: 'tnn-1', ...addresses, hasMachineNode: false, isNew: true }
  for (let twice = 0; twice < 2; twice++) await layNodeMasquerade(nodes, processes)
  const masquerades = [...rules].filter((rule) => rule.includes('POSTROUTING'))
  assert.deepEqual(masquerades, [
    'iptables POSTROUTING -s 172.30.1.0/24 ! -d 172.30.1.0/24 ! -o tnn-1 -m comment --comment "nodes of tnn-1" -j MASQUERADE',
  ])
})

test('names of bridges differ with the directory, and fit an interface', () => {
  const names = ['/a', '/b', `/${'long'.repeat(50)}`].map(bridgeNameOf)
  assert.equal(new Set(names).size, 3)
  for (const name of names) assert.ok(name.length <= 15)
})
