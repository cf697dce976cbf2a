import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import type { ApiObject } from '#cli/call.ts'
import { fakeHost } from '#cli/testing/fake-host.ts'
import { buildKustomization } from './build.ts'

const root = mkdtempSync(join(tmpdir(), 'kustomize-'))
after(() => rmSync(root, { recursive: true, force: true }))
const host = fakeHost({ answer: () => undefined, homeDirectory: root })

const engine = `apiVersion: example.com/v1
kind: Engine
metadata: {name: engine}
spec: {parts: [{name: one, size: 1}, {name: two, size: 2}], fuelRef: {name: fuel}, selector: {app: engine}}
---
apiVersion: example.com/v1
kind: Fuel
metadata: {name: fuel}
`

type Spec = { parts: { name: string; size: number }[]; fuelRef: unknown; selector: unknown; containers: { envFrom: unknown }[] }
type Made = ApiObject & { spec: Spec; data?: unknown }

/** The objects of a build of these files, by kind. */
async function built(files: Readonly<Record<string, string>>): Promise<Record<string, Made | undefined>> {
  const directory = mkdtempSync(join(root, 'build-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  const text = await buildKustomization(host, directory)
  return Object.fromEntries(readYamlValues(text).map(({ value }) => [(value as ApiObject).kind, value])) as never
}

const patch =
  "patches: [{patch: '{apiVersion: example.com/v1, kind: Engine, metadata: {name: engine}, spec: {parts: [{name: two, size: 22}]}}'}]"

test('a list of a custom kind is replaced by a patch, and merged where an OpenAPI document names its key', async () => {
  const plain = await built({ 'kustomization.yaml': `resources: [e.yaml]\n${patch}\n`, 'e.yaml': engine })
  assert.deepEqual(plain['Engine']?.spec.parts, [{ name: 'two', size: 22 }])
  const schema = {
    definitions: {
      Engine: {
        'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Engine' }],
        properties: { spec: { $ref: '#/definitions/Spec' } },
      },
      Spec: { properties: { parts: { items: {}, 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'name' } } },
    },
  }
  const merged = await built({
    'kustomization.yaml': `resources: [e.yaml]\nopenapi: {path: schema.json}\n${patch}\n`,
    'e.yaml': engine,
    'schema.json': JSON.stringify(schema),
  })
  assert.deepEqual(merged['Engine']?.spec.parts, [
    { name: 'two', size: 22 },
    { name: 'one', size: 1 },
  ])
})

test('fields of custom kinds that `crds` describe get names, and labels of selectors', async () => {
  const types = {
    'com.example.v1.Engine': { Schema: { properties: { kind: {}, apiVersion: {}, metadata: {}, spec: { $ref: 'com.example.v1.Spec' } } } },
    'com.example.v1.Spec': {
      Schema: {
        properties: {
          fuelRef: { 'x-kubernetes-object-ref-api-version': 'v1', 'x-kubernetes-object-ref-kind': 'Fuel' },
          selector: { 'x-kubernetes-label-selector': '' },
        },
      },
    },
  }
  const { Engine } = await built({
    'kustomization.yaml': 'resources: [e.yaml]\ncrds: [types.json]\nnamePrefix: p-\ncommonLabels: {team: a}\n',
    'e.yaml': engine,
    'types.json': JSON.stringify(types),
  })
  assert.deepEqual([Engine?.spec.fuelRef, Engine?.spec.selector], [{ name: 'p-fuel' }, { app: 'engine', team: 'a' }])
})

test('`configurations` say where else names and images stand', async () => {
  const { Engine } = await built({
    'kustomization.yaml': 'resources: [e.yaml]\nconfigurations: [c.yaml]\nnameSuffix: -s\nimages: [{name: one, newTag: "2"}]\n',
    'e.yaml': engine,
    'c.yaml':
      'nameReference: [{kind: Fuel, fieldSpecs: [{path: spec/fuelRef/name, kind: Engine}]}]\nimages: [{path: spec/parts/name, kind: Engine}]\n',
  })
  assert.deepEqual([Engine?.spec.fuelRef, Engine?.spec.parts[0]?.name], [{ name: 'fuel-s' }, 'one:2'])
})

test('a name goes with its object through every overlay, also with the hash of its content', async () => {
  const pod =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: settings}}]}]}\n'
  const { Pod, ConfigMap } = await built({
    'kustomization.yaml': 'resources: [middle]\nnamePrefix: outer-\n',
    'middle/kustomization.yaml':
      'resources: [../inner]\nnameSuffix: -mid\nconfigMapGenerator: [{name: settings, behavior: merge, literals: [b=2]}]\n',
    'inner/kustomization.yaml': 'resources: [pod.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=1]}]\n',
    'inner/pod.yaml': pod,
  })
  assert.match(ConfigMap?.metadata?.name ?? '', /^outer-settings-mid-[a-z0-9]{10}$/)
  assert.deepEqual(ConfigMap?.data, { a: '1', b: '2' })
  assert.deepEqual(Pod?.spec.containers[0]?.envFrom, [{ configMapRef: { name: ConfigMap?.metadata?.name } }])
})

test('a transformer that is built in is run, and one of others is refused', async () => {
  const own =
    'apiVersion: builtin\nkind: SuffixTransformer\nmetadata: {name: t}\nsuffix: -t\nfieldSpecs: [{path: metadata/name, kind: Fuel}]\n'
  const files = { 'e.yaml': engine, 'kustomization.yaml': 'resources: [e.yaml]\ntransformers: [t.yaml]\n' }
  const { Engine, Fuel } = await built({ ...files, 't.yaml': own })
  assert.deepEqual([Engine?.metadata?.name, Fuel?.metadata?.name], ['engine', 'fuel-t'])
  await assert.rejects(built({ ...files, 't.yaml': own.replace('builtin', 'example.com/v1') }), /external plugins disabled/)
})

test('a field that kustomizations have not is refused', async () => {
  await assert.rejects(
    built({ 'kustomization.yaml': 'resources: [e.yaml]\nnames: x\n', 'e.yaml': engine }),
    /invalid Kustomization: json: unknown field "names"/,
  )
})

test('files outside of a kustomization are not read', async () => {
  const outside = /security; file '.*' is not in or below '.*inner'/
  for (const line of ['resources: [../e.yaml]', 'configMapGenerator: [{name: c, files: [../e.yaml]}]', 'patches: [{path: ../e.yaml}]'])
    await assert.rejects(
      built({ 'kustomization.yaml': 'resources: [inner]\n', 'inner/kustomization.yaml': `${line}\n`, 'e.yaml': engine }),
      outside,
      line,
    )
})
