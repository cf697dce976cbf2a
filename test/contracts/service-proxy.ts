/** What every mode of the service proxy promises, over real connections between network namespaces. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { V1Endpoint, V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { NetworkWorld } from '../support/network-world.ts'

export type Harness = AsyncDisposable & {
  set(service: V1Service, slices: V1EndpointSlice[]): Promise<void>
  remove(service: V1Service): Promise<void>
  /** Another run takes over what this one leaves. */
  restart(): Promise<void>
}

export type Abilities = {
  /** Whether endpoints see who really asks. */
  keepsSource: boolean
  hasSourceRanges: boolean
  hasIpv6: boolean
  /** Whether connections that are open outlive the process. */
  outlivesRestart: boolean
}

const pods = ['a', 'b', 'c'] as const
const allowedMs = 60_000
const refusedMs = 1200
const far = '10.244.2.11'

export function serviceProxyContract(
  name: string,
  { start, abilities, skip }: { start(world: NetworkWorld): Promise<Harness>; abilities: Abilities; skip: string | false },
): void {
  describe(`service proxy: ${name}`, { skip }, () => {
    let world: NetworkWorld
    let proxy: Harness
    let used = 0
    before(async () => {
      world = await NetworkWorld.start({ pods })
      for (const each of [...pods, 'far']) {
        for (const host of ['0.0.0.0', '::1']) {
          if (host === '::1') continue
          await world.tell(each, { op: 'listen', protocol: 'UDP', port: 8053, host })
        }
        await world.tell(each, { op: 'listen', protocol: 'TCP', port: 8080 })
      }
      proxy = await start(world)
    })
    after(async () => {
      await proxy?.[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
    })

    const at = (pod: string, more: Partial<V1Endpoint> = {}): V1Endpoint =>
      pod === 'far' ? { addresses: [far], nodeName: 'n2', ...more } : { addresses: [world.podIp(pod)], nodeName: 'n1', ...more }
    const ask = (from: string, host: string, port = 80, timeoutMs = allowedMs) =>
      world.tell(from, { op: 'ask', protocol: 'TCP', host, port, timeoutMs })
    const who = async (from: string, host: string, port = 80) => (await ask(from, host, port)).split(' ')[0]
    const slices = (service: string, endpoints: V1Endpoint[], protocol = 'TCP'): V1EndpointSlice[] => [
      {
        metadata: { namespace: 'default', name: `${service}-1`, labels: { 'kubernetes.io/service-name': service } },
        addressType: 'IPv4',
        endpoints,
        ports: [{ name: '', port: protocol === 'TCP' ? 8080 : 8053, protocol }],
      },
    ]
    /** A service of its own for each test. */
    const serve = async (spec: V1ServiceSpec, endpoints: V1Endpoint[], more: Partial<V1Service> = {}) => {
      const number = ++used
      const protocol = spec.ports?.[0]?.protocol ?? 'TCP'
      const clusterIP = `10.96.0.${number}`
      const service: V1Service = {
        metadata: { namespace: 'default', name: `s${number}` },
        spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol }], ...spec },
        ...more,
      }
      const set = (next: V1Endpoint[]) => proxy.set(service, slices(`s${number}`, next, protocol))
      await set(endpoints)
      return { ip: clusterIP, service, set, nodePort: spec.ports?.[0]?.nodePort ?? 0 }
    }

    test('a cluster address leads pods and the node to all endpoints', async () => {
      const { ip } = await serve({}, [at('b'), at('c'), at('far')])
      for (const from of ['a', 'node']) {
        const counts = await world.tell<Record<string, number>>(from, {
          ...{ op: 'askMany', host: ip, port: 80, count: 90, atOnce: 4, timeoutMs: allowedMs },
        })
        const names = new Set(Object.keys(counts).map((answer) => answer.split(' ')[0]))
        assert.deepEqual(names, new Set(['b', 'c', 'far']), `from ${from}: ${JSON.stringify(counts)}`)
      }
      if (abilities.keepsSource)
        assert.match(await ask('a', ip), new RegExp(`^(b|c|far) ${world.podIp('a')}$`), 'a pod shows its own address')
    })

    test('a pod reaches itself through its service', async () => {
      const { ip } = await serve({}, [at('a')])
      assert.equal(await who('a', ip), 'a')
    })

    test('node ports answer outside, on the node and to pods', async () => {
      const { nodePort } = await serve({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_081 }] }, [at('b')])
      for (const from of ['far', 'node', 'a']) assert.equal(await who(from, '192.0.2.1', nodePort), 'b', `from ${from}`)
      assert.equal(await ask('far', '192.0.2.1', 30_999), 'ECONNREFUSED', 'a port that no service has')
    })

    test('addresses of load balancers and outside addresses lead in', async () => {
      const status = { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } }
      await serve({ type: 'LoadBalancer', externalIPs: ['203.0.113.9'], ports: [{ port: 80, nodePort: 30_082 }] }, [at('b')], { status })
      world.run('ip', ['route', 'replace', '198.51.100.7/32', 'via', '192.0.2.1'], 'far')
      world.run('ip', ['route', 'replace', '203.0.113.9/32', 'via', '192.0.2.1'], 'far')
      for (const from of ['far', 'a', 'node']) {
        assert.equal(await who(from, '198.51.100.7'), 'b', `the balancer's from ${from}`)
        assert.equal(await who(from, '203.0.113.9'), 'b', `the outside one from ${from}`)
      }
    })

    test('a load balancer lets in only those in its ranges', {
      skip: !abilities.hasSourceRanges && 'this mode has no source ranges',
    }, async () => {
      const status = { loadBalancer: { ingress: [{ ip: '198.51.100.8' }] } }
      const spec = {
        type: 'LoadBalancer',
        ports: [{ port: 80, nodePort: 30_083 }],
        loadBalancerSourceRanges: ['192.0.2.2/32', '192.0.2.0/29'],
      }
      await serve(spec, [at('b')], { status })
      world.run('ip', ['route', 'replace', '198.51.100.8/32', 'via', '192.0.2.1'], 'far')
      assert.equal(await who('far', '198.51.100.8'), 'b')
      assert.match(await ask('a', '198.51.100.8', 80, refusedMs), /^(timeout|closed)$/, 'a pod is not in the range')
      assert.equal(await who('a', '192.0.2.1', 30_083), 'b', 'the node port has no ranges')
    })

    test('a client stays with its endpoint where the service says so', async () => {
      const { ip } = await serve({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 3600 } } }, [
        ...[at('a'), at('b'), at('c')],
      ])
      const first = await who('c', ip)
      const counts = await world.tell<Record<string, number>>('c', {
        ...{ op: 'askMany', host: ip, port: 80, count: 20, atOnce: 2, timeoutMs: allowedMs },
      })
      assert.deepEqual(new Set(Object.keys(counts).map((answer) => answer.split(' ')[0])), new Set([first]))
      if (abilities.outlivesRestart) {
        await proxy.restart()
        for (let round = 0; round < 8; round++) assert.equal(await who('c', ip), first, 'after a restart too')
      }
    })

    test('the internal policy Local keeps to the node, and drops where it has none', async () => {
      const { ip, set } = await serve({ internalTrafficPolicy: 'Local' }, [at('b'), at('far')])
      for (let round = 0; round < 10; round++) assert.equal(await who('a', ip), 'b')
      await set([at('far')])
      assert.match(await ask('a', ip, 80, refusedMs), /^(timeout|closed)$/)
    })

    test('the external policy Local keeps to the node and shows who asks; those inside go anywhere', async () => {
      const spec = { type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30_084 }] }
      const { ip, set } = await serve(spec, [at('b'), at('far')])
      for (let round = 0; round < 10; round++) {
        const [name, client] = (await ask('far', '192.0.2.1', 30_084)).split(' ')
        assert.equal(name, 'b')
        if (abilities.keepsSource) assert.equal(client, '192.0.2.2')
      }
      await set([at('far')])
      assert.match(await ask('far', '192.0.2.1', 30_084, refusedMs), /^(timeout|closed)$/, 'nobody here')
      if (abilities.keepsSource) assert.equal(await who('a', '192.0.2.1', 30_084), 'far', 'a pod goes anywhere')
      assert.equal(await who('a', ip), 'far')
    })

    test('a service without endpoints refuses', async () => {
      const { ip, nodePort, set } = await serve({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_085 }] }, [])
      assert.equal(await ask('a', ip), 'ECONNREFUSED')
      assert.equal(await ask('node', ip), 'ECONNREFUSED')
      assert.equal(await ask('far', '192.0.2.1', nodePort), 'ECONNREFUSED')
      await set([at('b')])
      assert.equal(await who('a', ip), 'b', 'and answers as soon as it has one')
      assert.equal(await who('far', '192.0.2.1', nodePort), 'b')
      await set([])
      assert.equal(await ask('a', ip), 'ECONNREFUSED')
    })

    test('endpoints that end answer while there is no other', async () => {
      const ending = { conditions: { ready: false, serving: true, terminating: true } }
      const { ip, set } = await serve({}, [at('b', ending)])
      assert.equal(await who('a', ip), 'b')
      await set([at('b', ending), at('c')])
      for (let round = 0; round < 10; round++) assert.equal(await who('a', ip), 'c')
    })

    test('datagrams arrive, and go elsewhere when their endpoint goes', async () => {
      const { ip, set } = await serve({ ports: [{ port: 53, protocol: 'UDP', nodePort: 30_053 }], type: 'NodePort' }, [at('b')])
      // The same port each time: what the kernel remembers of the last conversation must not count.
      const askUdp = (localPort: number, host = ip, port = 53, from = 'a') =>
        world.tell(from, { op: 'ask', protocol: 'UDP', host, port, timeoutMs: allowedMs, localPort })
      assert.match(await askUdp(40_001), /^b /)
      assert.match(await askUdp(40_002, '192.0.2.1', 30_053, 'far'), /^b /)
      await set([at('c')])
      assert.match(await askUdp(40_001), /^c /)
      assert.match(await askUdp(40_002, '192.0.2.1', 30_053, 'far'), /^c /)
    })

    test('datagrams arrive however many endpoints there are', async () => {
      const all = [at('a'), at('b'), at('c')]
      const { ip, set } = await serve({ ports: [{ port: 53, protocol: 'UDP' }] }, [])
      for (let count = 1; count <= all.length; count++) {
        await set(all.slice(0, count))
        const answer = await world.tell('node', {
          op: 'ask',
          protocol: 'UDP',
          host: ip,
          port: 53,
          timeoutMs: allowedMs,
          localPort: 41_000 + count,
        })
        assert.match(String(answer), /^[abc] /, `${count} endpoints`)
      }
    })

    test('both families at once', { skip: !abilities.hasIpv6 && 'this mode has IPv4 only' }, async () => {
      const number = ++used
      const clusterIPs = [`10.96.0.${number}`, `fd96::${number}`]
      const service: V1Service = {
        metadata: { namespace: 'default', name: `s${number}` },
        spec: { clusterIP: clusterIPs[0] ?? '', clusterIPs, ports: [{ port: 80, nodePort: 30_086 }], type: 'NodePort' },
      }
      const labels = { 'kubernetes.io/service-name': `s${number}` }
      const six: V1EndpointSlice = {
        metadata: { namespace: 'default', name: `s${number}-6`, labels },
        ...{ addressType: 'IPv6', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
        endpoints: [
          { addresses: [world.podIp6('b')], nodeName: 'n1' },
          { addresses: [world.podIp6('a')], nodeName: 'n1' },
        ],
      }
      await proxy.set(service, [...slices(`s${number}`, [at('c')]), six])
      assert.equal(await who('a', clusterIPs[0] ?? ''), 'c')
      for (let round = 0; round < 10; round++) assert.match((await who('a', clusterIPs[1] ?? '')) ?? '', /^[ab]$/, 'a may reach itself')
      assert.match((await who('far', '2001:db8::1', 30_086)) ?? '', /^[ab]$/)
    })

    test('no connection fails while endpoints come and go', async () => {
      const { ip, set } = await serve({}, [at('b'), at('c')])
      await world.tell('a', { op: 'load', host: ip, port: 80, timeoutMs: allowedMs })
      await world.tell('node', { op: 'load', host: ip, port: 80, timeoutMs: allowedMs })
      for (let round = 0; round < 8; round++) {
        await set([at('c'), at('far')])
        await set([at('b')])
        await set([at('b'), at('c'), at('far')])
      }
      for (const from of ['a', 'node']) {
        const counts = await world.tell<Record<string, number>>(from, { op: 'endLoad' })
        const failed = Object.entries(counts).filter(([answer]) => !/^(b|c|far) /.test(answer))
        assert.deepEqual(failed, [], `from ${from}`)
        assert.ok(Object.keys(counts).length > 0)
      }
    })

    test('no connection fails and none is cut while the proxy restarts', {
      skip: !abilities.outlivesRestart && 'connections go through the process in this mode, and end with it',
    }, async () => {
      const { ip } = await serve({}, [at('b'), at('c')])
      assert.match(await world.tell('c', { op: 'hold', host: ip, port: 80, timeoutMs: allowedMs }), /^[bc] /)
      await world.tell('a', { op: 'load', host: ip, port: 80, timeoutMs: allowedMs })
      for (let round = 0; round < 5; round++) await proxy.restart()
      const counts = await world.tell<Record<string, number>>('a', { op: 'endLoad' })
      assert.deepEqual(
        Object.entries(counts).filter(([answer]) => !/^[bc] /.test(answer)),
        [],
      )
      assert.equal(await world.tell('c', { op: 'prod' }), 'still there')
    })

    test('a service that is gone leads nowhere', async () => {
      const { ip, service } = await serve({}, [at('b')])
      assert.equal(await who('a', ip), 'b')
      await proxy.remove(service)
      assert.match(await ask('a', ip, 80, refusedMs), /^(timeout|EHOSTUNREACH|ENETUNREACH|ECONNREFUSED)$/)
    })
  })
}
