/** Policies over real connections, compared with what the pure evaluator says of them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { V1NetworkPolicy, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '#api/networking/v1/types.gen.ts'
import { nodeProcesses } from '#base/processes.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { compileCalicoPolicy, compileGlobalPolicy } from '#network/calico/compile-calico-policy.ts'
import type { CalicoNetworkPolicy } from '#network/calico/definitions.ts'
import { type CompiledPolicy, compilePolicy } from '#network/policy/compiled-policy.ts'
import { evaluateConnection, type Party } from '#network/policy/evaluate.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'
import { PolicyTable } from '#network/policy/policy-table.ts'
import { bringAbout, nftProgram } from '#wire/nftables/nft-program.ts'
import { NetworkWorld, whyNoNetworkWorld } from '../support/network-world.ts'

const podNames = ['a', 'b', 'c', 'd'] as const
const allowedMs = 60_000
const refusedMs = 800
const namespaces: Record<string, Record<string, string>> = { x: { team: 'red', 'kubernetes.io/metadata.name': 'x' }, y: { team: 'blue' } }
const labelsOf = (namespace: string) => namespaces[namespace] ?? {}
const seeds = Number(process.env['POLICY_SEEDS'] ?? 8)

describe('network policies', { skip: whyNoNetworkWorld('nft', 'conntrack') }, () => {
  let world: NetworkWorld
  let pods: Record<string, PolicyPod>
  before(async () => {
    world = await NetworkWorld.start({ pods: podNames })
    const pod = (name: string, namespace: string, labels: Record<string, string>, ips: string[], nodeName = 'n1'): PolicyPod => ({
      ...{ key: `${namespace}/${name}`, namespace, labels, ips, nodeName },
      namedPorts: [
        { name: 'web', protocol: 'TCP', port: name === 'a' ? 81 : 80 },
        { name: 'dns', protocol: 'UDP', port: 53 },
      ],
    })
    const ips = (name: string) => [world.podIp(name), world.podIp6(name)]
    pods = {
      a: pod('a', 'x', { app: 'a', tier: 'front', 'pcsa.team': 'red' }, ips('a')),
      b: pod('b', 'x', { app: 'b', tier: 'back' }, ips('b')),
      c: pod('c', 'y', { app: 'c', tier: 'front', 'pcsa.team': 'red' }, ips('c')),
      d: pod('d', 'y', { app: 'd' }, ips('d')),
      far: pod('far', 'y', { app: 'far', tier: 'back' }, ['10.244.2.11', 'fd44:2::11'], 'n2'),
    }
    for (const name of [...podNames, 'far']) {
      for (const port of [80, 81]) await world.tell(name, { op: 'listen', protocol: 'TCP', port })
      // Datagrams are answered from the address that the socket has.
      const hosts = name === 'far' ? ['10.244.2.11', '192.0.2.2'] : ['0.0.0.0']
      for (const host of hosts) await world.tell(name, { op: 'listen', protocol: 'UDP', port: 53, host })
    }
  })
  after(async () => world?.[Symbol.asyncDispose]())

  const nft = () => nftProgram(nodeProcesses, ['ip', 'netns', 'exec', world.namespace('node'), 'nft'])
  const aTable = (known: readonly string[] = Object.keys(pods)) => {
    const table = new PolicyTable('n1')
    table.setPodCidrs(['10.244.1.0/24', 'fd44:1::/64'])
    for (const [name, labels] of Object.entries(namespaces)) table.setNamespace(name, labels)
    for (const name of known) table.setPod(pods[name] as PolicyPod)
    table.setService('x/web', endpoints())
    return table
  }
  /** Of a service that Calico's policies name. */
  const endpoints = () => ['a', 'b'].flatMap((name) => (pods[name]?.ips ?? []).map((ip) => ({ ip, protocol: 'TCP', port: 80 })))
  const endpointsOf = (service: string) => (service === 'x/web' ? endpoints() : [])
  /** An answer that is awaited may take as long as it takes; one that is not, is not waited for. */
  const pings = async (from: string, to: string, isAwaited: boolean) => {
    const ping = ['busybox', 'ping', '-c', '1', '-W', isAwaited ? '5' : '1', to]
    for (const untilMs = Date.now() + (isAwaited ? allowedMs : 0); ; ) {
      if ((await nodeProcesses.run('ip', ['netns', 'exec', world.namespace(from), ...ping])).exitCode === 0) return true
      if (Date.now() >= untilMs) return false
    }
  }
  const inForce = (table: PolicyTable, isFull = true) => bringAbout(table.updated(), nft(), { isFull, keeps: () => false })

  /** Everybody with everybody, and those outside. */
  async function compare(compiled: readonly CompiledPolicy[], what: string, source: unknown): Promise<{ allowed: number; denied: number }> {
    world.run('conntrack', ['-F'])
    const parties: [name: string, place: string, party: Party][] = [
      ...Object.entries(pods).flatMap(([name, pod]) => pod.ips.map((ip): [string, string, Party] => [name, name, { ip, pod }])),
      ['outside', 'far', { ip: '192.0.2.2' }],
      ['outside6', 'far', { ip: '2001:db8::2' }],
    ]
    const counts = { allowed: 0, denied: 0 }
    const asked: Promise<void>[] = []
    for (const [fromName, fromPlace, from] of parties) {
      for (const [toName, toPlace, to] of parties) {
        if (from.ip.includes(':') !== to.ip.includes(':') || (fromPlace === 'far' && toPlace === 'far')) continue
        for (const [protocol, port] of [
          ['TCP', 80],
          ['TCP', 81],
          ['UDP', 53],
        ] as const) {
          if (to.ip.includes(':') && (protocol === 'UDP' || port === 81)) continue
          const verdict = evaluateConnection({ policies: compiled, labelsOf, endpointsOf }, { from, to, protocol, port })
          // What the other node does with its own pods is not seen here.
          const isAllowed = (fromPlace === 'far' || verdict.egress.isAllowed) && (toPlace === 'far' || verdict.ingress.isAllowed)
          counts[isAllowed ? 'allowed' : 'denied']++
          asked.push(
            world
              .tell(fromPlace, {
                ...{ op: 'ask', protocol, host: to.ip, port, timeoutMs: isAllowed ? allowedMs : refusedMs },
                ...(fromPlace === 'far' ? { localAddress: from.ip } : {}),
              })
              .then((answer) => {
                const why = `${what}: ${fromName} (${from.ip}) to ${toName} (${to.ip}) ${protocol} ${port}: ${verdict.egress.why}; ${verdict.ingress.why}\n${JSON.stringify(source)}`
                if (isAllowed) assert.match(answer, new RegExp(`^${toPlace} `), `allowed, but ${answer}: ${why}`)
                else assert.equal(answer, 'timeout', `denied, but ${answer}: ${why}`)
              }),
          )
        }
      }
    }
    const failures = (await Promise.allSettled(asked)).filter((result) => result.status === 'rejected')
    if (failures[0] !== undefined) throw failures[0].reason
    return counts
  }

  test('without policies everything goes, pods that are not known yet included', async () => {
    await inForce(aTable([]))
    const { denied } = await compare([], 'no policies', [])
    assert.equal(denied, 0)
  })

  test('policies made by chance are enforced as the evaluator says', { timeout: 600_000 }, async (context) => {
    let [allowed, denied] = [0, 0]
    const table = aTable()
    for (let seed = 1; seed <= seeds; seed++) {
      const policies = somePolicies(seededRandom(seed))
      for (const policy of policies) table.setPolicy(compilePolicy(policy))
      // Half of them as a difference from the last, half anew.
      await inForce(table, seed % 2 === 1)
      const counts = await compare(policies.map(compilePolicy), `seed ${seed}`, policies)
      allowed += counts.allowed
      denied += counts.denied
      for (const policy of policies) table.deletePolicy(compilePolicy(policy).key)
    }
    assert.ok(allowed > 20 && denied > 20, `${allowed} allowed, ${denied} denied`)
    context.diagnostic(`${seeds} seeds: ${allowed} connections allowed, ${denied} denied, all as evaluated`)
    await inForce(table, false)
    assert.deepEqual(
      (await nft().present('inet', 'kube-network-policy'))?.chains.toSorted(),
      ['forward', 'guard', 'ingress'],
      'nothing is left of them',
    )
  })

  test("Calico's policies made by chance are enforced in their order, with Kubernetes' among them, as the evaluator says", {
    timeout: 600_000,
  }, async (context) => {
    let [allowed, denied] = [0, 0]
    const table = aTable()
    for (let seed = 1; seed <= Math.ceil(seeds / 2); seed++) {
      const random = seededRandom(1000 + seed)
      const made = someCalicoPolicies(random)
      const policies = [
        ...made.map((policy) => ('namespace' in policy.metadata ? compileCalicoPolicy(policy) : compileGlobalPolicy(policy))),
        ...somePolicies(random).slice(0, 1).map(compilePolicy),
      ]
      for (const policy of policies) table.setPolicy(policy)
      await inForce(table, seed % 2 === 1)
      const counts = await compare(policies, `seed ${seed}`, made)
      allowed += counts.allowed
      denied += counts.denied
      for (const { key } of policies) table.deletePolicy(key)
    }
    assert.ok(allowed > 20 && denied > 20, `${allowed} allowed, ${denied} denied`)
    context.diagnostic(`${allowed} connections allowed, ${denied} denied, all as evaluated`)
    await inForce(table, false)
  })

  test('messages of ICMP are told apart by type and code', async () => {
    const table = aTable()
    const check = async (rule: object, isAllowed: boolean) => {
      const spec = { selector: "app == 'b'", order: 1, ingress: [{ action: 'Allow' as const, protocol: 'ICMP', ...rule }] }
      table.setPolicy(compileCalicoPolicy({ metadata: { namespace: 'x', name: 'ping' }, spec }))
      await inForce(table, false)
      assert.equal(await pings('a', world.podIp('b'), isAllowed), isAllowed, JSON.stringify(rule))
    }
    await inForce(table)
    await check({}, true)
    await check({ icmp: { type: 8, code: 0 } }, true)
    await check({ icmp: { type: 8, code: 1 } }, false)
    await check({ icmp: { type: 13 } }, false)
    await check({ notICMP: { type: 8 } }, false)
    await check({ notICMP: { type: 8, code: 1 } }, true)
    await check({ notICMP: { type: 8, code: 0 } }, false)
  })

  test('labels that change move pods in and out at once', async () => {
    const table = aTable()
    const policy = aPolicy({
      podSelector: { matchLabels: { app: 'b' } },
      ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'green' } } }] }],
    })
    table.setPolicy(compilePolicy(policy))
    await inForce(table)
    const ask = (timeoutMs: number) => world.tell('c', { op: 'ask', protocol: 'TCP', host: world.podIp('b'), port: 80, timeoutMs })
    assert.equal(await ask(refusedMs), 'timeout')
    table.setNamespace('y', { team: 'green' })
    await inForce(table, false)
    assert.match(await ask(allowedMs), /^b /)
    table.setPod({ ...(pods['b'] as PolicyPod), labels: { app: 'other' } })
    table.setNamespace('y', { team: 'blue' })
    await inForce(table, false)
    assert.match(await ask(allowedMs), /^b /, 'no longer selected')
  })

  test('a pod that starts is closed until its policies are known, and never open in between', async () => {
    const table = aTable(['a', 'c', 'd', 'far'])
    table.setPolicy(
      compilePolicy(
        aPolicy({ podSelector: { matchLabels: { app: 'b' } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'a' } } }] }] }),
      ),
    )
    await inForce(table)
    await world.tell('c', { op: 'load', host: world.podIp('b'), port: 80, timeoutMs: 500 })
    const ask = (from: string, to: string, timeoutMs: number) =>
      world.tell(from, { op: 'ask', protocol: 'TCP', host: to, port: 80, timeoutMs })
    assert.equal(await ask('a', world.podIp('b'), refusedMs), 'timeout', 'nobody knows b yet')
    assert.equal(await ask('b', world.podIp('a'), refusedMs), 'timeout', 'nor does it get out')
    table.setPod(pods['b'] as PolicyPod)
    await inForce(table, false)
    assert.match(await ask('a', world.podIp('b'), allowedMs), /^b /)
    assert.match(await ask('b', world.podIp('a'), allowedMs), /^a /)
    const counts = await world.tell<Record<string, number>>('c', { op: 'endLoad' })
    assert.deepEqual(Object.keys(counts), ['timeout'], 'c was never let in')
    assert.match(await ask('node', world.podIp('b'), allowedMs), /^b /, 'its own node is')
  })

  test('while the agent restarts nothing opens and nothing is cut', async () => {
    const policy = aPolicy({
      podSelector: { matchLabels: { app: 'b' } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'a' } } }] }],
    })
    const start = () => {
      const table = aTable()
      table.setPolicy(compilePolicy(policy))
      return inForce(table)
    }
    await start()
    assert.match(await world.tell('a', { op: 'hold', host: world.podIp('b'), port: 80, timeoutMs: allowedMs }), /^b /)
    await world.tell('a', { op: 'load', host: world.podIp('b'), port: 80, timeoutMs: allowedMs })
    await world.tell('c', { op: 'load', host: world.podIp('b'), port: 80, timeoutMs: 400 })
    for (let round = 0; round < 10; round++) await start()
    const [allowed, denied] = await Promise.all(['a', 'c'].map((name) => world.tell<Record<string, number>>(name, { op: 'endLoad' })))
    assert.deepEqual(Object.keys(allowed ?? {}), [`b ${world.podIp('a')}`])
    assert.deepEqual(Object.keys(denied ?? {}), ['timeout'])
    assert.equal(await world.tell('a', { op: 'prod' }), 'still there')
  })
})

