import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { atOnce } from '#base/steps.ts'
import { definitionOf, definitionsFor } from './definition.ts'
import { openApiV2, openApiV3, type SchemaObject } from './dialect.ts'

const core = 'io.k8s.api.core.v1'
const schemas = '#/components/schemas/'

function field(type: string, name: string, dialect = openApiV3): SchemaObject {
  const properties = definitionOf(type, { dialect })?.schema['properties'] as Record<string, SchemaObject> | undefined
  const { description: _, ...schema } = properties?.[name] ?? {}
  return schema
}

const cases: [title: string, type: string, name: string, v3: SchemaObject, v2: SchemaObject][] = [
  ['a string', `${core}.Container`, 'name', { type: 'string', default: '' }, { type: 'string' }],
  ['a number', `${core}.ContainerPort`, 'hostPort', { type: 'integer', format: 'int32' }, { type: 'integer', format: 'int32' }],
  [
    'a default of its own',
    `${core}.ContainerPort`,
    'protocol',
    { type: 'string', default: 'TCP', enum: ['SCTP', 'TCP', 'UDP'] },
    { type: 'string', enum: ['SCTP', 'TCP', 'UDP'] },
  ],
  [
    'a list by keys',
    `${core}.Container`,
    'ports',
    {
      type: 'array',
      items: { allOf: [{ $ref: `${schemas}${core}.ContainerPort` }], default: {} },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    },
    {
      type: 'array',
      items: { $ref: `#/definitions/${core}.ContainerPort` },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    },
  ],
  [
    'a map of amounts',
    `${core}.ResourceRequirements`,
    'limits',
    { type: 'object', additionalProperties: { $ref: `${schemas}io.k8s.apimachinery.pkg.api.resource.Quantity` } },
    { type: 'object', additionalProperties: { $ref: '#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity' } },
  ],
  [
    'bytes',
    `${core}.Secret`,
    'data',
    { type: 'object', additionalProperties: { type: 'string', format: 'byte' } },
    { type: 'object', additionalProperties: { type: 'string', format: 'byte' } },
  ],
]

for (const [title, type, name, v3, v2] of cases) {
  test(`${title} is described in both versions`, () => {
    assert.deepEqual(field(type, name, openApiV3), v3)
    assert.deepEqual(field(type, name, openApiV2), v2)
  })
}

test('numbers and strings are one of both in version 3, and strings in version 2', () => {
  const name = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
  assert.deepEqual(definitionOf(name, { dialect: openApiV3 })?.schema['oneOf'], [{ type: 'integer' }, { type: 'string' }])
  assert.equal(definitionOf(name, { dialect: openApiV2 })?.schema['type'], 'string')
})

test('a kind says which group and version it is of, and what it requires', () => {
  const { schema } = definitionOf('io.k8s.api.apps.v1.DeploymentSpec', { dialect: openApiV3 }) ?? {}
  assert.deepEqual(schema?.['required'], ['selector', 'template'])
  const deployment = definitionOf('io.k8s.api.apps.v1.Deployment', { dialect: openApiV3 })?.schema
  assert.deepEqual(deployment?.['x-kubernetes-group-version-kind'], [{ group: 'apps', kind: 'Deployment', version: 'v1' }])
})

test('unions name what decides between their fields', () => {
  const profile = definitionOf(`${core}.SeccompProfile`, { dialect: openApiV3 })?.schema
  assert.deepEqual(profile?.['x-kubernetes-unions'], [
    { discriminator: 'type', 'fields-to-discriminateBy': { localhostProfile: 'LocalhostProfile' } },
  ])
})

test('options of every group list the groups that are asked for', () => {
  const name = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'
  const listed = definitionOf(name, { dialect: openApiV3, listsGroupVersion: (group, version) => group === 'apps' && version === 'v1' })
  assert.deepEqual(listed?.schema['x-kubernetes-group-version-kind'], [{ group: 'apps', kind: 'DeleteOptions', version: 'v1' }])
})

test('a description that a field shares with its type is given once', () => {
  const { schema } = definitionOf('io.k8s.api.apps.v1.Deployment', { dialect: openApiV3 }) ?? {}
  const properties = schema?.['properties'] as Record<string, SchemaObject> | undefined
  assert.equal(properties?.['spec']?.['description'], undefined)
  assert.notEqual(properties?.['kind']?.['description'], undefined)
})

for (const dialect of [openApiV2, openApiV3]) {
  test(`every type that version ${dialect.version} documents speak of is defined`, () => {
    const definitions = new Map(
      atOnce(
        definitionsFor(
          builtInKinds.map(({ schema }) => schema),
          { dialect },
        ),
      ),
    )
    const missing = new Set<string>()
    for (const [, name = ''] of JSON.stringify([...definitions.values()]).matchAll(
      /"\$ref":"#\/(?:definitions|components\/schemas)\/([^"]+)"/g,
    )) {
      if (!definitions.has(name)) missing.add(name)
    }
    assert.deepEqual([...missing], [])
  })
}
