/** Our network plugins as a runtime calls them: programs on the real kernel, each version of the contract. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { layPlugins } from '#cmd/cni/lay-plugins.ts'
import { whyNoLab } from '../support/network-lab.ts'

type Call = {
  exitCode: number
  answer: Record<string, unknown> & { ips?: { address: string; gateway?: string }[]; msg?: string; code?: number }
}

let count = 0

/** A node of one namespace, and namespaces for containers on it. */
class Bench implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'tn-cni-'))
  readonly #prefix = `tncni-${process.pid}-${count++}`
  readonly #made: string[] = []
  readonly node = this.namespace('node')

  namespace(name: string): string {
    const full = `${this.#prefix}-${name}`
    assert.equal(spawnSync('ip', ['netns', 'add', full]).status, 0)
    this.#made.push(full)
    return `/run/netns/${full}`
  }
  in(namespace: string, ...command: readonly string[]): { ok: boolean; output: string } {
    const { status, stdout, stderr } = spawnSync('nsenter', [`--net=${namespace}`, ...command], { encoding: 'utf8' })
    return { ok: status === 0, output: stdout + stderr }
  }
  /** Packets may get lost while links come up, and a busy machine takes its time. */
  reaches(namespace: string, ...command: readonly string[]): boolean {
    for (const untilMs = Date.now() + 60_000; Date.now() < untilMs; ) if (this.in(namespace, ...command).ok) return true
    return false
  }
  call(type: string, command: string, conf: object, { netns = '', id = 'c1', args = '', ifName = 'eth0' } = {}): Call {
    const bin = join(this.directory, 'bin')
    const { status, stdout, stderr } = spawnSync('nsenter', [`--net=${this.node}`, join(bin, type)], {
      encoding: 'utf8',
      input: JSON.stringify({ name: 'net', type, ...conf }),
      env: {
        ...process.env,
        CNI_COMMAND: command,
        CNI_CONTAINERID: id,
        CNI_NETNS: netns,
        CNI_IFNAME: ifName,
        CNI_PATH: bin,
        CNI_ARGS: args,
      },
    })
    return { exitCode: status ?? 128, answer: stdout.trim() === '' ? { stderr } : JSON.parse(stdout) }
  }
  ok(...args: Parameters<Bench['call']>): Call['answer'] {
    const { exitCode, answer } = this.call(...args)
    assert.equal(exitCode, 0, JSON.stringify(answer))
    return answer
  }
  /** How many calls a server has answered. */
  served(): number {
    return readFileSync(join(this.directory, 'served'), 'utf8').trim().split('\n').length
  }
  [Symbol.dispose](): void {
    for (const name of this.#made) spawnSync('ip', ['netns', 'delete', name])
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20 })
  }
}

async function openBench(): Promise<Bench> {
  const bench = new Bench()
  await layPlugins(join(bench.directory, 'bin'), nodeFiles)
  return bench
}

/** The server of plugins, as a kubelet has it: in the node's namespace, where the plugins are called. */
function serverIn({ node, directory }: Bench): Promise<{ port: number; token: string; kill(): Promise<void> }> {
  const program = join(import.meta.dirname, '..', 'support', 'plugin-server-program.ts')
  spawnSync('nsenter', [`--net=${node}`, 'ip', 'link', 'set', 'lo', 'up'])
  const child = spawn('nsenter', [`--net=${node}`, process.execPath, program, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = () => {
    child.kill('SIGKILL')
    return exited
  }
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve({ ...JSON.parse(line), kill }))
    void exited.then(() => reject(new Error('the server of plugins has ended')))
  })
}

