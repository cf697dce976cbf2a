import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSchema, schemaNameOf, schemaOf } from './schema.ts'
import { writeTypes } from './written-types.ts'

const typeName = writeTypes({
  package: 'io.k8s.api.test.v7',
  group: 'test.k8s.io',
  version: 'v7',
  text: `
kind Thing
  spec Spec @.DeploymentSpec o 2
DeploymentSpec like apps.v1 without paused,template
  replicas Replicas i r 1
  colour Colour <v7.Colour>s o 99 {"e":["blue","red"]}
DeploymentStrategy,RollingUpdateDeployment like apps.v1
`,
})

test('kinds are known before any of them is read', () => {
  for (const kind of ['Thing', 'ThingList']) {
    assert.equal(schemaNameOf({ group: 'test.k8s.io', version: 'v7', kind }), typeName(kind))
  }
  assert.equal(schemaNameOf({ group: 'test.k8s.io', version: 'v7', kind: 'DeploymentSpec' }), undefined)
})

test('a kind has what every kind has, and a list', () => {
  const thing = schemaOf(typeName('Thing'))
  assert.deepEqual(
    thing.fields.map(({ name, protobufNumber }) => [name, protobufNumber]),
    [
      ['kind', 0],
      ['apiVersion', 0],
      ['metadata', 1],
      ['spec', 2],
    ],
  )
  const list = schemaOf(typeName('ThingList'))
  assert.equal(list.fieldsByName.get('items')?.value.goType, '[]v7.Thing')
  assert.equal(schemaNameOf({ group: 'test.k8s.io', version: 'v7', kind: 'ThingList' }), list.name)
})

test('a type like another has its fields, but for those it changes or leaves out', () => {
  const [model, spec] = [schemaOf('io.k8s.api.apps.v1.DeploymentSpec'), schemaOf(typeName('DeploymentSpec'))]
  assert.deepEqual(
    spec.fields.map(({ name }) => name),
    [...model.fields.map(({ name }) => name).filter((name) => name !== 'paused' && name !== 'template'), 'colour'],
  )
  assert.deepEqual([model.fieldsByName.get('replicas')?.value.pointer, spec.fieldsByName.get('replicas')?.value.pointer], [true, false])
  assert.deepEqual(spec.fieldsByName.get('colour')?.enum, ['blue', 'red'])
})

test('fields are of the package’s own types where it has them', () => {
  const typeOf = (name: string, field: string) => {
    const value = schemaOf(typeName(name)).fieldsByName.get(field)?.value
    return value?.kind === 'message' ? [value.type.name, value.goType] : []
  }
  assert.deepEqual(typeOf('DeploymentSpec', 'strategy'), [typeName('DeploymentStrategy'), 'v7.DeploymentStrategy'])
  assert.deepEqual(typeOf('DeploymentStrategy', 'rollingUpdate'), [typeName('RollingUpdateDeployment'), 'v7.RollingUpdateDeployment'])
  assert.deepEqual(typeOf('DeploymentSpec', 'selector'), ['io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector', 'v1.LabelSelector'])
  assert.equal(findSchema(typeName('Nope')), undefined)
})

test('text that declares nothing is refused when it is first needed', () => {
  const broken = writeTypes({ package: 'io.k8s.api.test.v8', group: 'g', version: 'v8', text: 'A like' })
  assert.throws(() => schemaOf(broken('A')), { message: 'A like declares no type' })
  const field = writeTypes({ package: 'io.k8s.api.test.v9', group: 'g', version: 'v9', text: 'A\n  b B' })
  assert.throws(() => schemaOf(field('A')), { message: 'b B declares no field' })
})
