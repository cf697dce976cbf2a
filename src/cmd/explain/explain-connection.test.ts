import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod, V1Service, V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { type ClusterObjects, explainConnection } from '#cmd/explain/explain-connection.ts'
import { parseConnection } from '#cmd/explain/parse-connection.ts'

const aPod = (name: string, ip: string, nodeName = 'n1', more: Partial<V1Pod> = {}): V1Pod => ({
  metadata: { namespace: 'default', name, labels: { app: name } },
  spec: { nodeName, containers: [{ name: 'c', ports: [{ name: 'http', containerPort: 8080 }] }] },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] },
  ...more,
})
const aService = (spec: V1ServiceSpec): V1Service => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }], ...spec },
})
const aSlice = (pods: V1Pod[]): V1EndpointSlice => ({
  metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  ...{ addressType: 'IPv4', ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
  endpoints: pods.map(({ metadata, spec, status }) => ({
    addresses: [status?.podIP ?? ''],
    ...defined({ nodeName: spec.nodeName }),
    targetRef: { kind: 'Pod', name: metadata.name ?? '', namespace: 'default' },
  })),
})
const client = aPod('client', '10.1.0.1')
const web = aPod('web', '10.1.0.2')
const far = aPod('web2', '10.2.0.2', 'n2', { metadata: { namespace: 'default', name: 'web2', labels: { app: 'web' } } })

function explain(words: string, given: Partial<ClusterObjects> = {}) {
  const objects: ClusterObjects = {
    services: [aService({})],
    slices: [aSlice([web])],
    pods: [client, web, far],
    namespaces: ['default', 'shop', 'kube-system'].map((name) => ({ metadata: { name }, spec: {} })),
    policies: [],
    nodeLabels: new Map(),
    ...given,
  }
  return explainConnection(parseConnection([words], 'default', 'TCP'), objects)
}

test('a connection that works says where it leads', () => {
  const { works, because, steps } = explain('client → web:80')
  assert.equal(works, 'yes')
  assert.equal(because, 'it leads to pod default/web, and no policy stands in the way')
  assert.deepEqual(steps.slice(0, 3), [
    'pod default/client is on node n1 and has the address 10.1.0.1',
    'the name web is web.default.svc.cluster.local: 10.96.0.1',
    'service default/web:http has the address 10.96.0.1, port 80/TCP',
  ])
})

test('what is missing is named: the pod, the service, the port', () => {
  assert.equal(explain('nobody -> web:80').because, 'there is no pod default/nobody')
  assert.equal(explain('client web.shop:80').because, 'there is no service shop/web')
  assert.equal(explain('client web:81').because, 'service default/web has no port 81/TCP; it has http 80/TCP')
  assert.equal(explain('client web:http').works, 'yes')
})

test('a service without endpoints says why it has none', () => {
  const slices = [aSlice([])]
  assert.equal(
    explain('client web:80', { slices, pods: [client] }).because,
    'service default/web has no endpoints: its selector app=web selects no pod',
  )
  const waiting = { ...web, status: { phase: 'Pending' } }
  assert.equal(
    explain('client web:80', { slices, pods: [client, waiting] }).because,
    'service default/web has no endpoints: its selector app=web selects one pod, none of them ready: web (Pending)',
  )
})

test('policies of traffic that keep to the node are named', () => {
  const { works, because } = explain('client web:80', { services: [aService({ internalTrafficPolicy: 'Local' })], slices: [aSlice([far])] })
  assert.equal(works, 'no')
  assert.match(because, /internalTrafficPolicy Local, and none of its 1 endpoints is on node n1/)
})

test('the policy that decides is named, and that only some endpoints are closed', () => {
  const policy = (podSelector: object) => ({
    metadata: { namespace: 'default', name: 'deny' },
    spec: { podSelector, policyTypes: ['Ingress'] },
  })
  const all = explain('client web:80', { policies: [policy({ matchLabels: { app: 'web' } })] })
  assert.equal(all.works, 'no')
  assert.equal(all.because, 'pod default/web is isolated for ingress by NetworkPolicy default/deny, and no rule allows it')
  const other = aPod('other', '10.1.0.9')
  const some = explain('client web:80', {
    ...{ pods: [client, web, other], slices: [aSlice([web, other])], policies: [policy({ matchLabels: { app: 'other' } })] },
  })
  assert.equal(some.works, 'sometimes')
  assert.match(some.because, /^1 of 2 endpoints are closed to it: pod default\/other is isolated/)
})

test('pods, addresses, headless services and names for names', () => {
  assert.equal(explain('client pod/web:http').works, 'yes')
  assert.equal(explain('client 10.96.0.1:80').because, 'it leads to pod default/web, and no policy stands in the way')
  assert.equal(explain('client 192.0.2.1:443').works, 'yes')
  assert.match(explain('client web:80', { services: [aService({ clusterIP: 'None', clusterIPs: ['None'] })] }).steps[2] ?? '', /headless/)
  const named = explain('client web:80', { services: [aService({ type: 'ExternalName', externalName: 'example.org' })] })
  assert.match(named.because, /is a name for example.org/)
})

const kubeDns: V1Service = {
  metadata: { namespace: 'kube-system', name: 'kube-dns' },
  spec: { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
}
const kubeDnsSlice = (nodeName?: string): V1EndpointSlice => ({
  metadata: { namespace: 'kube-system', name: 'kube-dns', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
  ...{ addressType: 'IPv4', ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] },
  endpoints: [{ addresses: ['172.30.0.1'], ...defined({ nodeName }) }],
})

test('names are resolved as the pod would: by its search path, to services, endpoints and addresses of pods', () => {
  for (const name of ['web', 'web.default', 'web.default.svc', 'web.default.svc.cluster.local', 'web.default.svc.cluster.local.']) {
    assert.equal(explain(`client ${name}:80`).works, 'yes', name)
  }
  assert.match(explain('client 10-1-0-2.default.pod:8080').because, /^it leads to pod default\/web/)
  assert.match(explain('client example.org:443').because, /^example.org is not a name of the cluster/)
  const headless = explain('client web.default.svc:80', {
    services: [aService({ clusterIP: 'None', clusterIPs: ['None'] })],
    slices: [aSlice([])],
    pods: [client],
  })
  assert.match(headless.because, /has no endpoints/)
  const far = aPod('client', '10.1.0.1', 'n1', { spec: { nodeName: 'n1', dnsPolicy: 'Default', containers: [] } })
  assert.match(explain('client web:80', { pods: [far, web] }).because, /has dnsPolicy Default: it does not ask/)
})

test('a policy that keeps a pod from the name server is named; the usual rule for kube-dns lets it ask', () => {
  const egress = (...rules: object[]) => [
    {
      metadata: { namespace: 'default', name: 'out' },
      spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }] }, ...rules] },
    },
  ]
  const services = [aService({}), kubeDns]
  const slices = [aSlice([web]), kubeDnsSlice()]
  const closed = explain('client web:80', { services, slices, policies: egress() })
  assert.match(closed.because, /^no name is resolved, the name server may not be asked: pod default\/client is isolated for egress/)
  assert.equal(explain('client service/web:80', { services, slices, policies: egress() }).works, 'yes', 'no name is asked for')
  const usual = {
    to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
    ports: [{ port: 53, protocol: 'UDP' }],
  }
  assert.equal(explain('client web:80', { services, slices, policies: egress(usual) }).works, 'yes')
  const own = [aSlice([web]), kubeDnsSlice('n1')]
  assert.equal(explain('client web:80', { services, slices: own, policies: egress() }).works, 'yes', 'it is on the own node')
})

test('what cannot be understood is said', () => {
  assert.throws(() => parseConnection(['a'], 'default', 'TCP'), /say from which pod to where/)
  assert.throws(() => parseConnection(['a', 'web'], 'default', 'TCP'), /web has no port/)
  assert.throws(() => parseConnection(['a', 'web:80'], 'default', 'ICMP'), /is not a valid protocol/)
})
