/** A field that is added to the facts, and nowhere else, is in every form of its kind: types, JSON, YAML, protobuf, patches, apply, OpenAPI. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { decodeJson, encodeJson } from '#api/codec/json.ts'
import { encodeProtobuf, readProtobuf } from '#api/codec/protobuf.ts'
import { decodeYaml, encodeYaml } from '#api/codec/yaml.ts'
import { FieldManager } from '#api/meta/apply/field-manager.ts'
import { emptyObject, mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { applyPatch } from '#api/meta/patch/apply-patch.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { readTypeRecord } from '#api/schema/read-record.ts'
import { addSchemas, schemaOf } from '#api/schema/schema.ts'
import { definitionOf } from '#apiserver/openapi/definition.ts'
import { openApiV2, openApiV3, type SchemaObject } from '#apiserver/openapi/dialect.ts'
import { readFacts } from './generate-api/facts.ts'
import { buildModel } from './generate-api/model.ts'
import { schemaFile } from './generate-api/write-schema.ts'
import { typeFiles } from './generate-api/write-types.ts'

const specType = 'io.k8s.api.apps.v1.DeploymentSpec'
const kindType = 'io.k8s.api.apps.v1.Deployment'

// The three lines that a new field is, as CONTRIBUTING.md shows them.
const facts = readFacts(join(import.meta.dirname, '..', 'facts'))
facts.goFields.push({
  ...{ package: 'apps/v1', type: 'DeploymentSpec', order: 9, goField: 'Greeting', goType: '*string', jsonName: 'greeting' },
  ...{ jsonOptions: ['omitempty'], patchStrategy: '', patchMergeKey: '', protobufNumber: 99, markers: ['optional'] },
})
facts.protobuf.push({
  ...{ package: 'k8s.io.api.apps.v1', message: 'DeploymentSpec', field: 'greeting', number: 99 },
  ...{ type: 'string', label: 'optional', jsonName: 'greeting' },
})
const { properties = {} } = facts.schema[specType] ?? {}
properties['greeting'] = { type: 'string' }

const model = buildModel(facts)
const line = schemaFile(model)
  .split('\n')
  .find((each) => each.startsWith(`["${specType}"`))
addSchemas([readTypeRecord(line ?? '', schemaOf)])

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } } }, greeting: 'hello' },
}
const greetingIn = (object: unknown) => (object as typeof deployment).spec.greeting

test('a new field has a type', () => {
  const types = typeFiles(model).get('apps/v1/types.gen.ts') ?? ''
  assert.match(types, /export (?:interface|type) V1DeploymentSpec\b[^}]*greeting\?: string/)
})

test('a new field is known in JSON and YAML, there and back', () => {
  const json = decodeJson(Buffer.from(JSON.stringify(deployment)), kindType)
  assert.deepEqual([json.strictErrors, greetingIn(json.object)], [[], 'hello'])
  assert.equal(greetingIn(JSON.parse(encodeJson(json.object, kindType).toString())), 'hello')
  const yaml = decodeYaml(encodeYaml(json.object), kindType)
  assert.deepEqual([yaml.strictErrors, greetingIn(yaml.object)], [[], 'hello'])
})

test('a new field has its number in protobuf', () => {
  const bytes = encodeProtobuf(deployment, kindType)
  // Field 99, length-delimited, five bytes.
  assert.ok(bytes.includes(Buffer.from('9a060568656c6c6f', 'hex')))
  assert.equal(greetingIn(readProtobuf(bytes).decode(kindType)), 'hello')
})

test('a new field can be patched, applied and owned', () => {
  const schema = schemaOf(kindType)
  const patched = applyPatch('strategic', deployment, { spec: { greeting: 'good evening' } }, schema)
  assert.equal(greetingIn(patched), 'good evening')
  const manager = new FieldManager({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', subresource: '', filterAt: () => undefined },
    ...{ type: mergeTypeOf(schema), empty: emptyObject(schema) },
  })
  const applied = manager.applied(undefined, deployment, { manager: 'me', time: '2026-01-02T03:04:05Z', force: false }) as KubernetesObject
  assert.equal(greetingIn(applied), 'hello')
  assert.match(JSON.stringify(applied.metadata?.managedFields), /"f:greeting":\{\}/)
})

test('a new field is in OpenAPI, both versions', () => {
  for (const dialect of [openApiV2, openApiV3]) {
    const described = definitionOf(specType, { dialect })?.schema['properties'] as Record<string, SchemaObject>
    assert.equal(described['greeting']?.['type'], 'string')
  }
})
