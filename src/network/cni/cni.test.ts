import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { bucket } from '#network/cni/bandwidth.ts'
import { type CniPlugin, emptyResult, readResult, writeResult } from '#network/cni/contract.ts'
import { delegateConf } from '#network/cni/flannel.ts'
import { portElements, portmapRules } from '#network/cni/portmap.ts'
import { runPlugin } from '#network/cni/run-plugin.ts'
import { pairOf } from '#network/cni/veth.ts'

const seams = { files: nodeFiles, processes: nodeProcesses }
const environment = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'c',
  CNI_NETNS: '/n',
  CNI_IFNAME: 'eth0',
  CNI_PATH: '/p',
  CNI_ARGS: 'IP=10.0.0.9;K=V',
}
const input = JSON.stringify({ cniVersion: '1.0.0', name: 'net', type: 'x' })

test('a call gets what the runtime gave, and answers in its version', async () => {
  const plugin: CniPlugin = {
    async add({ args, containerId, path }) {
      assert.deepEqual([containerId, args.get('IP'), path], ['c', '10.0.0.9', ['/p']])
      return { ...emptyResult, ips: [{ address: '10.0.0.9/24' }] }
    },
    async remove() {},
  }
  const { exitCode, output } = await runPlugin(plugin, environment, input, seams)
  assert.equal(exitCode, 0)
  assert.deepEqual(JSON.parse(output), { cniVersion: '1.0.0', ips: [{ address: '10.0.0.9/24' }], dns: {} })
})

test('what is wrong with a call is said by the codes of the contract', async () => {
  const plugin: CniPlugin = { add: async () => emptyResult, remove: async () => {} }
  const codeOf = async (text: string, more: Record<string, string> = {}) => {
    const { exitCode, output } = await runPlugin(plugin, { ...environment, ...more }, text, seams)
    assert.equal(exitCode, 1)
    return JSON.parse(output).code
  }
  assert.equal(await codeOf('{'), 6)
  assert.equal(await codeOf('[]'), 6)
  assert.equal(await codeOf('{"cniVersion":"0.2.0","name":"n"}'), 1)
  assert.equal(await codeOf('{"cniVersion":"1.0.0","name":"../etc"}'), 7)
  assert.equal(await codeOf(input, { CNI_NETNS: '' }), 4)
  assert.equal(await codeOf(input, { CNI_CONTAINERID: '../x' }), 4)
  assert.equal(await codeOf(input, { CNI_IFNAME: 'a/b' }), 4)
  assert.equal(await codeOf(input, { CNI_IFNAME: 'a"}' }), 4)
  assert.equal(await codeOf(input, { CNI_NETNS: '/n"\nlink delete eth0' }), 4)
  assert.equal(await codeOf(input, { CNI_COMMAND: 'DANCE' }), 4)
  assert.equal(await codeOf(input, { CNI_COMMAND: 'CHECK' }), 7)
})

test('results of old versions name the family of each address, and are read again without it', () => {
  const result = {
    ...emptyResult,
    ips: [{ address: '10.0.0.2/24', gateway: '10.0.0.1', interface: 0 }],
    interfaces: [{ name: 'eth0', mtu: 1400 }],
  }
  const old = writeResult(result, '0.4.0') as { ips: unknown[]; interfaces: unknown[] }
  assert.deepEqual(old.ips, [{ version: '4', address: '10.0.0.2/24', gateway: '10.0.0.1', interface: 0 }])
  assert.deepEqual(old.interfaces, [{ name: 'eth0' }])
  assert.deepEqual(readResult(old).ips, result.ips)
  assert.deepEqual((writeResult(result, '1.1.0') as { interfaces: unknown[] }).interfaces, [{ name: 'eth0', mtu: 1400 }])
})

test('host ports become elements of maps, one for each family, at one address where it is named', () => {
  const mappings = [
    { hostPort: 80, containerPort: 8080 },
    { hostPort: 53, containerPort: 53, protocol: 'UDP', hostIP: '192.0.2.1' },
    { hostPort: 0, containerPort: 9 },
  ]
  assert.deepEqual(portElements(mappings, ['10.0.0.2/24', 'fd00::2/64']), [
    { map: 'tcp4', key: '80', value: '10.0.0.2 . 8080' },
    { map: 'udp4_at', key: '192.0.2.1 . 53', value: '10.0.0.2 . 53' },
    { map: 'hairpin4', key: '10.0.0.2 . 10.0.0.2' },
    { map: 'tcp6', key: '80', value: 'fd00::2 . 8080' },
    { map: 'hairpin6', key: 'fd00::2 . fd00::2' },
  ])
  assert.throws(() => portElements([{ hostPort: 1, containerPort: 1, protocol: 'icmp' }], ['10.0.0.2']), /unknown protocol icmp/)
  assert.deepEqual(
    portElements([{ hostPort: 1, containerPort: 1, hostIP: '2001:DB8:0::1' }], ['fd00::2'])[0],
    { map: 'tcp6_at', key: '2001:db8::1 . 1', value: 'fd00::2 . 1' },
    'as nft writes it, so that whoever had the port before is found',
  )
  assert.match(portmapRules(), /flush chain inet typernetes_hostports ports\n/)
})

test('nothing but addresses and ports becomes a part of what nft is told', () => {
  const hostIP = '::1 . 1 : ::1 . 1 }\nflush ruleset\nadd element inet typernetes_hostports tcp6_at { ::2'
  assert.throws(() => portElements([{ hostPort: 1, containerPort: 1, hostIP }], ['fd00::2']), /is no IP address/)
  for (const odd of ['localhost', '::1%eth0', '1.2.3.4/8', ' ::1']) {
    assert.throws(() => portElements([{ hostPort: 1, containerPort: 1, hostIP: odd }], ['fd00::2']), /is no IP address/)
  }
  assert.throws(() => portElements([{ hostPort: 70_000, containerPort: 1 }], ['fd00::2']), /is no port/)
  assert.throws(() => portElements([{ hostPort: 1, containerPort: '1 }' as never }], ['fd00::2']), /is no port/)
})

test('a bucket holds its burst and what comes in 25 ms', () => {
  assert.deepEqual(bucket('veth0', 8_000_000, 80_000), ['qdisc replace dev veth0 root tbf rate 8000000bit burst 10000b limit 35000b'])
})

test('a container has the same names again, and a hardware address made of its address', () => {
  const pair = pairOf({ containerId: 'c', ifName: 'eth0' }, [{ address: '10.0.0.2/24' }])
  assert.equal(pair.mac, '0a:58:0a:00:00:02')
  assert.ok(pair.host.length <= 15)
  assert.equal(pairOf({ containerId: 'c', ifName: 'eth0' }, []).host, pair.host)
  assert.notEqual(pairOf({ containerId: 'c', ifName: 'eth1' }, []).host, pair.host)
})

test('flannel hands on what subnet.env says, and keeps its own fields to itself', () => {
  const env = { networks: ['10.244.0.0/16'], subnets: ['10.244.3.1/24'], mtu: 1450, masquerades: true }
  const conf = { cniVersion: '1.0.0', name: 'cbr0', type: 'flannel', delegate: { hairpinMode: true } }
  assert.deepEqual(delegateConf(conf, env), {
    ...{ cniVersion: '1.0.0', name: 'cbr0', type: 'bridge', hairpinMode: true, ipMasq: false, mtu: 1450, isGateway: true },
    ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.3.0/24' }]], routes: [{ dst: '10.244.0.0/16' }] },
  })
  assert.throws(() => delegateConf({ ...conf, delegate: { ipam: {} } }, env), /must not have 'ipam' field/)
})
