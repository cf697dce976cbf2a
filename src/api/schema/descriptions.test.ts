import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Descriptions } from './descriptions.ts'

const head = "/**\n * Kubernetes\n */\nimport { V1A } from '../models/V1A.js';\n"
const typings: Readonly<Record<string, string>> = {
  V1ListMeta: `${head}/**\n* Meta of lists.\n*/\nexport declare class V1ListMeta {\n    /**\n    * Where it\\'s \\"at\\".  More.\n    */\n    '_continue'?: string;\n    'bare'?: string;\n}\n`,
  V1PodSpec: `${head}/**\n* A spec.\n*/\nexport declare class V1PodSpec {\n}\n`,
  CoreV1Event: `${head}/**\n* An event.\n*/\nexport declare class CoreV1Event {\n    /**\n    * all of pods/_*.\n    */\n    'action'?: string;\n}\n`,
}

const fromTypings = (path: string): string | undefined => typings[/models\/(\w+)\.d\.ts$/.exec(path)?.[1] ?? '']

test('descriptions are the comments of the client’s typings', () => {
  const descriptions = new Descriptions(fromTypings)
  const cases: [type: string, field: string, text: string][] = [
    ['io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta', '', 'Meta of lists.'],
    ['io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta', 'continue', 'Where it\'s "at".\n\nMore.'],
    ['ListMeta', 'continue', 'Where it\'s "at".\n\nMore.'],
    ['ListMeta', 'resourceVersion', ''],
    ['io.k8s.api.core.v1.Event', 'action', 'all of pods/*.'],
    // Typings have no comment where a field holds an object.
    ['io.k8s.api.core.v1.Pod', 'spec', 'A spec.'],
    ['Nope', '', ''],
  ]
  for (const [type, field, text] of cases) assert.equal(descriptions.of(type, field), text, `${type} ${field}`)
})

test('the packaged file is read once, and instead of the typings', () => {
  const paths: string[] = []
  const descriptions = new Descriptions((path) => {
    paths.push(path)
    return '{"io.k8s.api.core.v1.Pod":{"":"A pod.","spec":"Its spec."}}'
  })
  assert.equal(descriptions.of('io.k8s.api.core.v1.Pod'), 'A pod.')
  assert.equal(descriptions.of('Pod', 'spec'), 'Its spec.')
  assert.deepEqual(paths, ['lib/descriptions.json'])
})

test('without either all descriptions are empty', () => {
  assert.equal(new Descriptions(() => undefined).of('Pod', 'spec'), '')
})
