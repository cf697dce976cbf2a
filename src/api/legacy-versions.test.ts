import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { canonicalize } from '#api/codec/json.ts'
import { encodeProtobuf, readProtobuf } from '#api/codec/protobuf.ts'
import { randomObject } from '#api/codec/testing/random-object.ts'
import { readYamlDocuments } from '#api/codec/yaml.ts'
import { builtInKinds } from '#api/kinds.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { schemaNameOf, schemaOf } from '#api/schema/schema.ts'
import { fromStored, Scheme, storedDefinition, toStored } from '#api/scheme.ts'
import { tryCreate } from '#api/testing/try-kind.ts'
import { seededRandom } from '#base/random.ts'

const legacy = builtInKinds.filter(({ stability }) => stability === 'legacy')
const roundsOfEach = 100

const nameOf = (definition: ResourceDefinition): string => `${apiVersionOf(definition)} ${definition.kind}`

/** As the store has it: in the shape of the stored type, and nothing else. */
function stored(object: KubernetesObject, definition: ResourceDefinition): KubernetesObject {
  return canonicalize(toStored(deepCopy(object), definition), storedDefinition(definition).schema)
}

test('objects of every old version come back from the store unchanged', () => {
  const seed = 20260731
  const random = seededRandom(seed)
  for (const definition of legacy) {
    const type = schemaOf(definition.schema)
    for (let round = 0; round < roundsOfEach; round++) {
      const object = { ...randomObject(type, random), kind: definition.kind, apiVersion: apiVersionOf(definition) } as KubernetesObject
      const back = fromStored(deepCopy(stored(object, definition)), definition)
      assert.deepEqual(canonicalize(back, type), canonicalize(object, type), `${nameOf(definition)}, seed ${seed}, round ${round}`)
    }
  }
  assert.ok(legacy.length * roundsOfEach > 6000)
})

test('objects of every old version go to protobuf and back unchanged', () => {
  const seed = 7
  const random = seededRandom(seed)
  for (const { schema } of legacy) {
    for (let round = 0; round < 5; round++) {
      const object = randomObject(schemaOf(schema), random)
      assert.deepEqual(
        readProtobuf(encodeProtobuf(deepCopy(object), schema)).decode(schema),
        object,
        `${schema}, seed ${seed}, round ${round}`,
      )
    }
  }
})

test('every old version is of a known type, has no rules of its own where another is stored, and tells since when it is old', () => {
  for (const definition of legacy) {
    const { group, version, kind, deprecated, storedAs, validate } = definition
    assert.equal(schemaNameOf({ group, version, kind }), definition.schema, nameOf(definition))
    assert.match(deprecated?.deprecatedIn ?? '', /^1\.\d+$/, nameOf(definition))
    assert.match(deprecated?.removedIn ?? '', /^1\.\d+$/, nameOf(definition))
    assert.notEqual(storedAs === undefined, validate === undefined, nameOf(definition))
  }
})

test('a stored version is never an old one, unless nothing came after it', () => {
  const kept = legacy.filter(({ storedAs }) => storedAs === undefined).map(nameOf)
  assert.deepEqual(kept, [
    'extensions/v1beta1 ThirdPartyResource',
    'policy/v1beta1 PodSecurityPolicy',
    'settings.k8s.io/v1alpha1 PodPreset',
  ])
})

const manifests = new URL('../../test/manifests/', import.meta.url)
/** What no server has before it is told: custom resources, and the configuration of programs. */
const unknownKinds = [
  'ClusterInformation',
  'Config',
  'FelixConfiguration',
  'Fischer',
  'Flunder',
  'Foo',
  'IPPool',
  'KubeletConfiguration',
  'NetworkPolicy',
  'Node',
  'Profile',
  'VerticalPodAutoscaler',
  'WorkloadEndpoint',
]
/** Manifests that are wrong; test/e2e/manifests.test.ts checks how they are refused. */
const refused: Readonly<Record<string, string>> = { '39-hpa-v2beta2-old-fields.yaml': 'v2beta1 fields in v2beta2' }
/** What upstream does not show again, either. */
const dropped: Readonly<Record<string, readonly string[]>> = {
  '36-node-uncordon.yaml': ['.spec.unschedulable: false is shown as undefined'],
}

test('manifests of any age are decoded, filled in, validated, stored and shown again without loss', () => {
  const scheme = new Scheme(builtInKinds)
  const unknown = new Set<string>()
  for (const file of readdirSync(manifests).sort()) {
    if (!file.endsWith('.yaml') || file in refused) continue
    for (const parsed of readYamlDocuments(readFileSync(new URL(file, manifests)))) {
      const said = deepCopy(parsed.value) as KubernetesObject
      const definition = scheme.of(said)
      if (definition === undefined) {
        unknown.add(said.kind ?? '')
        continue
      }
      const { object, strictErrors } = parsed.decode<KubernetesObject>(definition.schema)
      assert.deepEqual(strictErrors, [], file)
      definition.defaults?.(object)
      if (definition.scope === 'Namespaced') object.metadata = { namespace: 'default', ...object.metadata }
      const target = storedDefinition(definition)
      const converted = toStored(object, definition)
      target.defaults?.(converted)
      assert.deepEqual(tryCreate(target, converted, { requestVersion: apiVersionOf(definition) }).errors, [], file)
      const kept = canonicalize(converted, target.schema)
      assert.deepEqual(notesIn(kept), [], file)
      assert.deepEqual(lost(said, fromStored(deepCopy(kept), definition)), dropped[file] ?? [], file)
    }
  }
  assert.deepEqual([...unknown].sort(), unknownKinds)
})

/** What the old version says in words of its own needs no notes. */
function notesIn({ metadata }: KubernetesObject): string[] {
  return Object.keys(metadata?.annotations ?? {}).filter((key) => key.startsWith('legacy.typernetes.dev/'))
}

/** Paths of what is said but not shown. Quantities may be shown in another form. */
function lost(said: unknown, shown: unknown, path = ''): string[] {
  if (typeof said !== 'object' || said === null) {
    return said === shown || sameQuantity(said, shown) ? [] : [`${path}: ${String(said)} is shown as ${String(shown)}`]
  }
  const place = (typeof shown === 'object' && shown !== null ? shown : {}) as Record<string, unknown>
  return Object.entries(said).flatMap(([key, value]) => lost(value, place[key], `${path}.${key}`))
}

function sameQuantity(said: unknown, shown: unknown): boolean {
  const [one, other] = [String(said), String(shown)]
  return isQuantity(one) && isQuantity(other) && compareQuantities(one, other) === 0
}
