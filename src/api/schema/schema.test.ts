import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSchemas, findSchema, schemaNameOf, schemaNames, schemaOf } from './schema.ts'

const pod = 'io.k8s.api.core.v1.Pod'

test('every type of the schema can be read, and so can the types of its fields', () => {
  const names = schemaNames()
  assert.ok(names.length > 1200)
  for (const name of names) {
    for (const field of schemaOf(name).fields) {
      let { value } = field
      while (value.kind === 'list' || value.kind === 'map') value = value.kind === 'list' ? value.items : value.values
      if (value.kind === 'message') assert.ok(value.type.name.length > 0, `${name}.${field.name}`)
    }
  }
})

test('a type is read once', () => {
  assert.equal(schemaOf(pod), schemaOf(pod))
})

test('fields come in the order of the struct and carry what lists and patches need', () => {
  const spec = schemaOf('io.k8s.api.core.v1.PodSpec')
  assert.deepEqual(
    spec.fields.slice(0, 3).map((field) => field.name),
    ['volumes', 'initContainers', 'containers'],
  )
  const containers = spec.fieldsByName.get('containers')
  assert.equal(containers?.listType, 'map')
  assert.deepEqual(containers?.listMapKeys, ['name'])
  assert.equal(containers?.patchStrategy, 'merge')
  assert.equal(containers?.patchMergeKey, 'name')
  assert.equal(containers?.protobufNumber, 2)
  assert.equal(containers?.required, true)
  assert.equal(containers?.value.goType, '[]v1.Container')
})

test('fields of embedded structs know the way to them', () => {
  const secret = schemaOf('io.k8s.api.core.v1.Volume').fieldsByName.get('secret')
  assert.deepEqual(secret?.inlined, [{ goName: 'VolumeSource', protobufNumber: 2 }])
})

test('named types of Go keep their names', () => {
  const limits = schemaOf('io.k8s.api.core.v1.ResourceRequirements').fieldsByName.get('limits')
  assert.equal(limits?.value.goType, 'v1.ResourceList')
  const protocol = schemaOf('io.k8s.api.core.v1.ServicePort').fieldsByName.get('protocol')
  assert.equal(protocol?.value.goType, 'v1.Protocol')
  assert.deepEqual(protocol?.enum, ['SCTP', 'TCP', 'UDP'])
})

test('a kind leads to its type, in served versions and in those served no more', () => {
  const cases: [string, string, string, string | undefined][] = [
    ['', 'v1', 'Pod', pod],
    ['apps', 'v1', 'Deployment', 'io.k8s.api.apps.v1.Deployment'],
    ['extensions', 'v1beta1', 'Deployment', 'io.k8s.api.extensions.v1beta1.Deployment'],
    ['apps', 'v1', 'DeleteOptions', 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'],
    ['meta.k8s.io', 'v1', 'Table', 'io.k8s.apimachinery.pkg.apis.meta.v1.Table'],
    ['apps', 'v1', 'Nope', undefined],
  ]
  for (const [group, version, kind, name] of cases) assert.equal(schemaNameOf({ group, version, kind }), name, kind)
})

test('types can be added', () => {
  assert.equal(findSchema('test.Widget'), undefined)
  const groupVersionKinds = [{ group: 'test', version: 'v1', kind: 'Widget' }]
  addSchemas([{ name: 'test.Widget', goName: 'Widget', fields: [], fieldsByName: new Map(), groupVersionKinds, unions: [] }])
  assert.equal(schemaOf('test.Widget').goName, 'Widget')
  assert.equal(schemaNameOf({ group: 'test', version: 'v1', kind: 'Widget' }), 'test.Widget')
})