function aPolicy(spec: V1NetworkPolicy['spec'], name = 'p', namespace = 'x'): V1NetworkPolicy {
  return { metadata: { namespace, name }, spec: { policyTypes: ['Ingress'], ...spec } }
}

function somePolicies(random: Random): V1NetworkPolicy[] {
  const one = <T>(choices: readonly T[]): T => choices[random.int(choices.length)] as T
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: random.int(most + 1) }, make)
  const selector = () =>
    one([
      {},
      { matchLabels: { app: one(['a', 'b', 'c', 'd', 'far']) } },
      { matchLabels: { tier: one(['front', 'back']) } },
      { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [one(['a', 'b', 'c'])] }] },
    ])
  const spaces = () => one([{}, { matchLabels: { team: one(['red', 'blue']) } }])
  const block = () =>
    one([
      { cidr: '10.244.0.0/16', except: ['10.244.1.12/32'] },
      { cidr: '10.244.1.0/28', except: ['10.244.1.11/32', '10.244.1.8/30'] },
      { cidr: '192.0.2.0/24' },
      { cidr: '0.0.0.0/0', except: ['192.0.2.0/25'] },
      { cidr: 'fd44::/16', except: ['fd44:1::12/127'] },
      { cidr: '2001:db8::/32' },
    ])
  const peer = (): V1NetworkPolicyPeer =>
    one([
      () => ({ podSelector: selector() }),
      () => ({ namespaceSelector: spaces() }),
      () => ({ namespaceSelector: spaces(), podSelector: selector() }),
      () => ({ ipBlock: block() }),
    ])()
  const port = (): V1NetworkPolicyPort =>
    one<V1NetworkPolicyPort>([
      { protocol: 'TCP', port: 80 },
      { protocol: 'TCP', port: 81 },
      { protocol: 'TCP', port: 79, endPort: 80 },
      { protocol: 'TCP', port: 'web' },
      { protocol: 'UDP', port: 'dns' },
      { protocol: 'UDP' },
      { protocol: 'TCP' },
      { protocol: 'SCTP', port: 80 },
    ])
  const rules = () => some(2, () => ({ peers: some(3, peer), ports: some(2, port) }))
  return Array.from({ length: 1 + random.int(3) }, (_, index) => {
    const policyTypes = one([['Ingress'], ['Egress'], ['Ingress', 'Egress']])
    return aPolicy(
      {
        podSelector: selector(),
        policyTypes,
        ingress: rules().map(({ peers, ports }) => ({ from: peers, ports })),
        ...(policyTypes.includes('Egress') ? { egress: rules().map(({ peers, ports }) => ({ to: peers, ports })) } : {}),
      },
      `p${index}`,
      one(['x', 'y']),
    )
  })
}

