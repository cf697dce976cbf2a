import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ConfigMap, V1Container, V1Pod, V1Secret, V1Service } from '#api/core/v1/types.gen.ts'
import { notFound } from '#api/meta/status-error.ts'
import { defined } from '#base/defined.ts'
import { containerVariables, type VariableSources } from '#kubelet/environment/container-variables.ts'

const configMaps: Record<string, V1ConfigMap> = { settings: { metadata: {}, data: { color: 'blue', shape: 'round' } } }
const secrets: Record<string, V1Secret> = { door: { metadata: {}, data: { key: Buffer.from('sesame').toString('base64') } } }

async function found<T>(objects: Record<string, T>, kind: string, name: string): Promise<T> {
  const object = objects[name]
  if (object === undefined) throw notFound({ group: '', resource: kind }, name)
  return object
}

const aService = (name: string, clusterIP: string, namespace = 'shop'): V1Service =>
  ({ metadata: { name, namespace }, spec: { clusterIP, ports: [{ port: 80 }] } }) as V1Service

const sources: VariableSources = {
  services: [aService('kubernetes', '10.96.0.1', 'default'), aService('web', '10.96.0.2'), aService('headless', 'None')],
  configMap: (_namespace, name) => found(configMaps, 'configmap', name),
  secret: (_namespace, name) => found(secrets, 'secret', name),
  fileKey: async (_volume, path, key) => (path === 'env' && key === 'K' ? 'from a file' : ''),
  podIps: ['10.244.0.5', 'fd00::5'],
  hostIps: ['192.0.2.1', 'fd00::1'],
  allocatable: { cpu: '4', memory: '8Gi' },
}

const pod = {
  metadata: { name: 'web-0', namespace: 'shop', uid: 'u1', labels: { app: 'web', tier: 'front' }, annotations: { Note: 'a "b"' } },
  spec: { nodeName: 'n1', serviceAccountName: 'robot', enableServiceLinks: false, containers: [] as V1Container[] },
} as unknown as V1Pod

async function variablesOf(container: Partial<V1Container>, of: V1Pod = pod): Promise<Record<string, string>> {
  const variables = await containerVariables(of, { name: 'app', ...container }, sources)
  return Object.fromEntries([...variables].filter(([name]) => !name.startsWith('KUBERNETES_')))
}

const field = (fieldPath: string) => ({ env: [{ name: 'V', valueFrom: { fieldRef: { fieldPath } } }] })
const resources = { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '1500m' } }
const amount = (resource: string, divisor?: string) => ({
  resources,
  env: [{ name: 'V', valueFrom: { resourceFieldRef: { resource, ...defined({ divisor }) } } }],
})
const from = (valueFrom: NonNullable<NonNullable<V1Container['env']>[number]['valueFrom']>) => ({ env: [{ name: 'V', valueFrom }] })

