import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { type DnsSettings, parseResolvConf, podDns } from '#kubelet/environment/pod-dns.ts'
import type { DnsPlan } from '#kubelet/runtimes/plans.ts'

const nodeFile = `# made by somebody
nameserver 192.0.2.53
nameserver 192.0.2.54
search lost.example
search corp.example. example .
options timeout:2 attempts:3
options timeout:5
`
const settings: DnsSettings = { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local', resolvConf: '/etc/resolv.conf' }
const node: DnsPlan = { servers: ['192.0.2.53', '192.0.2.54'], searches: ['corp.example', 'example'], options: ['timeout:5', 'attempts:3'] }
const cluster: DnsPlan = {
  servers: ['10.96.0.10'],
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example', 'example'],
  options: ['ndots:5'],
}

const aPod = (spec: Partial<V1PodSpec>): V1Pod =>
  ({ metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, spec: { containers: [], ...spec } }) as unknown as V1Pod

test("the node's file is read as resolvers read it", () => {
  assert.deepEqual(parseResolvConf(nodeFile), node)
  assert.throws(() => parseResolvConf('nameserver'), /nameserver list is empty/)
})

const cases: [spec: Partial<V1PodSpec>, plan: DnsPlan][] = [
  [{}, cluster],
  [{ dnsPolicy: 'ClusterFirst' }, cluster],
  [{ dnsPolicy: 'ClusterFirst', hostNetwork: true }, node],
  [{ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, cluster],
  [{ dnsPolicy: 'Default' }, node],
  [{ dnsPolicy: 'None' }, { servers: [], searches: [], options: [] }],
  [
    {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1.1.1.1'], searches: ['x'], options: [{ name: 'ndots', value: '2' }, { name: 'debug' }] },
    },
    { servers: ['1.1.1.1'], searches: ['x'], options: ['ndots:2', 'debug'] },
  ],
  [
    { dnsConfig: { nameservers: ['10.96.0.10', '1.1.1.1'], searches: ['cluster.local', 'x'], options: [{ name: 'ndots', value: '1' }] } },
    { servers: ['10.96.0.10', '1.1.1.1'], searches: [...cluster.searches, 'x'], options: ['ndots:1'] },
  ],
]

for (const [spec, plan] of cases) {
  test(`names are looked up as ${JSON.stringify(spec)} says`, () => {
    assert.deepEqual(podDns(aPod(spec), settings, nodeFile, ['192.0.2.1']), { plan, warnings: [] })
  })
}

test("without the cluster's servers a pod gets the node's, and is told so", () => {
  const { plan, warnings } = podDns(aPod({}), { ...settings, clusterDns: [] }, nodeFile, ['192.0.2.1'])
  assert.deepEqual(plan, node)
  const what =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.'
  assert.deepEqual(warnings, [{ reason: 'MissingClusterDNS', message: `pod: "web_shop(u1)". ${what}` }])
})

test('a node without a file has pods ask themselves', () => {
  const { plan } = podDns(aPod({ dnsPolicy: 'Default' }), { ...settings, resolvConf: '' }, '', ['192.0.2.1', 'fd00::1'])
  assert.deepEqual(plan, { servers: ['127.0.0.1', '::1'], searches: ['.'], options: [] })
})

test('what resolvers cannot take is left out, and told', () => {
  const searches = Array.from({ length: 40 }, (_, index) => `s${index}.example`)
  const { plan, warnings } = podDns(
    aPod({ dnsPolicy: 'None', dnsConfig: { nameservers: ['1', '2', '3', '4'], searches } }),
    settings,
    nodeFile,
    [],
  )
  assert.deepEqual(plan, { servers: ['1', '2', '3'], searches: searches.slice(0, 32), options: [] })
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.slice(0, 32).join(' ')}`,
    ],
  )
  const wide = Array.from({ length: 20 }, (_, index) => `${index}${'x'.repeat(120)}`)
  assert.equal(podDns(aPod({ dnsPolicy: 'None', dnsConfig: { searches: wide } }), settings, nodeFile, []).plan.searches.length, 16)
  assert.deepEqual(
    podDns(aPod({ dnsPolicy: 'None', dnsConfig: { searches: ['a', 'x'.repeat(254)] } }), settings, nodeFile, []).plan.searches,
    ['a'],
  )
})
