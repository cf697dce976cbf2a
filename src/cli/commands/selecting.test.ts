/** Which objects a command line means: what is meant too widely may be lost. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { HttpClientRequest } from '#base/http-client.ts'
import { runKubectl } from '#cli/kubectl.ts'
import { type FakeAnswer, fakeHost } from '#cli/testing/fake-host.ts'

const home = mkdtempSync(join(tmpdir(), 'selecting '))
after(() => rmSync(home, { recursive: true, force: true }))

const verbs = ['get', 'list', 'watch', 'create', 'delete', 'patch']
const resources = [{ name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap', shortNames: ['cm'], verbs }]
const config = (name: string, app: string) => ({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, labels: { app } } })

type Run = { code: number; output: string; errors: string; written: string[] }

async function run(...args: string[]): Promise<Run> {
  const written: string[] = []
  const answer = ({ path, method = 'GET' }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
    if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
    if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [] } }
    if (path === '/api/v1') return { body: { resources } }
    if (method !== 'GET') {
      written.push(`${method} ${path}`)
      return { body: { kind: 'Status', status: 'Success' } }
    }
    return { body: path.endsWith('/configmaps') ? { kind: 'ConfigMapList', apiVersion: 'v1', items: [] } : config('one', 'a') }
  }
  const host = fakeHost({ answer, homeDirectory: mkdtempSync(join(home, 'home-')), isTerminal: false })
  const code = await runKubectl(args, host)
  return { code, output: host.output(), errors: host.errors(), written }
}

for (const line of ['delete cm', 'patch cm -p {}', 'label cm x=1'])
  test(`${line} with an empty name changes nothing`, async () => {
    const [command = '', type = '', ...more] = line.split(' ')
    const { code, errors, written } = await run(command, type, '', ...more)
    assert.equal(code, 1)
    assert.equal(errors, 'error: resource name may not be empty\n')
    assert.deepEqual(written, [])
  })

test('of a file only what the selector matches is deleted', async () => {
  const path = join(home, 'two.json')
  writeFileSync(path, `${JSON.stringify(config('one', 'a'))}\n---\n${JSON.stringify(config('two', 'b'))}\n`)
  const { code, output, written } = await run('delete', '-f', path, '-l', 'app=b', '--wait=false')
  assert.equal(code, 0)
  assert.equal(output, 'configmap "two" deleted from default namespace\n')
  assert.deepEqual(written, ['DELETE /api/v1/namespaces/default/configmaps/two'])
})

test('a file that is not there keeps the others from being deleted', async () => {
  const path = join(home, 'one.json')
  writeFileSync(path, JSON.stringify(config('one', 'a')))
  const { code, errors, written } = await run('delete', '-f', path, '-f', join(home, 'nosuch'))
  assert.equal(code, 1)
  assert.equal(errors, `error: the path ${JSON.stringify(join(home, 'nosuch'))} does not exist\n`)
  assert.deepEqual(written, [])
})

test('--all beside names has no effect for labels, and is refused for deletion', async () => {
  assert.deepEqual((await run('label', 'cm', 'one', '--all', 'x=1')).written, ['PATCH /api/v1/namespaces/default/configmaps/one'])
  const { errors, written } = await run('delete', 'cm', 'one', '--all')
  assert.equal(errors, 'error: name cannot be provided when a selector is specified\n')
  assert.deepEqual(written, [])
})

test('labels that are listed may be changed for the list, and are not sent', async () => {
  const { output, written } = await run('label', 'cm', 'one', '--list', 'app-', 'b=2')
  assert.equal(output, 'b=2\n')
  assert.deepEqual(written, [])
})
