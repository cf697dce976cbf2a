import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#api/resource.ts'
import { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { DynamicView } from '#apiserver/cluster-view/dynamic-view.ts'
import { ServiceRoutes, type ServiceRoutesOptions } from '#apiserver/webhooks/service-routes.ts'
import { seededRandom } from '#base/random.ts'

type Fake = { objects: Record<string, object>; slices?: object[] }

function routes({ objects, slices = [] }: Fake, more: Partial<ServiceRoutesOptions> = {}) {
  const cluster = new ClusterView({
    get: (_group: string, resource: string, namespace: string, name: string) => objects[`${resource}/${namespace}/${name}`],
    onChange(_group: string, _resource: string, callback: (object: KubernetesObject, isDeleted: boolean) => void) {
      for (const slice of slices) callback(slice as KubernetesObject, false)
      return { [Symbol.dispose]() {} }
    },
  } as Partial<DynamicView> as DynamicView)
  return new ServiceRoutes({
    cluster: () => cluster,
    random: seededRandom(1),
    endpointsOnly: false,
    isSimulated: (node) => node.startsWith('sim'),
    ownAddress: () => '127.0.0.1:6443',
    ...more,
  })
}

const service = (spec: object) => ({ spec: { type: 'ClusterIP', ports: [{ name: 'https', port: 443, targetPort: 8443 }], ...spec } })
const slice = (name: string, endpoints: object[], more: object = {}) => ({
  metadata: { namespace: 'ns', name, labels: { 'kubernetes.io/service-name': 'hook' } },
  addressType: 'IPv4',
  endpoints,
  ports: [{ name: 'https', port: 8443 }],
  ...more,
})
const reference = { namespace: 'ns', name: 'hook', port: 443 }
const pod = (name: string) => ({ kind: 'Pod', namespace: 'ns', name })

test('a service is reached at a ready pod, at the port the pod listens on', async () => {
  const found = routes({
    objects: { 'services/ns/hook': service({}) },
    slices: [
      slice('a', [
        { addresses: ['10.0.0.1'], conditions: { ready: false } },
        { addresses: ['10.0.0.2'], conditions: { ready: true } },
      ]),
      slice('other', [{ addresses: ['10.0.0.9'] }], { metadata: { namespace: 'ns', name: 'other', labels: {} } }),
    ],
  })
  assert.equal(await found.hostOf(reference), '10.0.0.2:8443')
})

test('all ready pods get their share', async () => {
  const found = routes({
    objects: { 'services/ns/hook': service({}) },
    slices: [slice('a', [{ addresses: ['10.0.0.1'] }]), slice('b', [{ addresses: ['10.0.0.2'] }, { addresses: ['10.0.0.3'] }])],
  })
  const hosts = new Set<string>()
  for (let call = 0; call < 60; call++) hosts.add(await found.hostOf(reference))
  assert.deepEqual([...hosts].toSorted(), ['10.0.0.1:8443', '10.0.0.2:8443', '10.0.0.3:8443'])
})

test('of two families the one the service prefers is taken', async () => {
  const found = routes({
    objects: { 'services/ns/hook': service({ ipFamilies: ['IPv6', 'IPv4'] }) },
    slices: [slice('a', [{ addresses: ['10.0.0.1'] }]), slice('b', [{ addresses: ['fd00::1'] }], { addressType: 'IPv6' })],
  })
  assert.equal(await found.hostOf(reference), '[fd00::1]:8443')
})

test('Endpoints without slices serve as well', async () => {
  const endpoints = { subsets: [{ addresses: [{ ip: '192.168.0.7' }], ports: [{ name: 'https', port: 9443 }] }] }
  const found = routes({ objects: { 'services/ns/hook': service({}), 'endpoints/ns/hook': endpoints } })
  assert.equal(await found.hostOf(reference), '192.168.0.7:9443')
})

test('simulated pods are passed over, and when there are no others the refusal says why', async () => {
  const simulated = { addresses: ['10.9.0.1'], nodeName: 'sim-1', targetRef: pod('hook-x') }
  const objects = { 'services/ns/hook': service({}) }
  const mixed = routes({ objects, slices: [slice('a', [simulated, { addresses: ['10.0.0.2'], nodeName: 'real' }])] })
  for (let call = 0; call < 20; call++) assert.equal(await mixed.hostOf(reference), '10.0.0.2:8443')
  const lone = routes({ objects, slices: [slice('a', [simulated])] })
  await assert.rejects(lone.hostOf(reference), /pod "hook-x" is on the simulated node "sim-1", and simulated pods have no network/)
})

test('what is no service, has no such port or no pods is refused in the words of upstream', async () => {
  await assert.rejects(routes({ objects: {} }).hostOf(reference), /^StatusError: service "hook" not found$/)
  const objects = { 'services/ns/hook': service({}) }
  await assert.rejects(routes({ objects }).hostOf({ ...reference, port: 80 }), /no service port 80 found for service "hook"/)
  await assert.rejects(routes({ objects }).hostOf(reference), /no endpoints available for service "hook"/)
})

test('a service that names another host is reached there, unless only endpoints may be', async () => {
  const objects = { 'services/ns/hook': service({ type: 'ExternalName', externalName: 'hooks.example.com' }) }
  assert.equal(await routes({ objects }).hostOf(reference), 'hooks.example.com:443')
  await assert.rejects(routes({ objects }, { endpointsOnly: true }).hostOf(reference), /unsupported service type "ExternalName"/)
})

test('the service of the API server is this server', async () => {
  assert.equal(await routes({ objects: {} }).hostOf({ namespace: 'default', name: 'kubernetes', port: 443 }), '127.0.0.1:6443')
})