const cases: [what: string, container: Partial<V1Container>, variables: Record<string, string>][] = [
  [
    'values see those before them',
    {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '$(A)$(C)' },
        { name: 'C', value: '2' },
      ],
    },
    { A: '1', B: '1$(C)', C: '2' },
  ],
  [
    'the last of one name counts',
    {
      env: [
        { name: 'A', value: '1' },
        { name: 'A', value: '$(A)2' },
      ],
    },
    { A: '12' },
  ],
  ['values see services', { env: [{ name: 'A', value: '$(KUBERNETES_SERVICE_HOST)' }] }, { A: '10.96.0.1' }],
  ['an empty value', { env: [{ name: 'A' }] }, { A: '' }],
  [
    'all of a config map, with a prefix',
    { envFrom: [{ prefix: 'S_', configMapRef: { name: 'settings' } }] },
    { S_color: 'blue', S_shape: 'round' },
  ],
  [
    'variables win over all of an object',
    { envFrom: [{ configMapRef: { name: 'settings' } }], env: [{ name: 'color', value: 'not $(color)' }] },
    { color: 'not blue', shape: 'round' },
  ],
  ['an object that need not be there', { envFrom: [{ secretRef: { name: 'none', optional: true } }] }, {}],
  ['a key of a config map', from({ configMapKeyRef: { name: 'settings', key: 'color' } }), { V: 'blue' }],
  ['a key of a secret', from({ secretKeyRef: { name: 'door', key: 'key' } }), { V: 'sesame' }],
  ['a key that need not be there', from({ secretKeyRef: { name: 'door', key: 'none', optional: true } }), {}],
  ['a key of an object that need not be there', from({ configMapKeyRef: { name: 'none', key: 'none', optional: true } }), {}],
  ['a key of a file', from({ fileKeyRef: { volumeName: 'v', path: 'env', key: 'K' } }), { V: 'from a file' }],
  ['a key that a file need not have', from({ fileKeyRef: { volumeName: 'v', path: 'env', key: 'N', optional: true } }), {}],
  ['the name', field('metadata.name'), { V: 'web-0' }],
  ['the namespace', field('metadata.namespace'), { V: 'shop' }],
  ['the uid', field('metadata.uid'), { V: 'u1' }],
  ['a label', field("metadata.labels['tier']"), { V: 'front' }],
  ['a label there is not', field("metadata.labels['none']"), { V: '' }],
  ['an annotation', field("metadata.annotations['Note']"), { V: 'a "b"' }],
  ['all labels', field('metadata.labels'), { V: 'app="web"\ntier="front"' }],
  ['all annotations', field('metadata.annotations'), { V: 'Note="a \\"b\\""' }],
  ['the node', field('spec.nodeName'), { V: 'n1' }],
  ['the account', field('spec.serviceAccountName'), { V: 'robot' }],
  ['the address', field('status.podIP'), { V: '10.244.0.5' }],
  ['all addresses', field('status.podIPs'), { V: '10.244.0.5,fd00::5' }],
  ["the node's address", field('status.hostIP'), { V: '192.0.2.1' }],
  ["all of the node's addresses", field('status.hostIPs'), { V: '192.0.2.1,fd00::1' }],
  ['a request in whole units', amount('requests.cpu'), { V: '1' }],
  ['a request in thousandths', amount('requests.cpu', '1m'), { V: '250' }],
  ['a limit', amount('limits.cpu', '1'), { V: '2' }],
  ['a request in bytes', amount('requests.memory'), { V: '67108864' }],
  ['a request in mebibytes', amount('requests.memory', '1Mi'), { V: '64' }],
  ['a limit that is not set is what the node has', amount('limits.memory', '1Gi'), { V: '8' }],
  ['a request that is not set', amount('requests.ephemeral-storage'), { V: '0' }],
]

for (const [what, container, variables] of cases) {
  test(`variables: ${what}`, async () => assert.deepEqual(await variablesOf(container), variables))
}

const failures: [container: Partial<V1Container>, message: string][] = [
  [from({ configMapKeyRef: { name: 'none', key: 'k' } }), 'configmap "none" not found'],
  [from({ secretKeyRef: { name: 'none', key: 'k' } }), 'secret "none" not found'],
  [{ envFrom: [{ configMapRef: { name: 'none' } }] }, 'configmap "none" not found'],
  [from({ configMapKeyRef: { name: 'settings', key: 'k' } }), "couldn't find key k in ConfigMap shop/settings"],
  [from({ secretKeyRef: { name: 'door', key: 'k' } }), "couldn't find key k in Secret shop/door"],
  [from({ fileKeyRef: { volumeName: 'v', path: 'env', key: 'N' } }), 'environment variable key "N" not found in file "env"'],
  [field('status.phase'), 'unsupported fieldPath: status.phase'],
  [field("spec['x']"), "field label does not support subscript: spec['x']"],
  [amount('limits.gpu'), 'unsupported container resource : limits.gpu'],
  [from({ resourceFieldRef: { resource: 'limits.cpu', containerName: 'none' } }), 'container none not found'],
]

for (const [container, message] of failures) {
  test(`variables fail: ${message}`, () => assert.rejects(variablesOf(container), { message }))
}

test('services of the namespace are told of where links are wanted', async () => {
  const linked = await variablesOf({}, { ...pod, spec: { ...pod.spec, enableServiceLinks: true } })
  assert.deepEqual(Object.keys(linked), [
    ...['WEB_SERVICE_HOST', 'WEB_SERVICE_PORT', 'WEB_PORT', 'WEB_PORT_80_TCP', 'WEB_PORT_80_TCP_PROTO', 'WEB_PORT_80_TCP_PORT'],
    'WEB_PORT_80_TCP_ADDR',
  ])
})

test('a limit that is not set is the one of the whole pod, before what the node has', async () => {
  const limited = { ...pod, spec: { ...pod.spec, resources: { limits: { memory: '2Gi' } } } }
  assert.deepEqual(await variablesOf(amount('limits.memory', '1Gi'), limited), { V: '2' })
})

test('variables that name each other again and again come to no more than programs can be given', async () => {
  const twice = (name: string, of: string) => ({ name, value: `$(${of})`.repeat(1000) })
  const env = [{ name: 'A', value: 'x'.repeat(1000) }, twice('B', 'A'), twice('C', 'B'), twice('D', 'C')]
  await assert.rejects(variablesOf({ env }), /^Error: the variables of the container are more than 8388608 bytes$/)
})
