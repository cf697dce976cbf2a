import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { HttpClientRequest } from '#base/http-client.ts'
import { runKubectl } from '#cli/kubectl.ts'
import { type FakeAnswer, fakeHost } from '#cli/testing/fake-host.ts'

const home = mkdtempSync(join(tmpdir(), 'completion-'))
after(() => rmSync(home, { recursive: true, force: true }))
const kubeconfig = join(home, 'config')
writeFileSync(
  kubeconfig,
  "current-context: one\nclusters: [{name: c, cluster: {server: 'http://c'}}]\ncontexts: [{name: one, context: {cluster: c}}, {name: two, context: {cluster: c}}]\n",
)

const resource = (name: string, kind: string, verbs = ['get', 'list']) => ({ name, singularName: '', namespaced: true, kind, verbs })
const named = (...names: string[]) => ({ body: { items: names.map((name) => ({ metadata: { name } })) } })

const answer = ({ path }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
  if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
  if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [{ versions: [{ groupVersion: 'apps/v1' }] }] } }
  if (path === '/api/v1') {
    const resources = [resource('pods', 'Pod'), resource('namespaces', 'Namespace'), resource('bindings', 'Binding', ['create'])]
    return { body: { resources } }
  }
  if (path === '/apis/apps/v1') return { body: { resources: [resource('deployments', 'Deployment')] } }
  if (path === '/api/v1/namespaces/default/pods') return named('web-1', 'web-2')
  if (path === '/api/v1/namespaces/other/pods') return named('elsewhere')
  if (path === '/api/v1/namespaces/default/namespaces' || path === '/api/v1/namespaces') return named('default', 'other')
  return path.endsWith('/pods/web-1') ? { body: { spec: { containers: [{ name: 'main' }, { name: 'side' }] } } } : undefined
}

async function wordsAfter(...line: string[]): Promise<string> {
  const host = fakeHost({ answer, homeDirectory: home, environment: { KUBECONFIG: kubeconfig } })
  assert.equal(await runKubectl(['__completeNoDesc', ...line], host), 0)
  return host.output().trim().split('\n').join(' ')
}

for (const [line, expected] of [
  [['ge'], 'get :4'],
  [['get', ''], 'deployments.apps namespaces pods :4'],
  [['get', 'pods', ''], 'web-1 web-2 :4'],
  [['get', 'pods', 'web-1', ''], 'web-2 :4'],
  [['get', 'pods/'], 'pods/web-1 pods/web-2 :4'],
  [['get', 'pods/web-1', 'p'], 'pods/ :6'],
  [['-n', 'other', 'get', 'pods', ''], 'elsewhere :4'],
  [['get', 'pods', '-n', 'o'], 'other :4'],
  [['get', 'pods', '--namespace=d'], 'default :4'],
  [['get', '-o', 'jsonp'], 'jsonpath jsonpath-as-json jsonpath-file :4'],
  [['get', '-o=jsonpath-'], 'jsonpath-as-json jsonpath-file :4'],
  [['get', 'pods', '-n=o'], 'other :4'],
  [['exec', 'web-1', '-c', ''], 'main side :4'],
  [['create', 'deployment', 'x', ''], '--image :0'],
  [['create', 'deployment', 'x', '--image=y', ''], ':0'],
  [['config', 'use-context', ''], 'one two :4'],
  [['apply', '-f', ''], 'json yaml yml :8'],
  [['logs', 'web-1', ''], ':4'],
  [['get', 'nosuch', ''], ':4'],
  [['get', '--nosuch', ''], 'deployments.apps namespaces pods :4'],
] as const) {
  test(`after ${line.slice(0, -1).join(' ')} comes ${line.at(-1)}…`, async () => assert.equal(await wordsAfter(...line), expected))
}

test('commands are told with what they are for', async () => {
  const host = fakeHost({ answer, homeDirectory: home })
  assert.equal(await runKubectl(['__complete', 'cord'], host), 0)
  assert.match(host.output(), /^cordon\t\w.+\n:4\n$/)
  assert.equal(host.errors(), 'Completion ended with directive: ShellCompDirectiveNoFileComp\n')
})