const conf = (bench: Bench, more: object = {}) => ({
  cniVersion: '1.1.0',
  isGateway: true,
  hairpinMode: true,
  ipam: {
    type: 'host-local',
    ranges: [[{ subnet: '10.60.0.0/29' }], [{ subnet: 'fd60::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    dataDir: join(bench.directory, 'addresses'),
  },
  ...more,
})

/** Every namespace gets these as soon as anybody on the machine makes the kernel load what they are of. */
const kernelLinks = /^(tunl|sit|gre|gretap|erspan|ip6tnl|ip6gre|ip_vti|ip6_vti)0$/

const linksOf = (bench: Bench) =>
  bench
    .in(bench.node, 'ip', '-br', 'link')
    .output.split('\n')
    .map((line) => line.split(/[\s@]/)[0])
    .filter((name) => name !== undefined && name !== '' && !kernelLinks.test(name))

describe('network plugins served by a process that runs', { skip: whyNoLab(), timeout: 600_000 }, () => {
  test('calls are answered by it, as the programs would; when it is gone, and by those who do not know the token, they are not', async () => {
    using bench = await openBench()
    const server = await serverIn(bench)
    try {
      await layPlugins(join(bench.directory, 'bin'), nodeFiles, server)
      const one = bench.namespace('one')
      const plugins = [{ type: 'bridge', ...conf(bench), bridge: 'br0' }]
      const chained = { cniVersion: '1.0.0', plugins }
      const added = bench.ok('typernetes', 'ADD', chained, { netns: one, args: 'K8S_POD_NAME=web;IgnoreUnknown=1' })
      assert.equal(added.ips?.[0]?.address, '10.60.0.2/29')
      assert.ok(bench.reaches(one, 'busybox', 'ping', '-c', '1', '-W', '2', '10.60.0.1'))
      const { exitCode, answer } = bench.call('typernetes', 'ADD', { cniVersion: '9.9.9', plugins }, { netns: one })
      assert.equal(exitCode, 1)
      assert.match(answer.msg ?? '', /incompatible CNI versions/)
      assert.equal(bench.served(), 2, 'the process has answered both')
      await layPlugins(join(bench.directory, 'bin'), nodeFiles, { ...server, token: 'x'.repeat(server.token.length) })
      assert.match(bench.call('typernetes', 'ADD', chained, { netns: one, id: 'c2' }).answer.msg ?? '', /try again later/)
      await server.kill()
      await layPlugins(join(bench.directory, 'bin'), nodeFiles, server)
      bench.ok('typernetes', 'DEL', chained, { netns: one })
      assert.equal(bench.served(), 2, 'a process of its own has done it')
      assert.ok(!bench.in(one, 'ip', 'link', 'show', 'eth0').ok)
    } finally {
      await server.kill()
    }
  })
})

describe('network plugins', { skip: whyNoLab(), timeout: 600_000 }, () => {
  for (const type of ['bridge', 'ptp']) {
    test(`${type}: containers reach the node and each other, both families; CHECK sees what is amiss, DEL leaves nothing and may be repeated`, async () => {
      using bench = await openBench()
      const before = linksOf(bench)
      const [one, two] = [bench.namespace('one'), bench.namespace('two')]
      const first = bench.ok(type, 'ADD', conf(bench, { mtu: 1400 }), { netns: one })
      const second = bench.ok(type, 'ADD', conf(bench, { mtu: 1400 }), { netns: two, id: 'c2' })
      assert.deepEqual(
        first.ips?.map(({ address }) => address),
        ['10.60.0.2/29', 'fd60::2/64'],
      )
      assert.equal(second.ips?.[0]?.address, '10.60.0.3/29')
      for (const address of ['10.60.0.3', '10.60.0.1'])
        assert.ok(bench.reaches(one, 'busybox', 'ping', '-c', '1', '-W', '2', address), address)
      for (const address of ['fd60::3', 'fd60::1'])
        assert.ok(bench.reaches(one, 'busybox', 'ping6', '-c', '1', '-W', '2', address), address)
      assert.match(bench.in(one, 'ip', 'link', 'show', 'eth0').output, /mtu 1400/)
      const prevResult = first
      bench.ok(type, 'CHECK', conf(bench, { prevResult }), { netns: one })
      bench.in(one, 'ip', 'address', 'delete', '10.60.0.2/29', 'dev', 'eth0')
      assert.equal(bench.call(type, 'CHECK', conf(bench, { prevResult }), { netns: one }).exitCode, 1)
      for (const _ of [1, 2]) bench.ok(type, 'DEL', conf(bench, { prevResult }), { netns: one })
      bench.ok(type, 'DEL', conf(bench), { netns: '/nowhere', id: 'c2' })
      assert.deepEqual(
        linksOf(bench).filter((name) => name !== 'cni0'),
        before,
      )
      const files = readdirSync(join(bench.directory, 'addresses', 'net')).filter((name) => !name.startsWith('last_'))
      assert.deepEqual(files, [])
    })
  }

  test('results are in the version that was asked for, and other versions are refused', async () => {
    using bench = await openBench()
    for (const cniVersion of ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']) {
      const netns = bench.namespace(cniVersion.replaceAll('.', ''))
      const answer = bench.ok('bridge', 'ADD', conf(bench, { cniVersion }), { netns, id: cniVersion })
      assert.equal(answer['cniVersion'], cniVersion)
      const [ip] = answer.ips as { version?: string; interface?: number }[]
      assert.equal(ip?.version, cniVersion.startsWith('0.') ? '4' : undefined)
      assert.equal(ip?.interface, 2)
      bench.ok('bridge', 'DEL', conf(bench, { cniVersion }), { netns, id: cniVersion })
    }
    const old = bench.call('bridge', 'ADD', conf(bench, { cniVersion: '2.0.0' }), { netns: '/x' })
    assert.deepEqual([old.exitCode, old.answer.code], [1, 1])
    assert.equal(bench.call('bridge', 'ADD', conf(bench), { netns: '' }).answer.code, 4)
    assert.equal(bench.call('bridge', 'GC', conf(bench, { cniVersion: '1.0.0' })).answer.code, 1)
    assert.deepEqual(bench.ok('bridge', 'VERSION', {})['supportedVersions'], ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'])
    bench.ok('bridge', 'STATUS', conf(bench))
    assert.equal(bench.call('bridge', 'STATUS', conf(bench, { ipam: { type: 'host-local' } })).answer.code, 7)
    assert.equal(bench.call('bridge', 'ADD', conf(bench, { vlan: 7 }), { netns: '/x' }).answer.code, 2)
  })

  test('host-local: the whole range once, then none; one that is asked for; what is given back last is given out last; GC', async () => {
    using bench = await openBench()
    const settings = {
      cniVersion: '1.1.0',
      ipam: { type: 'host-local', subnet: '10.60.0.0/29', dataDir: join(bench.directory, 'addresses') },
    }
    const take = (id: string, args = '') => bench.call('host-local', 'ADD', settings, { netns: '/x', id, args }).answer
    assert.equal(take('asked', 'IP=10.60.0.4').ips?.[0]?.address, '10.60.0.4/29')
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((id) => take(id).ips?.[0]?.address),
      ['10.60.0.5/29', '10.60.0.6/29', '10.60.0.2/29', '10.60.0.3/29'],
    )
    assert.equal(take('e').msg, 'no IP addresses available in range set: 10.60.0.1-10.60.0.6')
    assert.match(take('a').msg ?? '', /duplicate allocation is not allowed/)
    bench.ok('host-local', 'DEL', settings, { id: 'b' })
    assert.equal(take('f').ips?.[0]?.address, '10.60.0.6/29')
    const valid = { ...settings, 'cni.dev/valid-attachments': [{ containerID: 'c', ifname: 'eth0' }] }
    bench.ok('host-local', 'GC', valid)
    bench.ok('host-local', 'CHECK', { ...settings, prevResult: {} }, { netns: '/x', id: 'c' })
    assert.equal(bench.call('host-local', 'CHECK', { ...settings, prevResult: {} }, { netns: '/x', id: 'd' }).exitCode, 1)
  })

  test('portmap: ports of the node lead to the container, from outside, from the node, from itself; DEL closes them', async () => {
    using bench = await openBench()
    bench.in(bench.node, 'ip', 'link', 'set', 'lo', 'up')
    const outside = bench.namespace('outside')
    const wire = `ip link add v0 type veth peer name eth0 netns ${outside}; ip address add 192.0.2.1/24 dev v0; ip link set v0 up`
    assert.ok(bench.in(bench.node, 'sh', '-ec', wire).ok)
    assert.ok(bench.in(outside, 'sh', '-ec', 'ip address add 192.0.2.2/24 dev eth0; ip link set eth0 up').ok)
    const netns = bench.namespace('server')
    const portMappings = [
      { hostPort: 8080, containerPort: 80, protocol: 'tcp' },
      { hostPort: 8081, containerPort: 80, protocol: 'tcp', hostIP: '192.0.2.1' },
    ]
    const settings = {
      ...conf(bench),
      runtimeConfig: { portMappings },
      plugins: [{ ...conf(bench), type: 'bridge' }, { type: 'portmap' }],
    }
    bench.ok('typernetes', 'ADD', settings, { netns })
    bench.in(netns, 'ip', 'link', 'set', 'lo', 'up')
    const web = join(bench.directory, 'web')
    await nodeFiles.makeDirectory(web)
    writeFileSync(join(web, 'hello'), 'hello')
    const server = spawnSync('nsenter', [`--net=${netns}`, 'busybox', 'httpd', '-p', '80', '-h', web])
    assert.equal(server.status, 0)
    try {
      const request = "printf 'GET /hello HTTP/1.0\\r\\n\\r\\n'"
      const asking = (place: string) => ['sh', '-c', `${request} | busybox nc -w 2 ${place} | grep -q hello`]
      assert.ok(bench.reaches(outside, ...asking('192.0.2.1 8080')), 'from outside')
      assert.ok(bench.reaches(outside, ...asking('192.0.2.1 8081')), 'from outside, at one address')
      assert.ok(bench.reaches(bench.node, ...asking('127.0.0.1 8080')), 'from the node, by loopback')
      assert.ok(bench.reaches(bench.node, ...asking('192.0.2.1 8080')), 'from the node')
      assert.ok(bench.reaches(netns, ...asking('10.60.0.1 8080')), 'from itself')
      assert.ok(!bench.in(bench.node, ...asking('127.0.0.1 8081')).ok, 'not at another address')
      const others = { ...settings, runtimeConfig: { portMappings: [{ hostPort: 9090, containerPort: 80 }] } }
      bench.ok('typernetes', 'ADD', others, { netns: bench.namespace('other'), id: 'c2' })
      assert.equal(
        bench.call('portmap', 'GC', { cniVersion: '1.1.0', 'cni.dev/valid-attachments': [{ containerID: 'c1', ifname: 'eth0' }] }).exitCode,
        0,
      )
      bench.ok('typernetes', 'DEL', settings, { netns })
      assert.ok(!bench.in(outside, ...asking('192.0.2.1 8080')).ok)
      assert.ok(!bench.in(bench.node, 'nft', 'list', 'table', 'inet', 'typernetes_hostports').output.includes('comment'))
    } finally {
      bench.in(netns, 'sh', '-c', `busybox pkill -f ${web}`)
    }
  })

  test('bandwidth: both directions are held to their rates, and the device goes with the container', async () => {
    using bench = await openBench()
    const netns = bench.namespace('slow')
    const limits = { ingressRate: 1_000_000, ingressBurst: 100_000, egressRate: 2_000_000, egressBurst: 100_000 }
    const settings = {
      ...conf(bench),
      runtimeConfig: { bandwidth: limits },
      plugins: [{ ...conf(bench), type: 'bridge' }, { type: 'bandwidth' }],
    }
    const before = linksOf(bench)
    const result = bench.ok('typernetes', 'ADD', settings, { netns })
    const rules = bench.in(bench.node, 'tc', 'qdisc').output
    assert.match(rules, /tbf .*dev veth\w+ .*rate 1Mbit/)
    assert.match(rules, /tbf .*dev bwp\w+ .*rate 2Mbit/)
    assert.ok(bench.reaches(netns, 'busybox', 'ping', '-c', '1', '-W', '2', '10.60.0.1'))
    bench.ok('typernetes', 'CHECK', { ...settings, prevResult: result }, { netns })
    bench.ok('typernetes', 'DEL', settings, { netns })
    assert.deepEqual(
      linksOf(bench).filter((name) => name !== 'cni0'),
      before,
    )
  })

  test('loopback is brought up; flannel makes a bridge of what subnet.env says', async () => {
    using bench = await openBench()
    const netns = bench.namespace('one')
    bench.ok('loopback', 'ADD', { cniVersion: '1.0.0' }, { netns, ifName: 'lo' })
    assert.ok(bench.reaches(netns, 'busybox', 'ping', '-c', '1', '-W', '2', '127.0.0.1'))
    const subnetFile = join(bench.directory, 'subnet.env')
    const settings = {
      cniVersion: '1.0.0',
      subnetFile,
      dataDir: join(bench.directory, 'flannel'),
      delegate: { isDefaultGateway: true, hairpinMode: true },
      ipam: { dataDir: join(bench.directory, 'addresses') },
    }
    assert.equal(bench.call('flannel', 'ADD', settings, { netns }).answer.code, 11)
    writeFileSync(subnetFile, 'FLANNEL_NETWORK=10.61.0.0/16\nFLANNEL_SUBNET=10.61.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n')
    const result = bench.ok('flannel', 'ADD', settings, { netns })
    assert.equal(result.ips?.[0]?.address, '10.61.3.2/24')
    assert.match(bench.in(netns, 'ip', 'link', 'show', 'eth0').output, /mtu 1450/)
    assert.match(bench.in(netns, 'ip', 'route').output, /default via 10\.61\.3\.1/)
    bench.ok('flannel', 'CHECK', { ...settings, prevResult: result }, { netns })
    bench.ok('flannel', 'DEL', settings, { netns })
    assert.ok(!bench.in(netns, 'ip', 'link', 'show', 'eth0').ok)
  })
})
