/** The definitions of four large projects, used with the real kubectl as their users would. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { definitionsOf, publishedDefinitions } from '../crds/read-definitions.ts'
import { type Sample, samples } from '../crds/sample-objects.ts'
import { installedKubectls, type Kubectl, kubectl } from '../support/kubectl.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

let cluster: RunningCluster
let client: Kubectl
const projects = Object.keys(publishedDefinitions) as (keyof typeof publishedDefinitions)[]

before(async () => {
  cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'])
  const newest = installedKubectls().at(-1) ?? assert.fail('kubectl is not installed')
  client = kubectl(newest.path, newest.version, cluster.kubeconfig)
})
after(() => cluster[Symbol.asyncDispose]())

function run(args: readonly string[], input?: string): string {
  const { exitCode, stdout, stderr } = client.run(args, input === undefined ? {} : { input })
  assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}`)
  return stdout
}

function manifest({ apiVersion, kind }: Sample, spec: object): string {
  return JSON.stringify({ apiVersion, kind, metadata: { name: 'sample' }, spec })
}

test('all definitions are established', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn crds '))
  for (const project of projects) {
    const file = join(directory, `${project}.yaml`)
    // The policy that comes along forbids what is released as a preview; it is the definitions that are looked at here.
    const documents = definitionsOf(project).split(/^---$/m)
    writeFileSync(file, documents.filter((text) => /^kind: CustomResourceDefinition$/m.test(text)).join('\n---\n'))
    run(['apply', '--server-side', '-f', file])
  }
  run(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'])
  const names = run(['get', 'crd', '-o', 'name']).trim().split('\n')
  assert.equal(names.length, samples.length)
  assert.equal(
    names.length,
    Object.values(publishedDefinitions).reduce((sum, count) => sum + count, 0),
  )
})

for (const sample of samples) {
  const name = `${sample.plural}.${sample.apiVersion.split('/')[0]}`
  const object = `${name}/sample`

  test(`${sample.kind}: created, applied by two managers, explained, listed with its columns`, () => {
    run(['create', '-f', '-'], manifest(sample, sample.spec))
    run(['apply', '--server-side', '--field-manager=one', '--force-conflicts', '-f', '-'], manifest(sample, sample.spec))
    run(['apply', '--server-side', '--field-manager=two', '-f', '-'], manifest(sample, sample.more))
    const live = JSON.parse(run(['get', object, '-o', 'json', '--show-managed-fields'])) as {
      spec: Record<string, unknown>
      metadata: { managedFields: { manager: string; operation: string }[] }
    }
    for (const field of [...Object.keys(sample.spec), ...Object.keys(sample.more)]) assert.ok(field in live.spec, field)
    const managers = live.metadata.managedFields.filter(({ operation }) => operation === 'Apply').map(({ manager }) => manager)
    assert.deepEqual(managers.sort(), ['one', 'two'])
    assert.match(run(['explain', name]), new RegExp(`KIND: +${sample.kind}\\n`))
    assert.match(run(['explain', `${name}.spec`]), /FIELD: spec/)
    const [header = '', row = ''] = run(['get', name]).split('\n')
    assert.match(header, /^NAME/)
    assert.match(row, /^sample/)
  })

  const { broken } = sample
  if (broken === undefined) continue
  test(`${sample.kind}: refused by a rule`, () => {
    const { exitCode, stderr } = client.run(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
      input: manifest(sample, broken.spec),
    })
    assert.equal(exitCode, 1)
    assert.match(stderr, broken.message)
  })
}
