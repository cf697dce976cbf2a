/** What commands make of files and flags, with a server that is a function. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { HttpClientRequest } from '#base/http-client.ts'
import { runKubectl } from '#cli/kubectl.ts'
import { type FakeAnswer, type FakeHost, fakeHost } from '#cli/testing/fake-host.ts'

const home = mkdtempSync(join(tmpdir(), 'reading '))
after(() => rmSync(home, { recursive: true, force: true }))

const verbs = ['get', 'list', 'watch', 'create']
const resources = [
  { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs },
  { name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap', verbs },
]
const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'default' }, status: { phase: 'Running' } }

function server(): FakeHost {
  const answer = ({ path, method, body }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
    if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
    if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [] } }
    if (path === '/api/v1') return { body: { resources } }
    if (method === 'POST') return { status: 201, body: JSON.parse(String(body)) }
    return path.endsWith('/pods/p') ? { body: pod } : undefined
  }
  return fakeHost({ answer, homeDirectory: mkdtempSync(join(home, 'home-')), isTerminal: false })
}

const config = (name: string) => JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } })

test('of a file with JSON and dashes every object is made', async () => {
  const path = join(home, 'two.json')
  writeFileSync(path, `${config('one')}\n---\n${config('two')}\n`)
  const host = server()
  assert.equal(await runKubectl(['create', '-f', path], host), 0)
  assert.equal(host.output(), 'configmap/one created\nconfigmap/two created\n')
})

test('what a generator made is printed in the order of its fields, after the server has seen it, too', async () => {
  const host = server()
  assert.equal(await runKubectl(['create', 'configmap', 'c', '--from-literal=a=1', '-o', 'json'], host), 0)
  assert.deepEqual(Object.keys(JSON.parse(host.output())), ['kind', 'apiVersion', 'metadata', 'data'])
})

test('several things may be waited for, one after another', async () => {
  const host = server()
  const wait = ['wait', 'pod', 'p', '--for=jsonpath={.status.phase}=Running', '--for=create', '--timeout=60s']
  assert.equal(await runKubectl(wait, host), 0, host.errors())
  assert.equal(host.output(), 'pod/p condition met\npod/p condition met\n')
})

test('a missing field is an error of a JSONPath that must find what it names', async () => {
  const host = server()
  assert.equal(await runKubectl(['get', 'pod', 'p', '-o', 'jsonpath={.nosuch}', '--allow-missing-template-keys=false'], host), 1)
  assert.match(host.errors(), /nosuch is not found/)
})

for (const [line, complaint] of [
  ['get --raw x', 'error: --raw must be a valid URL path: parse "x": invalid URI for request\n'],
  ['get --raw /api -w', 'error: --raw may not be specified with other flags that filter the server request or alter the output\n'],
  ['get pod p --as-group=x', 'error: requesting uid, groups or user-extra for  without impersonating a user\n'],
  ['logs p --since=-1h', 'error: --since must be greater than 0\n'],
  ['logs p --since-time=2020-01-01', 'error: parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"\n'],
  ['port-forward p 99999', `error: error parsing local port '99999': strconv.ParseUint: parsing "99999": value out of range\n`],
  ['port-forward p 80 --address=foo', 'error: foo is not a valid IP\n'],
  ['create service externalname e --external-name=a_b', 'error: invalid service external name a_b\n'],
  ['explain pods --output=html', 'error: unrecognized format: html\n'],
  ['explain .pods', 'error: invalid jsonpath syntax, first node must be field node\n'],
  ['explain pods --api-version=a/b/c', 'error: unexpected GroupVersion string: a/b/c\n'],
  ['replace --cascade=foo -f x', 'error: invalid cascade value (foo). Must be "background", "foreground", or "orphan"\n'],
  ['proxy --port=99999', 'error: listen tcp: address 99999: invalid port\n'],
  ['proxy --port=80 --unix-socket=/x', 'error: cannot set --unix-socket and --port at the same time\n'],
  [
    'kustomize x --reorder=foo',
    "Flag --reorder has been deprecated, use the new 'sortOptions' field in kustomization.yaml instead.\nerror: illegal flag value --reorder foo; legal values: [legacy none]\n",
  ],
  ['nosuch --help', 'error: unknown command "nosuch" for "kubectl"\n'],
  ['-n x nosuch', 'Error: flags cannot be placed before plugin name: -n\n'],
  ['get pods,', 'error: the server doesn\'t have a resource type ""\n'],
  ['get PODS.v1 p', 'error: the server doesn\'t have a resource type "PODS"\n'],
  ['get pods --show-labels -o name', 'error: --show-labels option cannot be used with name printer\n'],
  ['apply -f x --cascade=foo', 'error: invalid cascade value (foo). Must be "background", "foreground", or "orphan"\n'],
  ['apply -f x --subresource=status', 'error: --subresource can only be specified for --server-side\n'],
  ['create -f - -f -', 'error: standard input cannot be used for multiple arguments\n'],
  ['auth can-i --list -q', "error: list option can't be specified with neither quiet, all-namespaces nor subresource options\n"],
  ['label pod p a=b=c', 'error: invalid label spec: a=b=c\n'],
  [
    'set image --local pod/p a=b',
    "error: you must specify resources by --filename when --local is set.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n",
  ],
  ['cordon pods/p', 'error: expected resource of type node, got "/v1, Resource=pods"\n'],
  ['events --for=pod/p/x', 'error: arguments in resource/name form may not have more than one slash\n'],
] as const)
  test(`kubectl ${line} is refused in kubectl's words`, async () => {
    const host = server()
    assert.equal(await runKubectl(line.split(' '), host), 1)
    assert.equal(host.errors(), complaint)
  })

test('diff of what was applied says nothing, though the manifest has no annotations', async () => {
  const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'default' }, data: { a: '1' } }
  const applied = `${JSON.stringify({ apiVersion: 'v1', data: wanted.data, kind: 'ConfigMap', metadata: { annotations: {}, ...wanted.metadata } })}\n`
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied, other: 'kept' }
  const live = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: '5', annotations } }
  const patches: unknown[] = []
  const answer = ({ path, method, body }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
    if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
    if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [] } }
    if (path === '/api/v1') return { body: { resources } }
    if (method === 'PATCH') patches.push(JSON.parse(String(body)))
    return { body: live }
  }
  const path = join(home, 'applied.json')
  writeFileSync(path, JSON.stringify(wanted))
  const host = fakeHost({ answer, homeDirectory: mkdtempSync(join(home, 'home-')), isTerminal: false })
  assert.equal(await runKubectl(['diff', '-f', path], host), 0, host.errors())
  assert.deepEqual(patches, [], 'what changes nothing is not asked about')
  assert.equal(await runKubectl(['apply', '-f', path, '--dry-run=client'], host), 0)
  assert.equal(host.output(), 'configmap/c unchanged (dry run)\n')
  writeFileSync(path, JSON.stringify({ ...wanted, data: { b: '2' } }))
  assert.equal(await runKubectl(['apply', '-f', path, '--dry-run=client', '-o', 'jsonpath={.data}'], host), 0)
  assert.equal(host.output(), 'configmap/c unchanged (dry run)\n{"b":"2"}')
  assert.deepEqual(patches, [])
})

test('apply of an object without a name asks the server for nothing', async () => {
  const path = join(home, 'nameless.json')
  writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } }))
  const host = server()
  assert.equal(await runKubectl(['apply', '-f', path, '--validate=false'], host), 1)
  assert.match(host.errors(), /^Name: "", Namespace: "default"\nfrom server for: ".*": resource name may not be empty$/m)
})