/** Two or three, some of the whole cluster, that allow and deny by all that rules may say. */
function someCalicoPolicies(random: Random): CalicoNetworkPolicy[] {
  const one = <T>(choices: readonly T[]): T => choices[random.int(choices.length)] as T
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: random.int(most + 1) }, make)
  const selector = () =>
    one(['all()', "app == 'a'", "tier in {'front'}", 'has(tier)', "app not in {'a', 'b'}", "projectcalico.org/namespace == 'y'"])
  const side = () => ({
    ...one([{}, {}, { selector: selector() }, { notSelector: selector() }, { namespaceSelector: "projectcalico.org/name == 'x'" }]),
    ...one([{}, {}, { nets: ['10.244.1.0/28', 'fd44::/16'] }, { notNets: ['10.244.1.11/32', '192.0.2.0/24'] }]),
    ...one([{}, {}, {}, { serviceAccounts: { selector: "team == 'red'" } }, { services: { name: 'web', namespace: 'x' } }]),
  })
  const rule = () => {
    const protocol = one(['TCP', 'UDP', undefined])
    const ports = protocol === undefined ? {} : one([{}, { ports: [80] }, { ports: ['web', '53:60'] }, { notPorts: ['80:80'] }])
    return {
      action: one(['Allow', 'Allow', 'Deny', 'Log'] as const),
      ...(protocol === undefined ? one([{}, { notProtocol: 'TCP' }]) : { protocol }),
      source: side(),
      destination: { ...side(), ...ports },
    }
  }
  return Array.from({ length: 2 + random.int(2) }, (_, index) => ({
    metadata: { name: `c${index}`, ...one([{}, { namespace: 'x' }, { namespace: 'y' }]) },
    spec: {
      ...one([{}, { order: 10 }, { order: 2000 }]),
      selector: selector(),
      types: one([['Ingress'], ['Egress'], ['Ingress', 'Egress']] as const).slice(),
      ingress: some(3, rule),
      egress: some(3, rule),
    },
  }))
}
